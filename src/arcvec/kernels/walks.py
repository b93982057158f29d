"""Random walks over CSR adjacencies: first order, node2vec's second order, and alternating.

Every draw is decided by (seed, number of the walk, number of the draw): a walk is the same on any
thread and however many walks are made in one call. Where `cumulative` is empty all edges
of a node are equally likely; else it holds the running sums of weights inside each row.

In a graph larger than the caches a step waits for memory twice: for the row of its node, and for
the target it draws there. One walk can only wait, as each step begins where the last one ended. So
a thread takes a group of walks in lock step: it asks for all their rows, then for all their
targets, and memory answers many at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.rng import below_at, item_state, unit_at

# Walks in lock step. More do not make memory faster, and what a group keeps must stay in the
# nearest cache.
_GROUP = 64

# A rejected proposal costs two draws; after this many, scanning the row once is cheaper.
_MAX_PROPOSALS = 32
_DRAWS_PER_STEP = 2 * _MAX_PROPOSALS + 1


@njit(cache=True, nogil=True, parallel=True)
def cumulative_weights(indptr, weights):
    """Return the running sums of weights inside each row: (m,) float64."""
    sums = np.empty(weights.size, dtype=np.float64)
    for node in prange(indptr.size - 1):
        total = 0.0
        for i in range(indptr[node], indptr[node + 1]):
            total += weights[i]
            sums[i] = total
    return sums


@njit(cache=True, inline="always")
def _upper_bound(values, low, high, x):
    """Return the first position in low..high - 1 whose value is above x, at most high - 1."""
    high -= 1
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > x:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, inline="always")
def _draw_place(indptr, cumulative, node, state, draw):
    """Return where in `indices` a neighbour of `node` drawn by weight stands, or -1 without any."""
    # Unsigned positions: signed ones are looked at again, in case they count from the end.
    first, last = indptr[np.uint64(node)], indptr[np.uint64(node) + np.uint64(1)]
    if cumulative.size == 0:
        place = first + below_at(state, draw, last - first)
        return place if first < last else np.int64(-1)
    if first == last:
        return np.int64(-1)
    x = unit_at(state, draw) * cumulative[last - 1]
    return np.int64(_upper_bound(cumulative, first, last, x))


@njit(cache=True, inline="always")
def _start_group(starts, begin, seed, first_walk, walks):
    """Put the walks of a group at their starts, and -1 wherever they may come to.

    Returns:
        Of each walk its row in `walks`, its node, and its state for the random draws.
    """
    size = min(_GROUP, starts.size - begin)
    rows = np.arange(begin, begin + size)
    nodes = starts[begin : begin + size].copy()
    states = np.empty(size, dtype=np.uint64)
    for k in range(size):
        states[k] = item_state(seed, first_walk + begin + k)
        for step in range(walks.shape[1]):
            walks[begin + k, step] = -1
        walks[begin + k, 0] = nodes[k]
    return rows, nodes, states


@njit(cache=True, nogil=True)
def _step_group(indptr, indices, cumulative, group, places, live, step, walks):
    """Take one step with the first `live` walks of a group, and drop those that cannot.

    Args:
        group: rows, nodes and states of the walks.
        places: scratch, (size of the group,) int64.

    Returns:
        How many walks are left.
    """
    rows, nodes, states = group
    left = 0
    for k in range(live):
        place = _draw_place(indptr, cumulative, nodes[k], states[k], step)
        # Kept in any case, and overwritten if it has ended: nobody can foretell which walk will.
        rows[left], states[left], places[left] = rows[k], states[k], place
        left += place >= 0
    for k in range(left):
        nodes[k] = indices[np.uint64(places[k])]
        walks[rows[k], step] = nodes[k]
    return left


@njit(cache=True, nogil=True, parallel=True)
def first_order_walks(indptr, indices, cumulative, starts, length, seed, first_walk):
    """Walk from each start along out-edges.

    Args:
        indptr, indices: CSR adjacency, (n + 1,) int64 and (m,) int32.
        cumulative: (m,) float64 from `cumulative_weights`, or empty.
        starts: (w,) int32, first node of each walk.
        length: nodes per walk, the start included.
        first_walk: number of the first walk, for the random draws.

    Returns:
        (w, length) int32. A walk that meets a node without out-edges stops; the rest of its row
        is -1.
    """
    walks = np.empty((starts.size, length), dtype=np.int32)
    for number in prange(-(-starts.size // _GROUP)):
        group = _start_group(starts, number * _GROUP, seed, first_walk, walks)
        places = np.empty(_GROUP, dtype=np.int64)
        live = group[0].size
        for step in range(1, length):
            live = _step_group(indptr, indices, cumulative, group, places, live, step, walks)
            if live == 0:
                break
    return walks


@njit(cache=True, nogil=True, parallel=True)
def alternating_walks(
    indptr,
    indices,
    cumulative,
    in_indptr,
    in_indices,
    in_cumulative,
    starts,
    length,
    seed,
    first_walk,
):
    """Walk u -> x <- y -> v ...: along an out-edge, back along an in-edge, and so on.

    Even positions hold sources and odd positions targets. Only the first step can fail, where a
    start has no out-edges.

    Args:
        in_indptr, in_indices, in_cumulative: the transposed adjacency, in the same form.

    Returns:
        (w, length) int32, -1 where the walk ended.
    """
    walks = np.empty((starts.size, length), dtype=np.int32)
    for number in prange(-(-starts.size // _GROUP)):
        group = _start_group(starts, number * _GROUP, seed, first_walk, walks)
        places = np.empty(_GROUP, dtype=np.int64)
        live = group[0].size
        for step in range(1, length):
            if step % 2 == 1:
                live = _step_group(indptr, indices, cumulative, group, places, live, step, walks)
            else:
                live = _step_group(
                    in_indptr, in_indices, in_cumulative, group, places, live, step, walks
                )
    return walks


@njit(cache=True, inline="always")
def _bias(indptr, indices, previous, proposed, p, q):
    """Return node2vec's search bias: 1/p to return, 1 to a target of `previous`, 1/q beyond."""
    if proposed == previous:
        return 1.0 / p
    if find_edge(indptr, indices, previous, proposed) >= 0:
        return 1.0
    return 1.0 / q


