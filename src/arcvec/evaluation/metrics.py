"""Numbers from scores: areas under curves, and ranks of edges among all nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds

BLOCK_SCORES = 1 << 24
"""Scores held at once while ranking: 64 MB."""


def roc_auc(positive: Scores, negative: Scores) -> float:
    """Return the chance that a positive scores above a negative, ties counting one half.

    >>> roc_auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(*_labelled(positive, negative)))


def average_precision(positive: Scores, negative: Scores) -> float:
    """Return the mean of the precision at each positive; depends on how many negatives there are.

    >>> average_precision(np.array([3.0, 1.0]), np.array([2.0]))
    0.8333333333333333
    """
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*_labelled(positive, negative)))


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
    return float((1 / ranks).std(ddof=1) / np.sqrt(ranks.size))


def hits_at(ranks: NDArray[np.float64], k: int) -> float:
    """Return the fraction of ranks that are at most k."""
    return float((ranks <= k).mean())


def _rank_block(
    scorer: EdgeScorer, sources: NodeIds, first_target: NodeIds, targets: NodeIds, known: Graph
) -> NDArray[np.float64]:
    from arcvec.kernels.ranks import rank_targets

    scores = np.require(scorer.score_all_targets(sources), requirements=["C", "W"])
    ranks: NDArray[np.float64] = rank_targets(
        scores, sources, first_target, targets, known.indptr, known.indices
    )
    return ranks


def _labelled(positive: Scores, negative: Scores) -> tuple[NDArray[np.bool_], Scores]:
    labels = np.arange(positive.size + negative.size) < positive.size
    return labels, np.concatenate([positive, negative])
