"""Many small logistic regressions at once, each with inputs of its own and some that all share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]

NEWTON_STEPS = 25
HALVINGS = 12
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Prior:
    """What is usual of a vector, (p,), and how much it costs to be far from it, (p, p)."""

    mean: Matrix
    precision: Matrix


@dataclass(frozen=True, eq=False)
class Evidence:
    """The pairs of some new nodes, as inputs of a logistic regression for each of them.

    Attributes:
        inputs: (i, p), what the vector of the node is multiplied with.
        owners: (i,) the node, from 0 to num_nodes - 1.
        weights, labels: (i,) what a pair counts, and how far it is an edge.
        non_edges: (j, p) inputs that every node has besides, of label 0.
        share: (num_nodes, j), what each of these counts for each node.
    """

    inputs: Matrix
    owners: NDArray[np.int64]
    weights: Matrix
    labels: Matrix
    num_nodes: int
    non_edges: NDArray[np.float32]
    share: NDArray[np.float32]

    @cached_property
    def _products(self) -> NDArray[np.float32]:
        """(j, p * p), the outer product of each non-edge's input with itself."""
        inputs = self.non_edges
        size = len(inputs), inputs.shape[1] ** 2
        return (inputs[:, :, None] * inputs[:, None, :]).reshape(size)

    @cached_property
    def _by_owner(self) -> Any:
        """(num_nodes, i) sparse matrix that adds up what belongs to each node."""
        from scipy.sparse import csr_array

        ones = (np.ones(len(self.owners)), (self.owners, np.arange(len(self.owners))))
        return csr_array(ones, shape=(self.num_nodes, len(self.owners)))

    def losses(self, vectors: Matrix) -> Matrix:
        """Return the loss of each node, given its vector: (num_nodes,)."""
        scores = np.einsum("ip,ip->i", self.inputs, vectors[self.owners])
        missed = self.weights * (np.logaddexp(0, scores) - self.labels * scores)
        scores = vectors.astype(np.float32) @ self.non_edges.T
        others = self.share * np.logaddexp(np.float32(0), scores)
        total: Matrix = self._by_owner @ missed + others.sum(axis=1, dtype=np.float64)
        return total

    def slopes(self, vectors: Matrix) -> tuple[Matrix, Matrix]:
        """Return both derivatives of each loss: (num_nodes, p) and (num_nodes, p, p)."""
        probabilities = sigmoid(np.einsum("ip,ip->i", self.inputs, vectors[self.owners]))
        missed = self.weights * (probabilities - self.labels)
        first = self._by_owner @ (missed[:, None] * self.inputs)
        spread = self.weights * probabilities * (1 - probabilities)
        second = self._by_owner @ (
            (spread[:, None] * self.inputs)[:, :, None] * self.inputs[:, None, :]
        ).reshape(len(self.inputs), self.inputs.shape[1] ** 2)
        unlikely = sigmoid(vectors.astype(np.float32) @ self.non_edges.T)
        first += (self.share * unlikely) @ self.non_edges
        second += (self.share * unlikely * (1 - unlikely)) @ self._products
        return first, second.reshape(self.num_nodes, self.inputs.shape[1], -1)


def likeliest(evidence: Evidence, prior: Prior, start: Matrix) -> Matrix:
    """Return the likeliest vector of each node, (num_nodes, p), by Newton's method.

    Args:
        start: (num_nodes, p), where to begin; the answer does not depend on it.
    """

    def losses_of(vectors: Matrix) -> Matrix:
        far = vectors - prior.mean
        losses: Matrix = evidence.losses(vectors)
        losses += np.einsum("np,np->n", far @ prior.precision, far) / 2
        return losses

    vectors, losses = start, losses_of(start)
    for _ in range(NEWTON_STEPS):
        first, second = evidence.slopes(vectors)
        first += (vectors - prior.mean) @ prior.precision
        steps = np.linalg.solve(second + prior.precision, first[:, :, None])[:, :, 0]
        # Losses are convex: some part of a step always lowers one, or it is at its end.
        sizes, slack = np.ones(len(vectors)), TOLERANCE * np.maximum(1, losses)
        for _ in range(HALVINGS):
            better = losses_of(vectors - sizes[:, None] * steps)
            worse = ~(better <= losses + slack)
            if not worse.any():
                break
            sizes[worse] /= 2
        vectors = vectors - sizes[:, None] * steps
        gained, losses = losses - better, better
        if not (gained > slack).any():
            break
    return vectors


def sigmoid(scores: NDArray[Any]) -> NDArray[Any]:
    """Return 1 / (1 + exp(-scores)), in the type of `scores`."""
    probabilities: NDArray[Any] = 0.5 * (1 + np.tanh(0.5 * scores))
    return probabilities