@njit(cache=True, inline="always")
def _is_kept(indptr, indices, previous, proposed, p, q, x):
    """Tell whether the bias of a proposal is above x; edges are looked up only if they decide."""
    if proposed == previous:
        return x < 1.0 / p
    if x < min(1.0, 1.0 / q):
        return True
    if x >= max(1.0, 1.0 / q):
        return False
    return (find_edge(indptr, indices, previous, proposed) >= 0) == (q > 1.0)


@njit(cache=True, nogil=True)
def _scan_second_order(indptr, indices, cumulative, previous, node, p, q, x):
    """Return the neighbour at fraction x of the exact second-order distribution of one row."""
    first, last = indptr[node], indptr[node + 1]
    # Two passes instead of stored masses, which would take as much memory as the row.
    threshold = np.inf
    for _ in range(2):
        total = 0.0
        for i in range(first, last):
            weight = 1.0
            if cumulative.size:
                weight = cumulative[i] - (cumulative[i - 1] if i > first else 0.0)
            total += weight * _bias(indptr, indices, previous, indices[i], p, q)
            if total > threshold:
                return indices[i]
        threshold = x * total
    return indices[last - 1]


@njit(cache=True, nogil=True, parallel=True)
def second_order_walks(indptr, indices, cumulative, starts, length, p, q, seed, first_walk):
    """Walk from each start with node2vec's p and q, by rejection: no table per edge.

    A neighbour is proposed by weight and kept with its bias over the largest bias. After a few
    rejections the row is scanned instead, which leaves the distribution exact: proposals are
    independent, so what was rejected says nothing about what comes next.

    Returns:
        (w, length) int32, -1 where the walk ended.
    """
    walks = np.empty((starts.size, length), dtype=np.int32)
    for number in prange(-(-starts.size // _GROUP)):
        group = _start_group(starts, number * _GROUP, seed, first_walk, walks)
        _walk_second_order(indptr, indices, cumulative, group, p, q, walks)
    return walks


@njit(cache=True, inline="always")
def _draw_place_or_return(indptr, node, excess, state, draw):
    """Return where in `indices` a neighbour stands, or the end of the row to go back; -1 without.

    Args:
        excess: how many neighbours going back counts for, beside the one it is.
    """
    first, last = indptr[np.uint64(node)], indptr[np.uint64(node) + np.uint64(1)]
    if first == last:
        return np.int64(-1)
    place = first + np.int64(unit_at(state, draw) * (np.float64(last - first) + excess))
    return min(place, last)


@njit(cache=True, nogil=True)
def _walk_second_order(indptr, indices, cumulative, group, p, q, walks):
    """Walk a group to its end: in a turn every walk has one proposal, and steps if it is kept."""
    rows, nodes, states = group
    live, length = rows.size, walks.shape[1]
    previous = np.full(live, -1, dtype=np.int32)
    steps = np.ones(live, dtype=np.int64)
    rejected = np.zeros(live, dtype=np.int64)
    places = np.empty(live, dtype=np.int64)
    largest = max(1.0, 1.0 / q)
    # Where going back counts more than all else, it is proposed apart for what it counts more: held
    # against its bias, most other proposals would be rejected. With weights, that would have to be
    # looked up first.
    excess = max(0.0, 1.0 / p - largest) / largest
    if cumulative.size:
        largest, excess = max(largest, 1.0 / p), 0.0
    while live:
        k = 0
        while k < live:
            place = np.int64(-1)
            if steps[k] < length:
                draw = steps[k] * _DRAWS_PER_STEP + 2 * rejected[k]
                if excess > 0 and previous[k] >= 0:
                    place = _draw_place_or_return(indptr, nodes[k], excess, states[k], draw)
                else:
                    place = _draw_place(indptr, cumulative, nodes[k], states[k], draw)
            if place < 0:
                live -= 1
                rows[k], nodes[k], states[k] = rows[live], nodes[live], states[live]
                previous[k], steps[k], rejected[k] = previous[live], steps[live], rejected[live]
            else:
                places[k] = place
                k += 1
        for k in range(live):
            goes_back = places[k] == indptr[np.uint64(nodes[k]) + np.uint64(1)]
            proposed = previous[k] if goes_back else indices[np.uint64(places[k])]
            if previous[k] >= 0:
                draw = steps[k] * _DRAWS_PER_STEP + 2 * rejected[k] + 1
                x = unit_at(states[k], draw) * largest
                if goes_back:
                    kept = find_edge(indptr, indices, nodes[k], proposed) >= 0
                else:
                    kept = _is_kept(indptr, indices, previous[k], proposed, p, q, x)
                if not kept:
                    rejected[k] += 1
                    if rejected[k] < _MAX_PROPOSALS:
                        continue
                    x = unit_at(states[k], draw + 1)
                    proposed = _scan_second_order(
                        indptr, indices, cumulative, previous[k], nodes[k], p, q, x
                    )
            previous[k], nodes[k] = nodes[k], proposed
            walks[rows[k], steps[k]] = proposed
            steps[k] += 1
            rejected[k] = 0
