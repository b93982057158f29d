"""Questions to CSR adjacencies: is there an edge, whose is an entry, what do two share."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, inline="always")
def first_not_below(indptr, indices, source, target):
    """Return where in `indices` the row's first target stands that is not below a given one."""
    low, high = indptr[source], indptr[source + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, inline="always")
def find_edge(indptr, indices, source, target):
    """Return where in `indices` the edge source -> target stands, or -1; rows are sorted."""
    place = first_not_below(indptr, indices, source, target)
    if place < indptr[source + 1] and indices[place] == target:
        return place
    return -1


@njit(cache=True, nogil=True, parallel=True)
def contains_edges(indptr, indices, sources, targets):
    """Tell for each pair whether it is an edge: (p,) bool."""
    found = np.empty(sources.size, dtype=np.bool_)
    for i in prange(sources.size):
        found[i] = find_edge(indptr, indices, sources[i], targets[i]) >= 0
    return found


@njit(cache=True, nogil=True, parallel=True)
def entries_of_edges(indptr, indices, sources, targets):
    """Return where in `indices` each edge stands, -1 for a pair that is none: (p,) int64."""
    entries = np.empty(sources.size, dtype=np.int64)
    for i in prange(sources.size):
        entries[i] = find_edge(indptr, indices, sources[i], targets[i])
    return entries


@njit(cache=True, nogil=True, parallel=True)
def targets_from_row_on(indptr, indices):
    """Count in each row the targets that are not below the row itself: (n,) int64."""
    counts = np.empty(indptr.size - 1, dtype=np.int64)
    for row in prange(indptr.size - 1):
        counts[row] = indptr[row + 1] - first_not_below(indptr, indices, row, row)
    return counts


@njit(cache=True, nogil=True, parallel=True)
def count_kept(indptr, kept):
    """Count in each row the entries that a mask keeps: (n,) int64."""
    counts = np.zeros(indptr.size - 1, dtype=np.int64)
    for row in prange(indptr.size - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            counts[row] += kept[entry]
    return counts


@njit(cache=True, nogil=True, parallel=True)
def sources_of_entries(indptr, entries):
    """Return the row in which each entry of `indices` stands: (p,) int32."""
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


@njit(cache=True, nogil=True, parallel=True)
def shared_entries(indptr, indices, other_indptr, other_indices):
    """Tell for each entry of a CSR adjacency whether another one of as many rows has it: bool.

    Rows of both are sorted, and gone through side by side.
    """
    shared = np.zeros(indices.size, dtype=np.bool_)
    for row in prange(indptr.size - 1):
        place, end = other_indptr[row], other_indptr[row + 1]
        for entry in range(indptr[row], indptr[row + 1]):
            while place < end and other_indices[place] < indices[entry]:
                place += 1
            shared[entry] = place < end and other_indices[place] == indices[entry]
    return shared


@njit(cache=True, nogil=True)
def returned_entries(indptr, indices):
    """Tell for each entry of a CSR adjacency whether its reverse is an entry too: bool.

    The rows come in order, so that the row of a target is asked for ever later places: where it
    was left is all there is to keep, and nothing is searched for or turned round.
    """
    returned = np.empty(indices.size, dtype=np.bool_)
    places = indptr[:-1].copy()
    for row in range(indptr.size - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            target = indices[entry]
            place, end = places[target], indptr[target + 1]
            while place < end and indices[place] < row:
                place += 1
            places[target] = place
            returned[entry] = place < end and indices[place] == row
    return returned


@njit(cache=True, nogil=True)
def turned_entries(indptr, indices, weights):
    """Return a CSR adjacency with every entry turned round: indptr, indices and weights.

    Args:
        weights: one an entry, or none at all.
    """
    turned_indptr = np.zeros(indptr.size, dtype=np.int64)
    for target in indices:
        turned_indptr[target + 1] += 1
    for row in range(indptr.size - 1):
        turned_indptr[row + 1] += turned_indptr[row]
    places = turned_indptr[:-1].copy()
    turned, turned_weights = np.empty_like(indices), np.empty_like(weights)
    # Rows come in order, so that each new row is sorted as it fills.
    for row in range(indptr.size - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            place = places[indices[entry]]
            places[indices[entry]] += 1
            turned[place] = row
            if weights.size:
                turned_weights[place] = weights[entry]
    return turned_indptr, turned, turned_weights


@njit(cache=True, nogil=True, parallel=True)
def adjacency_product(indptr, indices, weights, rows, columns, vectors):
    """Return a scaled adjacency times some vectors, without making it: (n, k) float32.

    Args:
        weights: one an entry, or a single one for all.
        rows, columns: (n,) float64, by which the adjacency is multiplied.
        vectors: (n, k) float32.
    """
    product = np.zeros(vectors.shape, dtype=np.float32)
    for row in prange(indptr.size - 1):
        total = product[row]
        for entry in range(indptr[row], indptr[row + 1]):
            weight = weights[entry] if weights.size == indices.size else weights[0]
            factor = np.float32(rows[row] * weight * columns[indices[entry]])
            other = vectors[indices[entry]]
            for k in range(total.size):
                total[k] += factor * other[k]
    return product
