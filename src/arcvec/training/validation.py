"""Validation on held-out training edges: test edges are never looked at."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges

logger = logging.getLogger(__name__)

_FEWEST_EDGES = 20


@dataclass(frozen=True, eq=False)
class Validation:
    """Edges held out of the training graph, and non-edges of it.

    Attributes:
        pairs: (p, 2) edges first, then non-edges; among these, on a directed graph, the reversed
            one-way edges.
        is_edge: (p,) bool.
    """

    pairs: NDArray[np.int32]
    is_edge: NDArray[np.bool_]
    directed: bool

    def auc(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> float:
        """Return the ROC-AUC of the inner products, both ways round if undirected."""
        from sklearn.metrics import roc_auc_score

        tails, heads = self.pairs.T
        scores = np.einsum("ij,ij->i", source[tails], target[heads])
        if not self.directed:
            scores += np.einsum("ij,ij->i", source[heads], target[tails])
        return float(roc_auc_score(self.is_edge, scores))


def hold_out(graph: Graph, fraction: float, seed: int) -> tuple[Graph, Validation | None]:
    """Return the graph without some of its edges, and these edges; the graph stays connected.

    Returns:
        the graph itself and None where nothing is asked for, or too few edges could be spared.
    """
    spare = graph.num_edges - graph.num_nodes + 1
    if not fraction or min(spare, fraction * graph.num_edges) < _FEWEST_EDGES:
        if fraction:
            logger.info("too few edges to hold some out: training runs all its steps")
        return graph, None
    split = split_edges(graph, test_fraction=fraction, seed=seed)
    negatives = (
        split.test_negatives if split.directed_negatives is None else split.directed_negatives
    )
    pairs = np.concatenate([split.test, negatives])
    is_edge = np.arange(len(pairs)) < len(split.test)
    return split.train, Validation(pairs, is_edge, graph.directed)
