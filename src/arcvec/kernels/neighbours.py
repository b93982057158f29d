"""What two nodes share: weighted sums over their common neighbours."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def sum_common_neighbours(indptr, indices, node_weights, sources, targets):
    """Return the summed weights of the neighbours two nodes share, for each pair: (p,) float32.

    Args:
        indptr, indices: CSR adjacency with ascending rows, (n + 1,) int64 and (m,) int32.
        node_weights: (n,) float32, what a shared neighbour counts.
    """
    sums = np.zeros(sources.size, dtype=np.float32)
    for i in prange(sources.size):
        a, a_end = indptr[sources[i]], indptr[sources[i] + 1]
        b, b_end = indptr[targets[i]], indptr[targets[i] + 1]
        while a < a_end and b < b_end:
            if indices[a] < indices[b]:
                a += 1
            elif indices[a] > indices[b]:
                b += 1
            else:
                sums[i] += node_weights[indices[a]]
                a += 1
                b += 1
    return sums


@njit(cache=True, parallel=True)
def sum_common_neighbours_of_all(indptr, indices, back_indptr, back_indices, node_weights, sources):
    """Return the same sums for each source against every node: (s, n) float32.

    Args:
        back_indptr, back_indices: CSR of the transposed adjacency.
    """
    sums = np.zeros((sources.size, indptr.size - 1), dtype=np.float32)
    for i in prange(sources.size):
        # Neighbours in ascending order: the same order of additions as in the kernel above.
        for a in range(indptr[sources[i]], indptr[sources[i] + 1]):
            shared = indices[a]
            for b in range(back_indptr[shared], back_indptr[shared + 1]):
                sums[i, back_indices[b]] += node_weights[shared]
    return sums
