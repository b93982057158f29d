"""The best k of many inner products: one small heap per query, fed tile by tile.

Scores are made a few hundred at a time and looked through while they are still in the nearest
cache; written out to memory they would cost more than the products do.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge

TILE = 512
"""Candidates in a tile: 16 coordinates of them, and the scores of four queries, are 40 KB."""

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
def _select(
    scores, candidates, start, stop, node, known_indptr, known_indices, heap_scores, heap_ids, row
):
    """Feed the scores of candidates start .. stop - 1 to the heap in a row."""
    for chunk in range(0, stop - start, _CHUNK):
        end = min(chunk + _CHUNK, stop - start)
        # Nearly every chunk has nothing to offer. Of a chunk that begins at 0 the compiler counts
        # eight scores at a time, of indices from elsewhere one.
        if _count_above(scores[chunk:end], heap_scores[row, 0]) == 0:
            continue
        for j in range(chunk, end):
            if not scores[j] > heap_scores[row, 0]:
                continue
            # Known candidates are looked up only here, where one would enter the heap.
            candidate = candidates[start + j]
            if candidate == node or find_edge(known_indptr, known_indices, node, candidate) >= 0:
                continue
            replace_worst(heap_scores, heap_ids, row, scores[j], candidate)


@njit(cache=True, parallel=True)
def keep_best(
    queries, nodes, tiles, candidates, known_indptr, known_indices, best_scores, best_ids
):
    """Update the best candidates of each query, in place.

    Candidates must come in ascending order of ids, over all calls: then an equal score with a
    higher id comes later and never replaces one with a lower id.

    Args:
        queries: (q, d) float32 vectors, d a multiple of 4.
        nodes: (q,) ids of the query nodes, which are no candidates of themselves.
        tiles: (t, d, TILE) float32: vectors of candidates, in the columns of t tiles; the last
            columns may be padding. A score that is NaN is skipped.
        candidates: (c,) ascending ids of the candidates, c at most t * TILE.
        known_indptr, known_indices: CSR of the candidates each node already has; skipped.
        best_scores, best_ids: (q, k) float32 and int32, heaps that start with -inf and -1.
    """
    num_tasks = (nodes.size + _ROWS_PER_TASK - 1) // _ROWS_PER_TASK
    for task in prange(num_tasks):
        scores = np.empty((4, tiles.shape[2]), dtype=np.float32)
        for tile in range(tiles.shape[0]):
            start = tile * tiles.shape[2]
            stop = min(start + tiles.shape[2], candidates.size)
            end = min((task + 1) * _ROWS_PER_TASK, nodes.size)
            for first in range(task * _ROWS_PER_TASK, end, 4):
                _score_four(queries, first, tiles, tile, scores)
                for row in range(first, min(first + 4, end)):
                    _select(
                        scores[row - first],
                        candidates,
                        start,
                        stop,
                        nodes[row],
                        known_indptr,
                        known_indices,
                        best_scores,
                        best_ids,
                        row,
                    )
