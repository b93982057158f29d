"""Scores from counted paths: rows of a product of sparse matrices, computed when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.graph.names import NodeIds, NodeNames

# Numbers in one block of rows: 8 MB of float64, which caches like; and at least so many rows.
_BLOCK_SIZE = 1 << 20
_MIN_ROWS = 32


@dataclass(frozen=True, eq=False)
class PathCounts(EdgeScorer):
    """Scores u -> v by a weighted sum over paths from u to v, one weight per number of steps.

    Attributes:
        steps: sparse (num_nodes, num_nodes) matrices; a path of k steps takes the first k of them.
        step_weights: what the paths that end after each step count.
        symmetric: whether u -> v and v -> u have the same score; then both are computed from the
            smaller id, so that they are equal to the last bit.
    """

    steps: Sequence[Any]
    step_weights: Sequence[float]
    nodes: NodeNames
    symmetric: bool

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        if self.symmetric:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        scores = np.empty(len(sources), dtype=np.float32)
        order = np.argsort(sources, kind="stable")
        starts, row_of_pair = np.unique(sources[order], return_inverse=True)
        for first in range(0, starts.size, self._rows_at_once):
            last = first + self._rows_at_once
            low, high = np.searchsorted(row_of_pair, [first, last])
            pairs = order[low:high]
            rows = self._rows(starts[first:last])
            scores[pairs] = rows[targets[pairs], row_of_pair[low:high] - first]
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        scores = np.empty((len(sources), len(self.nodes)), dtype=np.float32)
        for first in range(0, len(sources), self._rows_at_once):
            block = slice(first, first + self._rows_at_once)
            scores[block] = self._rows(sources[block]).T
        return scores

    @property
    def _rows_at_once(self) -> int:
        return max(_MIN_ROWS, _BLOCK_SIZE // max(1, len(self.nodes)))

    def _rows(self, sources: NodeIds) -> NDArray[np.float64]:
        """Return the scores of sources against all nodes, transposed: (num_nodes, s) float64."""
        reached: NDArray[np.float64] = self.steps[0][sources].T.toarray(order="C")
        sums = self.step_weights[0] * reached
        for step, weight in zip(self.steps[1:], self.step_weights[1:], strict=True):
            reached = step.T @ reached
            if weight:
                sums += weight * reached
        return sums
