"""Lookups in CSR adjacencies with sorted rows, and spanning forests."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, inline="always")
def find_edge(indptr, indices, source, target):
    """Return the position in `indices` of the edge source -> target, or -1; rows are sorted."""
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


@njit(cache=True, nogil=True, parallel=True)
def entries_of_edges(indptr, indices, sources, targets):
    """Return the position in `indices` of each edge, -1 for a pair that is none: (p,) int64."""
    entries = np.empty(sources.size, dtype=np.int64)
    for i in prange(sources.size):
        entries[i] = find_edge(indptr, indices, sources[i], targets[i])
    return entries


@njit(cache=True, nogil=True, parallel=True)
def sources_of_entries(indptr, entries):
    """Return the row of each entry of `indices`: (p,) int32."""
    sources = np.empty(entries.size, dtype=np.int32)
    for i in prange(entries.size):
        # The last row that starts at the entry or before it; empty rows start where the next does.
        low, high = 0, indptr.size - 1
        while low < high:
            middle = (low + high) >> 1
            if indptr[middle + 1] <= entries[i]:
                low = middle + 1
            else:
                high = middle
        sources[i] = low
    return sources


@njit(cache=True)
def _root(parents, node):
    while parents[node] != node:
        # Path halving: every other node on the way now points to its grandparent.
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True)
def grow_forest(parents, sizes, sources, targets):
    """Return which edges a spanning forest takes: in order, those that join two parts; (m,) bool.

    `parents` and `sizes`, (n,) int32, are the parts so far, changed in place; at first 0..n - 1 and
    ones. Edges may come in several calls.
    """
    kept = np.zeros(sources.size, dtype=np.bool_)
    for edge in range(sources.size):
        small, large = _root(parents, sources[edge]), _root(parents, targets[edge])
        if small == large:
            continue
        if sizes[small] > sizes[large]:
            small, large = large, small
        parents[small] = large
        sizes[large] += sizes[small]
        kept[edge] = True
    return kept
