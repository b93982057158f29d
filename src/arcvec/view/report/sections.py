"""Sections of a report: facts of the graph, settings of the fit, recommendations, their bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.baselines.by_name import BASELINES
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.components import components
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split
from arcvec.ingest.ingest import counted
from arcvec.recommendation.calibration import Calibration
from arcvec.recommendation.exact import top_k
from arcvec.settings import setting_meanings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.presets import PRESETS, load_method
from arcvec.view.plane import graph_over
from arcvec.view.table_text import Bold, Table

K = 10  # new edges per node counted for the degree bias
MAX_NODES = 5000  # recommended for, a sample if there are more
NUM_SAMPLES = 6


@dataclass(frozen=True, eq=False)
class Subject:
    """A result beside the graph, or train part, as given, and over the nodes of the result."""

    embeddings: EdgeEmbeddings
    given: Graph
    known: Graph
    split: Split | None = None
    test: Graph | None = None

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph | Split) -> Subject:
        """Return the subject; of a split, the train part is known."""
        split = graph if isinstance(graph, Split) else None
        given = graph.train if isinstance(graph, Split) else graph
        if given.directed != embeddings.directed:
            words = ("undirected", "directed")
            raise ValueError(
                f"expected the graph of the result, which is {words[embeddings.directed]}, got "
                f"one that is {words[given.directed]}; an edge file is directed unless "
                "--undirected says otherwise"
            )
        known = graph_over(given, embeddings.nodes)
        if known.num_edges == 0:
            raise ValueError("expected a graph with edges to report on, got none")
        if split is None or not len(split.test):
            return cls(embeddings, given, known, split)
        test = Graph.from_edges(*split.test.T, nodes=given.nodes, directed=given.directed)
        return cls(embeddings, given, known, split, test.over(embeddings.nodes))

    @property
    def degree_word(self) -> str:
        """What the number of sources of a node is called."""
        return "in-degree" if self.given.directed else "degree"


def graph_facts(subject: Subject) -> Table:
    """Return the graph in a few numbers; of a split, the train part beside the whole graph."""
    facts = _facts(subject.given)
    if subject.split is None:
        return Table("The graph", ("", ""), list(facts.items()))
    whole = _facts(subject.split.graph)
    header = ("", "train part, which a fit may see", "whole graph, held-out edges too")
    return Table("The graph", header, [(name, facts[name], whole[name]) for name in facts])


def _facts(graph: Graph) -> dict[str, str]:
    degrees = {"degree": graph.out_degrees}
    if graph.directed:
        degrees = {"out-degree": graph.out_degrees, "in-degree": graph.in_degrees}
    num_alone = int((np.sum(list(degrees.values()), axis=0) == 0).sum())
    sizes = np.bincount(components(graph))
    largest = f"{100 * sizes.max() / graph.num_nodes:.1f} % of the nodes"
    facts = {
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{graph.num_edges:,}",
        "direction": "directed" if graph.directed else "undirected",
        "weights": "none" if graph.weights is None else "one per edge",
        "self-loops": f"{graph.num_self_loops:,}",
        "nodes without edges": f"{num_alone:,}",
        "connected parts": "1" if sizes.size == 1 else f"{sizes.size:,}; the largest has {largest}",
    }
    if graph.directed:
        facts["reciprocity"] = f"{100 * graph.reciprocity:.1f} % of the edges are returned"
    for name, side in degrees.items():
        highest = int(side.argmax())
        middle = f"mean {side.mean():.1f}, median {np.median(side):g}"
        facts[name] = f"{middle}, highest {side[highest]:,} ({graph.nodes[highest]})"
    return facts


def fit_settings(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the nearest preset, a table of the settings of a fit that differ, and one of all.

    They are those that a result records; without any, return None.
    """
    method, values = settings.get("method"), settings.get("settings")
    chosen = EdgeProjection if method == "edge-projection" else BASELINES.get(str(method))
    if chosen is None or not isinstance(values, Mapping):
        return None
    presets = {"default": chosen()}
    if chosen is EdgeProjection:
        presets = {name: load_method(name) for name in PRESETS}
    mine, meanings = dict(_flat(values)), dict(setting_meanings(chosen))
    flat = {name: dict(_flat(preset.model_dump(mode="json"))) for name, preset in presets.items()}
    preset = max(flat, key=lambda name: sum(flat[name].get(key, ...) == mine[key] for key in mine))
    rows = []
    for name, value in mine.items():
        usual = flat[preset].get(name, "-")
        mark = Bold if name not in flat[preset] or usual != value else str
        rows.append((mark(name), mark(_text(value)), _text(usual), meanings.get(name, "")))
    header = ("setting", "value", f"preset {preset}", "meaning")
    changed = [row for row in rows if isinstance(row[0], Bold)]
    return {
        "preset": preset,
        "changed": Table(f"Settings that differ from the preset {preset}", header, changed),
        "all": Table("All settings; those that differ are bold", header, rows),
    }


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def sample_tables(
    subject: Subject, names: Sequence[str], k: int, calibration: Calibration | None
) -> list[Table]:
    """Return a table of the best new edges of each node, by default of a few: `spread_nodes`."""
    nodes, test = subject.embeddings.nodes, subject.test
    asked = nodes.ids(names) if names else spread_nodes(subject.known)
    best, all_scores = top_k(subject.embeddings, asked, min(k, len(nodes)), exclude=subject.known)
    tables = []
    for node, row, row_scores in zip(asked.tolist(), best, all_scores, strict=True):
        targets, scores = row[row >= 0], row_scores[row >= 0]
        columns = {
            "rank": [str(rank + 1) for rank in range(targets.size)],
            "target": nodes.at(targets),
            "score": [f"{score:.2f}" for score in scores],
        }
        left_out = counted(subject.known.out_degrees[node], "known edge") + " left out"
        if calibration is not None:
            columns["probability"] = [f"{value:.3f}" for value in calibration.probabilities(scores)]
        if test is not None:
            found = test.has_edges(np.full(targets.size, node), targets)
            columns["test edge"] = ["✓ yes" if is_edge else "" for is_edge in found]
            left_out += f"; {counted(test.out_degrees[node], 'test edge')}"
        rows = list(zip(*columns.values(), strict=True))
        tables.append(Table(nodes[node], list(columns), rows, [left_out]))
    return tables


