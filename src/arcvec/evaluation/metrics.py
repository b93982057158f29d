"""Ranks of edges among all nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds

BLOCK_SCORES = 1 << 24
"""Scores held at once while ranking: 64 MB."""


def rank_edges(scorer: EdgeScorer, edges: NodeIds, known: Graph) -> NDArray[np.float64]:
    """Return the rank of each edge's target among all nodes, 1 for the best: (m,) float64.

    The candidates of an edge are its own target and every node that is not the source, not the
    target of a known edge of the source, and not the target of another of the edges asked for.
    Equal scores share the mean of their ranks. An undirected edge is ranked once, as it is
    stored: its target given its source.

    Args:
        edges: (m, 2) ids; they may or may not be among the known edges.
        known: graph over the scorer's nodes whose edges are filtered, e.g. `split.graph`.
    """
    order = np.argsort(edges[:, 0], kind="stable")
    sources, first = np.unique(edges[order, 0], return_index=True)
    first = np.append(first, len(edges))
    targets = edges[order, 1]
    ranks = np.empty(len(edges))
    num_rows = max(1, BLOCK_SCORES // max(1, known.num_nodes))
    for start in range(0, sources.size, num_rows):
        stop = min(start + num_rows, sources.size)
        block = slice(first[start], first[stop])
        ranks[order[block]] = _rank_block(
            scorer,
            sources[start:stop],
            first[start : stop + 1] - first[start],
            targets[block],
            known,
        )
    if np.isnan(ranks).any():
        source, target = edges[np.isnan(ranks).argmax()]
        raise ValueError(f"expected finite scores, got NaN for the edge {source} -> {target}")
    return ranks


def _rank_block(
    scorer: EdgeScorer, sources: NodeIds, first_target: NodeIds, targets: NodeIds, known: Graph
) -> NDArray[np.float64]:
    from arcvec.kernels.ranks import rank_targets

    scores = np.require(scorer.score_all_targets(sources), requirements=["C", "W"])
    ranks: NDArray[np.float64] = rank_targets(
        scores, sources, first_target, targets, known.indptr, known.indices
    )
    return ranks
