"""Random walks over CSR adjacencies (first order, second order, alternating) and their pairs.

A draw depends only on (seed, number of the walk, number of the draw), so a walk is the same on any
thread and in a call of any size. If `cumulative` is empty, all edges of a node are equally likely;
otherwise it holds the running sums of weights inside each row.

Memory latency dominates in graphs larger than the caches. So a thread moves a group of walks in
lock step: it reads all their rows, then all their targets, and the reads overlap.
"""

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.rng import below_at, item_state, unit_at

_GROUP = 64  # walks in lock step: the state of a group must stay in the nearest cache
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
    """Return the position in `indices` of a neighbour drawn by weight, or -1 without any."""
    # Unsigned positions: numba checks signed ones for counting from the end.
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
    """Put a group of walks at their starts; return their rows in `walks`, nodes and states."""
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
def _step_group(adjacency, group, places, live, step, walks):
    """Step with the first `live` walks of a group, drop those that end, return how many stay."""
    indptr, indices, cumulative = adjacency
    rows, nodes, states = group
    left = 0
    for k in range(live):
        place = _draw_place(indptr, cumulative, nodes[k], states[k], step)
        # Always written, and overwritten if the walk has ended: no branch to mispredict.
        rows[left], states[left], places[left] = rows[k], states[k], place
        left += place >= 0
    for k in range(left):
        nodes[k] = indices[np.uint64(places[k])]
        walks[rows[k], step] = nodes[k]
    return left


@njit(cache=True, nogil=True, parallel=True)
def alternating_walks(
    indptr, indices, cumulative, in_indptr, in_indices, in_cumulative, starts, length, seed, first
):
    """Walk u -> x <- y -> v ...: along an out-edge, back along an in-edge, and so on.

    Even positions hold sources and odd positions targets.

    Args:
        cumulative: (m,) float64 from `cumulative_weights`, or empty.
        in_indptr, in_indices, in_cumulative: the transposed adjacency, in the same form.
        length: nodes per walk, the start included.
        first: number of the first walk, for the random draws.

    Returns:
        (w, length) int32, -1 after a node without edges to follow.
    """
    walks = np.empty((starts.size, length), dtype=np.int32)
    out, into = (indptr, indices, cumulative), (in_indptr, in_indices, in_cumulative)
    for number in prange(-(-starts.size // _GROUP)):
        group = _start_group(starts, number * _GROUP, seed, first, walks)
        places = np.empty(_GROUP, dtype=np.int64)
        live = group[0].size
        for step in range(1, length):
            if step % 2 == 1:
                live = _step_group(out, group, places, live, step, walks)
            else:
                live = _step_group(into, group, places, live, step, walks)
            if live == 0:
                break
    return walks


# Not compiled: for a cached function that calls a parallel one, numba does not start its threads.
def first_order_walks(indptr, indices, cumulative, starts, length, seed, first):
    """Walk from each start along out-edges; arguments and result as in `alternating_walks`."""
    return alternating_walks(
        indptr, indices, cumulative, indptr, indices, cumulative, starts, length, seed, first
    )


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
    """Return whether the bias of a proposal is above x; look up an edge only if it decides."""
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
    """Walk from each start with node2vec's p and q; otherwise as `alternating_walks`.

    A neighbour is proposed by weight and accepted with probability bias / largest bias; after a
    few rejections the row is scanned instead.
    """
    walks = np.empty((starts.size, length), dtype=np.int32)
    for number in prange(-(-starts.size // _GROUP)):
        group = _start_group(starts, number * _GROUP, seed, first_walk, walks)
        _walk_second_order(indptr, indices, cumulative, group, p, q, walks)
    return walks


@njit(cache=True, inline="always")
def _draw_place_or_return(indptr, node, excess, state, draw):
    """Return the position of a neighbour, the end of the row for going back, or -1 without any."""
    first, last = indptr[np.uint64(node)], indptr[np.uint64(node) + np.uint64(1)]
    if first == last:
        return np.int64(-1)
    place = first + np.int64(unit_at(state, draw) * (np.float64(last - first) + excess))
    return min(place, last)


@njit(cache=True, nogil=True)
def _walk_second_order(indptr, indices, cumulative, group, p, q, walks):
    """Walk a group to its end; every walk gets one proposal per round, and steps if it is kept."""
    rows, nodes, states = group
    live, length = rows.size, walks.shape[1]
    previous = np.full(live, -1, dtype=np.int32)
    steps = np.ones(live, dtype=np.int64)
    rejected = np.zeros(live, dtype=np.int64)
    places = np.empty(live, dtype=np.int64)
    largest = max(1.0, 1.0 / q)
    # If going back has the largest bias, it gets an extra proposal for the excess: otherwise most
    # other proposals would be rejected. With weights, the edge back would have to be found first.
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


@njit(cache=True, inline="always")
def _is_pair(walks, i, a, b, alternating, self_pairs):
    """Return whether positions a (source) and b (target) of walk i make a pair."""
    if a == b or walks[i, a] < 0 or walks[i, b] < 0:
        return False
    if alternating and (a % 2 == 1 or b % 2 == 0):
        return False
    return self_pairs or walks[i, a] != walks[i, b]


@njit(cache=True, nogil=True, parallel=True)
def window_pairs(walks, left, right, alternating, self_pairs):
    """Return all pairs (source, target) within a window, walk by walk (the paper's Eq. 9).

    Args:
        left, right: how far before and after the source a target may be.
        alternating: take only even positions as sources and odd ones as targets.
        self_pairs: keep pairs whose two nodes are the same.
    """
    num_walks, length = walks.shape
    counts = np.zeros(num_walks + 1, dtype=np.int64)
    for i in prange(num_walks):
        for a in range(length):
            for b in range(max(0, a - left), min(length, a + right + 1)):
                if _is_pair(walks, i, a, b, alternating, self_pairs):
                    counts[i + 1] += 1
    offsets = np.cumsum(counts)
    sources, targets = np.empty((2, offsets[-1]), dtype=np.int32)
    for i in prange(num_walks):
        k = offsets[i]
        for a in range(length):
            for b in range(max(0, a - left), min(length, a + right + 1)):
                if _is_pair(walks, i, a, b, alternating, self_pairs):
                    sources[k], targets[k] = walks[i, a], walks[i, b]
                    k += 1
    return sources, targets
