"""Ridge regressions of all rows of a sparse matrix on the same vectors, by conjugate gradients."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_CONVERGED = 1e-20  # squared residual, beyond what float32 can improve


# "reassoc" lets sums be vectorised; each row is still summed in one order on any number of threads.
@njit(cache=True, fastmath={"contract", "reassoc"})
def _multiply(gram, penalty, others, entries, weights, vector, product):
    """Write (gram + penalty + sum over the entries of w y y^T) times a vector."""
    for k in range(vector.size):
        product[k] = penalty * vector[k]
    for k in range(vector.size):
        factor = vector[k]
        for j in range(vector.size):
            product[j] += gram[k, j] * factor
    for i in range(entries.size):
        other = others[entries[i]]
        inner = np.float32(0)
        for k in range(vector.size):
            inner += other[k] * vector[k]
        inner *= weights[i] if weights.size else np.float32(1)
        for k in range(vector.size):
            product[k] += inner * other[k]


@njit(cache=True, parallel=True)
def improve_rows(indptr, indices, weights, others, gram, penalties, rows, num_steps):
    """Move each vector x of `rows` some steps of conjugate gradients towards its best, in place.

    The best minimises sum_j w_j (1 - x . y_j)^2 + x . gram x + penalty |x|^2 over the entries j of
    its row of a CSR matrix, y_j in `others`. A row without entries becomes 0.

    All are float32: `weights` (m,), none if all are 1; `others` and `rows` (n, d); `gram` (d, d),
    symmetric; `penalties` (n,), positive.
    """
    dim = rows.shape[1]
    for row in prange(rows.shape[0]):
        first, last = indptr[row], indptr[row + 1]
        if first == last:
            rows[row] = 0
            continue
        entries = indices[first:last]
        own_weights = weights[first:last] if weights.size else weights
        x, product = rows[row], np.empty(dim, dtype=np.float32)
        _multiply(gram, penalties[row], others, entries, own_weights, x, product)
        residual = -product
        for i in range(entries.size):
            weight = own_weights[i] if weights.size else np.float32(1)
            residual += weight * others[entries[i]]
        direction, size = residual.copy(), (residual * residual).sum()
        for _ in range(num_steps):
            if size < _CONVERGED:
                break
            _multiply(gram, penalties[row], others, entries, own_weights, direction, product)
            step = size / (direction * product).sum()
            x += step * direction
            residual -= step * product
            last_size, size = size, (residual * residual).sum()
            direction = residual + (size / last_size) * direction
