"""Many small logistic regressions at once, by Newton's method."""

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
class Regressions:
    """Logistic regressions, each with inputs of its own and some negatives that all share."""

    inputs: Matrix  # (i, p)
    owners: NDArray[np.int64]  # (i,) the regression of each input, from 0 to r - 1
    weights: Matrix  # (i,)
    labels: Matrix  # (i,) from 0 to 1
    mean: Matrix  # (p,) of the normal prior of the coefficients
    precision: Matrix  # (p, p) of the prior
    negatives: NDArray[np.float32]  # (j, p) inputs of all regressions, with label 0
    shared_weights: NDArray[np.float32]  # (r, j) of each negative in each regression

    @cached_property
    def _products(self) -> NDArray[np.float32]:
        """(j, p * p), the outer product of each negative with itself."""
        return _outer_products(self.negatives, self.negatives)

    @cached_property
    def _by_owner(self) -> Any:
        """(r, i) sparse matrix that sums over the inputs of each regression."""
        from scipy.sparse import csr_array

        ones = (np.ones(len(self.owners)), (self.owners, np.arange(len(self.owners))))
        return csr_array(ones, shape=(len(self.shared_weights), len(self.owners)))

    def losses(self, vectors: Matrix) -> Matrix:
        """Return the loss of each regression, (r,), given its coefficients, (r, p)."""
        scores = np.einsum("ip,ip->i", self.inputs, vectors[self.owners])
        own = self._by_owner @ (self.weights * (np.logaddexp(0, scores) - self.labels * scores))
        scores = vectors.astype(np.float32) @ self.negatives.T
        shared = self.shared_weights * np.logaddexp(np.float32(0), scores)
        far = vectors - self.mean
        prior = np.einsum("np,np->n", far @ self.precision, far) / 2
        total: Matrix = own + shared.sum(axis=1, dtype=np.float64) + prior
        return total

    def derivatives(self, vectors: Matrix) -> tuple[Matrix, Matrix]:
        """Return gradient and Hessian of each loss: (r, p) and (r, p, p)."""
        probabilities = sigmoid(np.einsum("ip,ip->i", self.inputs, vectors[self.owners]))
        errors = self.weights * (probabilities - self.labels)
        spread = (self.weights * probabilities * (1 - probabilities))[:, None] * self.inputs
        gradients = self._by_owner @ (errors[:, None] * self.inputs)
        hessians = self._by_owner @ _outer_products(spread, self.inputs)
        shared = sigmoid(vectors.astype(np.float32) @ self.negatives.T)
        gradients += (self.shared_weights * shared) @ self.negatives
        hessians += (self.shared_weights * shared * (1 - shared)) @ self._products
        gradients += (vectors - self.mean) @ self.precision
        return gradients, hessians.reshape(-1, *self.precision.shape) + self.precision


def likeliest(regressions: Regressions, start: Matrix) -> Matrix:
    """Return the most likely coefficients of each regression, (r, p), whatever the start."""
    vectors, losses = start, regressions.losses(start)
    for _ in range(NEWTON_STEPS):
        gradients, hessians = regressions.derivatives(vectors)
        steps = np.linalg.solve(hessians, gradients[:, :, None])[:, :, 0]
        # Losses are convex: a short enough step always lowers one, unless it is at its minimum.
        slack = TOLERANCE * np.maximum(1, losses)
        for _ in range(HALVINGS):
            lower = regressions.losses(vectors - steps)
            worse = ~(lower <= losses + slack)
            if not worse.any():
                break
            steps[worse] /= 2
        vectors = vectors - steps
        gained, losses = losses - lower, lower
        if not (gained > slack).any():
            break
    return vectors


def sigmoid(scores: NDArray[Any]) -> NDArray[Any]:
    """Return 1 / (1 + exp(-scores)), in the type of `scores`."""
    probabilities: NDArray[Any] = 0.5 * (1 + np.tanh(0.5 * scores))
    return probabilities


def _outer_products(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    products: NDArray[Any] = left[:, :, None] * right[:, None, :]
    return products.reshape(len(left), left.shape[1] ** 2)
