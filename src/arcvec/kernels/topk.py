"""The best k of many inner products, one small heap per query; and ranks among all nodes.

Scores are computed a few hundred at a time and compared while they are in the nearest cache.
"""

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge

TILE = 512  # candidates; fits the nearest cache with the scores of four queries
LIST_TILE = 64  # vectors of a list: small, since half a tile of every list is padding
_CHUNK = 64
_ROWS_PER_TASK = 64


@njit(cache=True)
def replace_worst(scores, ids, row, score, candidate):
    """Replace the first entry of a row, its worst, and restore the order of the heap."""
    parent, k = 0, scores.shape[1]
    while True:
        worst, worst_score, worst_id = parent, score, candidate
        for child in range(2 * parent + 1, min(2 * parent + 3, k)):
            other, other_id = scores[row, child], ids[row, child]
            if other < worst_score or (other == worst_score and other_id > worst_id):
                worst, worst_score, worst_id = child, other, other_id
        scores[row, parent], ids[row, parent] = worst_score, worst_id
        if worst == parent:
            return
        parent = worst


# "contract" allows a product and a sum in one instruction, and nothing else: the order of the sum
# stays, and NaN stays NaN.
@njit(cache=True, fastmath={"contract"})
def _score_four(queries, first, tiles, tile, scores):
    """Write the scores of four queries, the last repeated at the end, with one tile."""
    last = queries.shape[0] - 1
    a, b, c, d = first, min(first + 1, last), min(first + 2, last), min(first + 3, last)
    scores[:] = 0
    # Four coordinates at a time, so that a score is read and written a quarter as often.
    for i in range(0, queries.shape[1], 4):
        a0, a1, a2, a3 = queries[a, i], queries[a, i + 1], queries[a, i + 2], queries[a, i + 3]
        b0, b1, b2, b3 = queries[b, i], queries[b, i + 1], queries[b, i + 2], queries[b, i + 3]
        c0, c1, c2, c3 = queries[c, i], queries[c, i + 1], queries[c, i + 2], queries[c, i + 3]
        d0, d1, d2, d3 = queries[d, i], queries[d, i + 1], queries[d, i + 2], queries[d, i + 3]
        for j in range(tiles.shape[2]):
            x0, x1 = tiles[tile, i, j], tiles[tile, i + 1, j]
            x2, x3 = tiles[tile, i + 2, j], tiles[tile, i + 3, j]
            scores[0, j] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
            scores[1, j] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            scores[2, j] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
            scores[3, j] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3


@njit(cache=True)
def _count_above(scores, threshold):
    """Count scores above a threshold."""
    above = np.int32(0)
    for j in range(scores.size):
        above += np.int32(scores[j] > threshold)
    return above


@njit(cache=True)
def _select(scores, candidates, node, allowed, known, best, row):
    """Feed the scores of some candidates to the heap in a row; negative ones are padding."""
    heap_scores, heap_ids = best
    for chunk in range(0, candidates.size, _CHUNK):
        end = min(chunk + _CHUNK, candidates.size)
        # Most chunks have no better score. Counting is vectorised if a slice begins at 0.
        if _count_above(scores[chunk:end], heap_scores[row, 0]) == 0:
            continue
        for j in range(chunk, end):
            if not scores[j] > heap_scores[row, 0]:
                continue
            # Known candidates are looked up only if they would enter the heap.
            candidate = candidates[j]
            if candidate < 0 or candidate == node or (allowed.size and not allowed[candidate]):
                continue
            if find_edge(known[0], known[1], node, candidate) < 0:
                replace_worst(heap_scores, heap_ids, row, scores[j], candidate)


