"""Non-edges: fixed sets of them per node, and the edges to leave out of a shared block."""

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
def fixed_negatives(indptr, indices, nodes, set_size, seed, distinct):
    """Draw non-neighbours of each node uniformly, the node itself left out: (k, set_size) int32.

    The draws of a node do not depend on the others. If they are `distinct`, a node with too few
    gets them all, then -1; a node without any has only -1.
    """
    num_nodes = indptr.size - 1
    negatives = np.full((nodes.size, set_size), -1, dtype=np.int32)
    for i in prange(nodes.size):
        node = nodes[i]
        row = negatives[i]
        degree = indptr[node + 1] - indptr[node]
        has_loop = find_edge(indptr, indices, node, node) >= 0
        candidates = num_nodes - degree - (0 if has_loop else 1)
        # Rejection is quick if at least half of all nodes are acceptable at the last draw.
        if candidates - (set_size if distinct else 0) > num_nodes // 2:
            count, draw = 0, 0
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
    """Draw from each source's fixed set: (p, num_negatives) int32, -1 where it is too small."""
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
        # Floyd's sampling: one draw per element, no copy of the set.
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

    Return rows and columns, each (c,) int64, row by row. Ids are distinct on each side; `scratch`
    is (n,) int32 full of -1, restored at the end.
    """
    for column in range(targets.size):
        scratch[targets[column]] = column
    bound = sources.size
    for row in range(sources.size):
        bound += indptr[sources[row] + 1] - indptr[sources[row]]
    rows, columns = np.empty((2, bound), dtype=np.int64)
    count = 0
    for row in range(sources.size):
        node = sources[row]
        looped = False
        for i in range(indptr[node], indptr[node + 1]):
            column = scratch[indices[i]]
            looped = looped or indices[i] == node
            if column >= 0:
                rows[count], columns[count] = row, column
                count += 1
        if not looped and scratch[node] >= 0:
            rows[count], columns[count] = row, scratch[node]
            count += 1
    for column in range(targets.size):
        scratch[targets[column]] = -1
    return rows[:count].copy(), columns[:count].copy()


@njit(cache=True, nogil=True)
def compact_ids(ids, scratch):
    """Number the distinct ids in the order of their first appearance.

    Return the distinct ids, (k,) int32, and the number of each id among them, (p,) int64, -1 if it
    is negative; `scratch` is (n,) int32 full of -1, restored at the end.
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
