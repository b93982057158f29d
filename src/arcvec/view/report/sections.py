"""Sections of a report: facts of the graph, settings of the fit, recommendations, their bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from arcvec.view.table_text import Entry, Table

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
    graphs = {"": subject.given}
    if subject.split is not None:
        graphs = {
            "train part, which a fit may see": subject.given,
            "whole graph, held-out edges too": subject.split.graph,
        }
    columns = [_facts(graph) for graph in graphs.values()]
    rows = ((name, *(column[name] for column in columns)) for name in columns[0])
    return Table.of_texts("The graph", ("", *graphs), rows)


def _facts(graph: Graph) -> dict[str, str]:
    degrees = {"degree": graph.out_degrees}
    if graph.directed:
        degrees = {"out-degree": graph.out_degrees, "in-degree": graph.in_degrees}
    sum_of_sides = np.sum(list(degrees.values()), axis=0)
    sizes = np.bincount(components(graph))
    largest = f"{100 * sizes.max() / graph.num_nodes:.1f} % of the nodes"
    facts = {
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{graph.num_edges:,}",
        "direction": "directed" if graph.directed else "undirected",
        "weights": "none" if graph.weights is None else "one per edge",
        "self-loops": f"{graph.num_self_loops:,}",
        "nodes without edges": f"{int((sum_of_sides == 0).sum()):,}",
        "connected parts": "1" if sizes.size == 1 else f"{sizes.size:,}; the largest has {largest}",
    }
    if graph.directed:
        facts["reciprocity"] = f"{100 * graph.reciprocity:.1f} % of the edges are returned"
    for name, side in degrees.items():
        highest = int(side.argmax())
        middle = f"mean {side.mean():.1f}, median {np.median(side):g}"
        facts[name] = f"{middle}, highest {side[highest]:,} ({graph.nodes[highest]})"
    return facts


class FitSettings(NamedTuple):
    """Settings of a fit beside the nearest preset: those that differ, and all, these in bold."""

    preset: str
    changed: Table
    all: Table


def fit_settings(settings: Mapping[str, Any]) -> FitSettings | None:
    """Return the settings of a fit, from those that a result records; None if it has none."""
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
        differs = name not in flat[preset] or usual != value
        texts = Entry(name, differs), Entry(_text(value), differs), Entry(_text(usual))
        rows.append((*texts, Entry(meanings.get(name, ""))))
    header = ("setting", "value", f"preset {preset}", "meaning")
    changed = tuple(row for row in rows if row[0].bold)
    return FitSettings(
        preset,
        Table(f"Settings that differ from the preset {preset}", header, changed),
        Table("All settings; those that differ are bold", header, tuple(rows)),
    )


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
        rows = zip(*columns.values(), strict=True)
        tables.append(Table.of_texts(nodes[node], columns, rows, left_out))
    return tables


def spread_nodes(graph: Graph, count: int = NUM_SAMPLES) -> NDArray[np.int64]:
    """Return nodes at equal steps from the most out-edges to the fewest."""
    degrees = graph.out_degrees
    order = np.argsort(-degrees, kind="stable")
    order = order[degrees[order] > 0]
    places = np.linspace(0, order.size - 1, min(count, order.size)).round().astype(np.int64)
    return order[places]


@dataclass(frozen=True)
class DegreeBias:
    """How recommendations spread over tenths of the nodes, from lowest to highest degree."""

    degrees: list[tuple[int, int]]  # the lowest and the highest in each tenth
    shares: dict[str, list[float]]  # fraction of known, recommended, test edges in each tenth
    edges_gini: float
    recommended_gini: float
    coverage: float  # fraction of the nodes that are recommended to any node
    num_asked: int

    def table(self, degree_word: str) -> Table:
        """Return the tenths as rows."""
        numbers = map(str, range(1, len(self.degrees) + 1))
        ranges = (f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in self.degrees)
        parts = ([f"{100 * part:.1f} %" for part in share] for share in self.shares.values())
        rows = zip(numbers, ranges, *parts, strict=True)
        header = ("tenth of the nodes", degree_word, *self.shares)
        return Table.of_texts(f"Where edges end, by {degree_word}", header, rows)


def measure_degree_bias(subject: Subject, seed: int = 0) -> DegreeBias:
    """Return how the best new edges of all nodes, or of a sample, spread over their targets."""
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
    return DegreeBias(
        [(int(degrees[tenth].min()), int(degrees[tenth].max())) for tenth in tenths],
        {
            name: [float(counts[tenth].sum() / max(1, counts.sum())) for tenth in tenths]
            for name, counts in ends.items()
        },
        edges_gini=gini(degrees),
        recommended_gini=gini(recommended),
        coverage=float((recommended > 0).mean()),
        num_asked=asked.size,
    )


def gini(counts: NDArray[np.int64]) -> float:
    """Return how unequal counts are: 0 if all are equal, near 1 if one has everything.

    >>> gini(np.array([3, 3, 3])), gini(np.array([0, 0, 0, 8]))
    (0.0, 0.75)
    """
    total = counts.sum()
    if total == 0:
        return 0.0
    # Each count times how many are smaller, less how many are larger: whole numbers, so exact.
    ranks = 2 * np.arange(counts.size) - counts.size + 1
    return float((ranks @ np.sort(counts)) / (counts.size * total))
