"""Rows of tables: inner products of pairs of rows with their gradients, and Adam on some rows."""

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def adam_rows(values, mean, square, gradient, rows, l2, rate, betas, step, epsilon):
    """Update rows of `values` and of their two moments in place, at a step counted from 1.

    `rows` are distinct; `gradient` is (r, k) float32, `betas` the decay of the two moments.
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


# Sums are vectorised only if they may be reordered.
@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def pair_products(source, target, sources, targets):
    """Return the inner products of rows source[sources[i]] and target[targets[i]]: (p,) floats."""
    products = np.zeros(sources.size, dtype=source.dtype)
    for i in prange(sources.size):
        one, other = source[sources[i]], target[targets[i]]
        product = products[i]
        for k in range(one.size):
            product += one[k] * other[k]
        products[i] = product
    return products


@njit(cache=True, parallel=True)
def pair_product_gradients(gradient, source, target, sources, targets):
    """Return the gradients of `source` and `target`, given that of the products: (k, b) each."""
    by_source, by_target = np.zeros_like(source), np.zeros_like(target)
    # One thread per side: rows are added in the order of the pairs, on any number of threads.
    for side in prange(2):
        if side == 0:
            _add_rows(gradient, target, targets, by_source, sources)
        else:
            _add_rows(gradient, source, sources, by_target, targets)
    return by_source, by_target


@njit(cache=True, inline="always")
def _add_rows(weights, rows, read, sums, written):
    for i in range(weights.size):
        row, total = rows[read[i]], sums[written[i]]
        for k in range(row.size):
            total[k] += weights[i] * row[k]
