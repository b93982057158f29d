"""Non-edges: fixed sets of them per node, and the edges to leave out of a shared block."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.rng import draw_below


@njit(cache=True, inline="always")
def _contains(values, count, x):
    for k in range(count):  # noqa: SIM110  numba has no fast any()
        if values[k] == x:
            return True
    return False


@njit(cache=True, nogil=True, parallel=True)
def fixed_negatives_of(indptr, indices, nodes, set_size, seed, distinct):
    """Draw for each of some nodes non-neighbours, itself left out, uniformly.

    Args:
        nodes: (k,) ids; what one gets does not depend on the others.
        distinct: draw none twice; a node with fewer than `set_size` has them all, then -1.

    Returns:
        (k, set_size) int32; all -1 for a node without non-neighbours.
    """
    num_nodes = indptr.size - 1
    negatives = np.full((nodes.size, set_size), -1, dtype=np.int32)
    for i in prange(nodes.size):
        node = nodes[i]
        row = negatives[i]
        degree = indptr[node + 1] - indptr[node]
        has_loop = find_edge(indptr, indices, node, node) >= 0
        candidates = num_nodes - degree - (0 if has_loop else 1)
        # Rejection wants at least half of all nodes to be acceptable at the last draw.
        if candidates - (set_size if distinct else 0) > num_nodes // 2:
            count = 0
            draw = 0
            while count < set_size:
                other = draw_below(seed, node, draw, num_nodes)
                draw += 1
                if other == node or find_edge(indptr, indices, node, other) >= 0:
                    continue
                if not (distinct and _contains(row, count, other)):
                    row[count] = other
                    count += 1
        elif distinct:
            _reservoir(indptr, indices, node, num_nodes, seed, row)
        elif candidates > 0:
            everyone = np.empty(candidates, dtype=np.int32)
            _reservoir(indptr, indices, node, num_nodes, seed, everyone)
            for k in range(set_size):
                row[k] = everyone[draw_below(seed, node, num_nodes + k, candidates)]
    return negatives


@njit(cache=True, nogil=True)
def fixed_negatives(indptr, indices, set_size, seed, distinct):
    """Draw for every node what `fixed_negatives_of` draws: (n, set_size) int32."""
    return fixed_negatives_of(indptr, indices, np.arange(indptr.size - 1), set_size, seed, distinct)


@njit(cache=True, nogil=True)
def _reservoir(indptr, indices, node, num_nodes, seed, row):
    """Fill the row with a uniform sample of the non-neighbours, looking at each of them once."""
    seen = 0
    for other in range(num_nodes):
        if other == node or find_edge(indptr, indices, node, other) >= 0:
            continue
        if seen < row.size:
            row[seen] = other
        else:
            slot = draw_below(seed, node, seen, seen + 1)
            if slot < row.size:
                row[slot] = other
        seen += 1


@njit(cache=True, nogil=True, parallel=True)
def draw_negatives(fixed, sources, num_negatives, seed, distinct):
    """Draw from each source's fixed set, without replacement if `distinct`.

    Returns:
        (p, num_negatives) int32, -1 where the set is too small.
    """
    drawn = np.full((sources.size, num_negatives), -1, dtype=np.int32)
    for i in prange(sources.size):
        row = fixed[sources[i]]
        size = row.size
        while size > 0 and row[size - 1] < 0:
            size -= 1
        if not distinct:
            for k in range(num_negatives if size > 0 else 0):
                drawn[i, k] = row[draw_below(seed, i, k, size)]
            continue
        wanted = min(num_negatives, size)
        chosen = np.empty(wanted, dtype=np.int64)
        # Floyd's sampling: one draw an element, no copy of the set.
        for k in range(wanted):
            last = size - wanted + k
            slot = draw_below(seed, i, k, last + 1)
            if _contains(chosen, k, slot):
                slot = last
            chosen[k] = slot
            drawn[i, k] = row[slot]
    return drawn


@njit(cache=True, nogil=True)
def edges_in_block(indptr, indices, sources, targets, scratch):
    """List the cells of the block sources x targets that are edges or pair a node with itself.

    Args:
        sources, targets: distinct node ids.
        scratch: (n,) int32 full of -1; it is left so.

    Returns:
        rows and columns, each (c,) int64, row by row.
    """
    for column in range(targets.size):
        scratch[targets[column]] = column
    bound = sources.size
    for row in range(sources.size):
        bound += indptr[sources[row] + 1] - indptr[sources[row]]
    rows = np.empty(bound, dtype=np.int64)
    columns = np.empty(bound, dtype=np.int64)
    count = 0
    for row in range(sources.size):
        node = sources[row]
        looped = False
        for i in range(indptr[node], indptr[node + 1]):
            column = scratch[indices[i]]
            looped = looped or indices[i] == node
            if column >= 0:
                rows[count] = row
                columns[count] = column
                count += 1
        if not looped and scratch[node] >= 0:
            rows[count] = row
            columns[count] = scratch[node]
            count += 1
    for column in range(targets.size):
        scratch[targets[column]] = -1
    return rows[:count].copy(), columns[:count].copy()


@njit(cache=True, nogil=True)
def compact_ids(ids, scratch):
    """Number the distinct ids in the order of their first appearance.

    Args:
        ids: (p,) integers below n; negative ones stay -1.
        scratch: (n,) int32 full of -1; it is left so.

    Returns:
        the distinct ids, (k,) int32, and the number of each id among them, (p,) int64.
    """
    distinct = np.empty(min(ids.size, scratch.size), dtype=np.int32)
    numbers = np.empty(ids.size, dtype=np.int64)
    count = 0
    for i in range(ids.size):
        if ids[i] < 0:
            numbers[i] = -1
            continue
        if scratch[ids[i]] < 0:
            scratch[ids[i]] = count
            distinct[count] = ids[i]
            count += 1
        numbers[i] = scratch[ids[i]]
    for k in range(count):
        scratch[distinct[k]] = -1
    return distinct[:count].copy(), numbers
