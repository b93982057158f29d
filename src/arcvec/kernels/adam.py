"""Adam on some rows of a table, in one pass over them."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def adam_rows(values, mean, square, gradient, rows, l2, rate, betas, step, epsilon):
    """Update rows of `values` and of their two moments in place.

    Args:
        values, mean, square: (num_rows, k) float32.
        gradient: (r, k) float32 of the rows named in `rows`, which are distinct.
        rate: learning rate.
        betas: how much of the two moments stays; step: how many updates this one makes, from 1.
    """
    keep_mean, keep_square = np.float32(betas[0]), np.float32(betas[1])
    new_mean, new_square = np.float32(1 - betas[0]), np.float32(1 - betas[1])
    # The moments start at 0: early ones are too small by these factors.
    pace = np.float32(rate / (1 - betas[0] ** step))
    widen = np.float32(1 / np.sqrt(1 - betas[1] ** step))
    decay, smallest = np.float32(l2), np.float32(epsilon)
    for i in prange(rows.size):
        row, slopes = values[rows[i]], gradient[i]
        means, squares = mean[rows[i]], square[rows[i]]
        for k in range(row.size):
            slope = slopes[k] + decay * row[k]
            means[k] = keep_mean * means[k] + new_mean * slope
            squares[k] = keep_square * squares[k] + new_square * slope * slope
            row[k] -= pace * means[k] / (np.sqrt(squares[k]) * widen + smallest)
