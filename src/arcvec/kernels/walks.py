"""Random walks over CSR adjacencies: first order, node2vec's second order, and alternating.

Every draw is decided by (seed, number of the walk, number of the draw): a walk is the same on any
thread and however many walks are made in one call. Where `cumulative` is empty all edges
of a node are equally likely; else it holds the running sums of weights inside each row.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.rng import draw_below, draw_unit

# A rejected proposal costs two draws; after this many, scanning the row once is cheaper.
_MAX_PROPOSALS = 32


@njit(cache=True, parallel=True)
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
def _propose(indptr, indices, cumulative, node, seed, walk, draw):
    """Return a neighbour of `node` drawn by weight, or -1 if it has none."""
    first, last = indptr[node], indptr[node + 1]
    if first == last:
        return np.int64(-1)
    if cumulative.size == 0:
        return np.int64(indices[first + draw_below(seed, walk, draw, last - first)])
    x = draw_unit(seed, walk, draw) * cumulative[last - 1]
    return np.int64(indices[_upper_bound(cumulative, first, last, x)])


@njit(cache=True, parallel=True)
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
    walks = np.full((starts.size, length), -1, dtype=np.int32)
    for i in prange(starts.size):
        node = np.int64(starts[i])
        walks[i, 0] = node
        for step in range(1, length):
            node = _propose(indptr, indices, cumulative, node, seed, first_walk + i, step)
            if node < 0:
                break
            walks[i, step] = node
    return walks


@njit(cache=True, parallel=True)
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
    walks = np.full((starts.size, length), -1, dtype=np.int32)
    for i in prange(starts.size):
        node = np.int64(starts[i])
        walk = first_walk + i
        walks[i, 0] = node
        for step in range(1, length):
            if step % 2 == 1:
                node = _propose(indptr, indices, cumulative, node, seed, walk, step)
            else:
                node = _propose(in_indptr, in_indices, in_cumulative, node, seed, walk, step)
            if node < 0:
                break
            walks[i, step] = node
    return walks


@njit(cache=True, inline="always")
def _bias(indptr, indices, previous, proposed, p, q):
    """Return node2vec's search bias: 1/p to return, 1 to a target of `previous`, 1/q beyond."""
    if proposed == previous:
        return 1.0 / p
    if find_edge(indptr, indices, previous, proposed) >= 0:
        return 1.0
    return 1.0 / q


@njit(cache=True)
def _scan_second_order(indptr, indices, cumulative, previous, node, p, q, x):
    """Return the neighbour at fraction x of the exact second-order distribution of one row."""
    first, last = indptr[node], indptr[node + 1]
    masses = np.empty(last - first, dtype=np.float64)
    total = 0.0
    for i in range(first, last):
        weight = 1.0
        if cumulative.size:
            weight = cumulative[i] - (cumulative[i - 1] if i > first else 0.0)
        total += weight * _bias(indptr, indices, previous, indices[i], p, q)
        masses[i - first] = total
    return np.int64(indices[first + _upper_bound(masses, 0, last - first, x * total)])


@njit(cache=True, parallel=True)
def second_order_walks(indptr, indices, cumulative, starts, length, p, q, seed, first_walk):
    """Walk from each start with node2vec's p and q, by rejection: no table per edge.

    A neighbour is proposed by weight and kept with its bias over the largest bias. After a few
    rejections the row is scanned instead, which leaves the distribution exact: proposals are
    independent, so what was rejected says nothing about what comes next.

    Returns:
        (w, length) int32, -1 where the walk ended.
    """
    walks = np.full((starts.size, length), -1, dtype=np.int32)
    largest = max(1.0, 1.0 / p, 1.0 / q)
    draws_per_step = 2 * _MAX_PROPOSALS + 1
    for i in prange(starts.size):
        walk = first_walk + i
        previous = np.int64(-1)
        node = np.int64(starts[i])
        walks[i, 0] = node
        for step in range(1, length):
            draw = step * draws_per_step
            proposed = _propose(indptr, indices, cumulative, node, seed, walk, draw)
            if proposed < 0:
                break
            if previous >= 0:
                rejected = 0
                while draw_unit(seed, walk, draw + 1) * largest >= _bias(
                    indptr, indices, previous, proposed, p, q
                ):
                    rejected += 1
                    draw += 2
                    if rejected == _MAX_PROPOSALS:
                        x = draw_unit(seed, walk, draw)
                        proposed = _scan_second_order(
                            indptr, indices, cumulative, previous, node, p, q, x
                        )
                        break
                    proposed = _propose(indptr, indices, cumulative, node, seed, walk, draw)
            previous = node
            node = proposed
            walks[i, step] = node
    return walks