def spread_nodes(graph: Graph, count: int = NUM_SAMPLES) -> NDArray[np.int64]:
    """Return nodes at equal steps from the most out-edges to the fewest."""
    degrees = graph.out_degrees
    order = np.argsort(-degrees, kind="stable")
    order = order[degrees[order] > 0]
    places = np.linspace(0, order.size - 1, min(count, order.size)).round().astype(np.int64)
    return order[places]


def degree_bias(subject: Subject, seed: int = 0) -> dict[str, Any]:
    """Return how the best new edges of all nodes, or of a sample, spread over their targets.

    Nodes are in tenths, from lowest to highest degree; the table has the part of known,
    recommended and test edges that end in each.
    """
    num_nodes, degrees = subject.known.num_nodes, subject.known.in_degrees
    asked = np.arange(num_nodes)
    if num_nodes > MAX_NODES:
        asked = np.random.default_rng(seed).choice(num_nodes, MAX_NODES, replace=False)
    best, _ = top_k(subject.embeddings, asked, min(K, num_nodes), exclude=subject.known)
    recommended = np.bincount(best[best >= 0], minlength=num_nodes)
    ends = {"known edges": degrees, "recommended": recommended}
    if subject.test is not None:
        ends["test edges"] = subject.test.in_degrees
    tenths = np.array_split(np.argsort(degrees, kind="stable"), min(10, num_nodes))
    rows = []
    for i, tenth in enumerate(tenths):
        low, high = degrees[tenth].min(), degrees[tenth].max()
        between = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        parts = (f"{100 * n[tenth].sum() / max(1, n.sum()):.1f} %" for n in ends.values())
        rows.append((str(i + 1), between, *parts))
    header = ("tenth of the nodes", subject.degree_word, *ends)
    return {
        "table": Table(f"Where edges end, by {subject.degree_word}", header, rows),
        "coverage": float((recommended > 0).mean()),  # recommended to any node
        "k": K,
        "num_asked": asked.size,
    }
