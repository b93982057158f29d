"""The best new edges of a handful of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.table_text import Entry, Table
from arcvec.graph.graph import Graph
from arcvec.recommendation.calibration import Calibration
from arcvec.recommendation.exact import top_k
from arcvec.report.subject import Subject

HANDFUL = 6


def sample_tables(
    subject: Subject, names: Sequence[str], k: int, calibration: Calibration | None
) -> list[Table]:
    """Return a table for each node: its best new edges, their scores, which of them are test edges.

    Args:
        names: of the nodes; by default a handful, see `spread_nodes`.
        calibration: turns scores into probabilities; None leaves them out.
    """
    nodes = subject.embeddings.nodes
    asked = nodes.ids(names) if names else spread_nodes(subject.known)
    best, scores = top_k(subject.embeddings, asked, min(k, len(nodes)), exclude=subject.known)
    columns = {
        "target": nodes.at(best),
        "score": np.array([[f"{score:.2f}" for score in row] for row in scores], dtype=object),
    }
    if calibration is not None:
        likely = calibration.probabilities(scores)
        columns["probability"] = np.array(
            [[f"{value:.3f}" for value in row] for row in likely], dtype=object
        )
    hidden = _test_graph(subject)
    if hidden is not None:
        columns["test edge"] = np.where(_are_edges(hidden, asked, best), "✓ yes", "")
    return [
        Table(
            nodes[int(node)],
            ("rank", *columns),
            tuple(
                (Entry(str(rank + 1)), *(Entry(column[i, rank]) for column in columns.values()))
                for rank in range(best.shape[1])
                if best[i, rank] >= 0
            ),
            notes=(_left_out(subject.known, hidden, int(node)),),
        )
        for i, node in enumerate(asked)
    ]


def spread_nodes(graph: Graph, count: int = HANDFUL) -> NDArray[np.int64]:
    """Return nodes from the one of most out-edges to one of fewest, at equal steps between.

    Chosen by degree alone, so that no node is shown because its recommendations look good.
    """
    degrees = graph.out_degrees
    order = np.argsort(-degrees, kind="stable")
    order = order[degrees[order] > 0]
    places = np.linspace(0, order.size - 1, min(count, order.size)).round().astype(np.int64)
    return order[places]


def _test_graph(subject: Subject) -> Graph | None:
    """Return the test edges over the nodes of the result."""
    if subject.test is None:
        return None
    sources, targets = subject.test.T
    nodes, directed = subject.given.nodes, subject.given.directed
    hidden = Graph.from_edges(sources, targets, nodes=nodes, directed=directed)
    return hidden.over(subject.embeddings.nodes)


def _are_edges(
    graph: Graph, asked: NDArray[np.int64], best: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Tell of each recommendation whether it is an edge of a graph; (q, k) as `best`."""
    sources, targets = np.repeat(asked, best.shape[1]), best.ravel()
    found = graph.has_edges(sources, np.maximum(targets, 0)) & (targets >= 0)
    return found.reshape(best.shape)


def _left_out(known: Graph, hidden: Graph | None, node: int) -> str:
    words = _counted(int(known.out_degrees[node]), "known edge") + " left out"
    return (
        words
        if hidden is None
        else f"{words}; {_counted(int(hidden.out_degrees[node]), 'test edge')}"
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
