"""Questions to a CSR adjacency: is there an edge, which edges lie inside a block."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, inline="always")
def find_edge(indptr, indices, source, target):
    """Return where in `indices` the edge source -> target stands, or -1; rows are sorted."""
    low, high = indptr[source], indptr[source + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < target:
            low = middle + 1
        else:
            high = middle
    if low < indptr[source + 1] and indices[low] == target:
        return low
    return -1


@njit(cache=True, parallel=True)
def contains_edges(indptr, indices, sources, targets):
    """Tell for each pair whether it is an edge: (p,) bool."""
    found = np.empty(sources.size, dtype=np.bool_)
    for i in prange(sources.size):
        found[i] = find_edge(indptr, indices, sources[i], targets[i]) >= 0
    return found
