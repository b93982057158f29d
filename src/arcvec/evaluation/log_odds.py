"""Logistic regression: the log odds of labels as a linear function of inputs."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]

_NEWTON_STEPS, _HALVINGS = 25, 12
_TOLERANCE = 1e-9  # of the loss


def fit_log_odds(
    inputs: Matrix, labels: NDArray[Any], weights: Matrix, mean: Matrix, precision: Matrix
) -> Matrix:
    """Return the most likely coefficients of a logistic regression, (p,), by Newton's method.

    Args:
        inputs: (n, p).
        labels: (n,) from 0 to 1.
        weights: (n,)
        mean, precision: (p,) and (p, p) of the normal prior of the coefficients.
    """

    def loss_of(coefficients: Matrix) -> float:
        scores, far = inputs @ coefficients, coefficients - mean
        return float(
            weights @ (np.logaddexp(0, scores) - labels * scores) + far @ precision @ far / 2
        )

    found, loss = mean, loss_of(mean)
    for _ in range(_NEWTON_STEPS):
        probabilities = sigmoid(inputs @ found)
        gradient = (weights * (probabilities - labels)) @ inputs + precision @ (found - mean)
        spread = weights * probabilities * (1 - probabilities)
        step = np.linalg.solve((inputs.T * spread) @ inputs + precision, gradient)
        # The loss is convex: a short enough step lowers it, unless it is at its minimum.
        slack = _TOLERANCE * max(1.0, loss)
        for _ in range(_HALVINGS):
            lower = loss_of(found - step)
            if lower <= loss + slack:
                break
            step /= 2
        found, gained, loss = found - step, loss - lower, lower
        if gained <= slack:
            break
    return found


def sigmoid(scores: NDArray[Any]) -> NDArray[Any]:
    """Return 1 / (1 + exp(-scores)), in the type of `scores`."""
    probabilities: NDArray[Any] = 0.5 * (1 + np.tanh(0.5 * scores))
    return probabilities