@njit(cache=True, parallel=True)
def keep_best(
    queries, nodes, tiles, candidates, known_indptr, known_indices, best_scores, best_ids
):
    """Update the best candidates of each query, in place; a score that is NaN is skipped.

    Candidates must come in ascending order of ids, over all calls: then an equal score with a
    higher id comes later and never replaces one with a lower id.

    Args:
        queries: (q, d) float32 vectors, d a multiple of 4.
        nodes: (q,) ids of the query nodes, which are no candidates of themselves.
        tiles: (t, d, TILE) float32, vectors of candidates in columns, then padding.
        candidates: (c,) ascending ids, c at most t * TILE.
        known_indptr, known_indices: CSR of the candidates each node already has; skipped.
        best_scores, best_ids: (q, k), from `empty_heaps`.
    """
    known, best = (known_indptr, known_indices), (best_scores, best_ids)
    everyone = np.empty(0, dtype=np.bool_)
    for task in prange(-(-nodes.size // _ROWS_PER_TASK)):
        scores = np.empty((4, tiles.shape[2]), dtype=np.float32)
        for tile in range(tiles.shape[0]):
            some = candidates[tile * tiles.shape[2] : (tile + 1) * tiles.shape[2]]
            end = min((task + 1) * _ROWS_PER_TASK, nodes.size)
            for first in range(task * _ROWS_PER_TASK, end, 4):
                _score_four(queries, first, tiles, tile, scores)
                for row in range(first, min(first + 4, end)):
                    _select(scores[row - first], some, nodes[row], everyone, known, best, row)


@njit(cache=True, fastmath={"contract"})
def _score_one(queries, row, tiles, tile, scores):
    scores[:] = 0
    for i in range(0, queries.shape[1], 4):
        a, b, c, d = queries[row, i], queries[row, i + 1], queries[row, i + 2], queries[row, i + 3]
        for j in range(tiles.shape[2]):
            x0, x1 = tiles[tile, i, j], tiles[tile, i + 1, j]
            x2, x3 = tiles[tile, i + 2, j], tiles[tile, i + 3, j]
            scores[j] += a * x0 + b * x1 + c * x2 + d * x3


@njit(cache=True, parallel=True)
def keep_best_of_lists(
    queries, nodes, probes, starts, tiles, members, allowed, known, best_scores, best_ids
):
    """Update the best members of some lists for each query, in place; see `keep_best`.

    Args:
        probes: (q, p) lists to search for each query; -1 for none.
        starts, tiles, members: as in `VectorIndex`.
        allowed: (num_nodes,) bool, which ids may be chosen.
        known: indptr and indices of a CSR, the ids each node already has; skipped.
    """
    best = best_scores, best_ids
    for row in prange(nodes.size):
        scores = np.empty(tiles.shape[2], dtype=np.float32)
        for probe in range(probes.shape[1]):
            chosen = probes[row, probe]
            if chosen < 0:
                continue
            for tile in range(starts[chosen], starts[chosen + 1]):
                _score_one(queries, row, tiles, tile, scores)
                _select(scores, members[tile], nodes[row], allowed, known, best, row)


@njit(cache=True)
def _rank(row, order, score, place):
    """Return the ranks of a score: on average over the orders of equal scores, and in `order`."""
    if np.isnan(score):
        return np.nan, np.nan
    greater, equal, before = np.int32(0), np.int32(0), np.int32(0)
    for node in range(row.size):
        greater += np.int32(row[node] > score)
        equal += np.int32(row[node] == score)
    if equal > 0:
        for node in range(row.size):
            before += np.int32((row[node] == score) & (order[node] < place))
    return 1 + greater + equal / 2, 1.0 + greater + before


@njit(cache=True)
def _count_better(scores, order, worst, place):
    """Count scores above the worst, or equal to it and before its place in `order`."""
    better = np.int32(0)
    for j in range(scores.size):
        better += np.int32((scores[j] > worst) | ((scores[j] == worst) & (order[j] < place)))
    return better


@njit(cache=True)
def _keep_best_of_row(row, order, best_scores, best_places, i):
    """Feed a row of scores to the heap in row i; its ids are places in `order`."""
    for chunk in range(0, row.size, _CHUNK):
        some, places = row[chunk : chunk + _CHUNK], order[chunk : chunk + _CHUNK]
        # Most chunks have no better score.
        if _count_better(some, places, best_scores[i, 0], best_places[i, 0]) == 0:
            continue
        for j in range(some.size):
            worst, place = best_scores[i, 0], best_places[i, 0]
            if some[j] > worst or (some[j] == worst and places[j] < place):
                replace_worst(best_scores, best_places, i, some[j], places[j])


@njit(cache=True, parallel=True)
def rank_targets(scores, sources, first_target, targets, known_indptr, known_indices, order, best):
    """Return the ranks of each target among the candidates of its source, 1 for the best.

    Candidates are all nodes but the source itself, its known targets, and its targets here. Targets
    are ranked one at a time, so none is in the way of another. A score of NaN has rank NaN.

    Args:
        scores: (s, n) float32, each source against every node; overwritten.
        first_target: (s + 1,) where in `targets` those of each source start.
        order: (n,) int32, a permutation: of nodes with equal scores the lowest here comes first.
        best: from `empty_heaps`; receives the best k of candidates and targets by place in `order`.

    Returns:
        (m, 2) float64: ranks if equal scores share their mean, and if they are in `order`.
    """
    ranks = np.empty((targets.size, 2), dtype=np.float64)
    best_places, best_scores = best
    for i in prange(sources.size):
        source, row = sources[i], scores[i]
        asked = targets[first_target[i] : first_target[i + 1]]
        own_scores = row[asked]
        # NaN compares false with everything, so masked nodes are never counted.
        row[source], row[asked] = np.nan, np.nan
        row[known_indices[known_indptr[source] : known_indptr[source + 1]]] = np.nan
        # A scan per target is vectorised: faster than one pass that searches among all targets.
        for j in range(asked.size):
            mean_rank, rank = _rank(row, order, own_scores[j], order[asked[j]])
            ranks[first_target[i] + j, 0], ranks[first_target[i] + j, 1] = mean_rank, rank
        if best_scores.shape[1] > 0:
            row[asked] = own_scores
            _keep_best_of_row(row, order, best_scores, best_places, i)
    return ranks
