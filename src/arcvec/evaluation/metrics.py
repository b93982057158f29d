"""Ranks of edges among all nodes, and what they come to."""

from __future__ import annotations

from typing import Any

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


def mean_reciprocal_rank(ranks: NDArray[np.float64]) -> float:
    """Return the mean of 1 / rank."""
    return float((1 / ranks).mean())


def standard_error_of_mrr(ranks: NDArray[np.float64]) -> float:
    """Return how far the mean reciprocal rank of a sample of edges may be off; needs 2 ranks."""
    return _standard_error(1 / ranks)


def hits_at(ranks: NDArray[np.float64], k: int) -> float:
    """Return the fraction of ranks that are at most k."""
    return float((ranks <= k).mean())


def standard_error_of_hits(ranks: NDArray[np.float64], k: int) -> float:
    """Return how far the hits at k of a sample of edges may be off; needs 2 ranks."""
    return _standard_error(ranks <= k)


def _standard_error(values: NDArray[Any]) -> float:
    """Return the standard error of the mean of values drawn from many."""
    return float(values.std(ddof=1) / np.sqrt(values.size))


def _rank_block(
    scorer: EdgeScorer, sources: NodeIds, first_target: NodeIds, targets: NodeIds, known: Graph
) -> NDArray[np.float64]:
    from arcvec.kernels.ranks import rank_targets

    scores = np.require(scorer.score_all_targets(sources), requirements=["C", "W"])
    ranks: NDArray[np.float64] = rank_targets(
        scores, sources, first_target, targets, known.indptr, known.indices
    )
    return ranks
