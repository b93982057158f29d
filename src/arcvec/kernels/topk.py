"""The best k of many scores: one small heap per row, fed tile by tile."""

from __future__ import annotations

from numba import njit, prange

from arcvec.kernels.edges import find_edge


@njit(cache=True, inline="always")
def _is_worse(scores, ids, i, j):
    return scores[i] < scores[j] or (scores[i] == scores[j] and ids[i] > ids[j])


@njit(cache=True)
def _sink_first(scores, ids):
    """Restore the heap order, worst first, after its first entry was replaced."""
    parent = 0
    while True:
        worst, child = parent, 2 * parent + 1
        if child < scores.size and _is_worse(scores, ids, child, worst):
            worst = child
        if child + 1 < scores.size and _is_worse(scores, ids, child + 1, worst):
            worst = child + 1
        if worst == parent:
            return
        scores[parent], scores[worst] = scores[worst], scores[parent]
        ids[parent], ids[worst] = ids[worst], ids[parent]
        parent = worst


@njit(cache=True, parallel=True)
def keep_best(scores, candidates, queries, known_indptr, known_indices, best_scores, best_ids):
    """Update the best candidates of each query, in place, with one tile of scores.

    Tiles must come in ascending order of ids: then an equal score with a higher id comes later and
    never replaces one with a lower id.

    Args:
        scores: (q, w) float32, of the queries with the candidates; NaN is skipped.
        candidates: (w,) ascending ids of the nodes that may be chosen.
        queries: (q,) ids of the query nodes, which are no candidates of themselves.
        known_indptr, known_indices: CSR of the candidates each node already has; skipped.
        best_scores, best_ids: (q, k) float32 and int32, heaps that start with -inf and -1.
    """
    for i in prange(queries.size):
        query, heap_scores, heap_ids = queries[i], best_scores[i], best_ids[i]
        for column in range(scores.shape[1]):
            if not scores[i, column] > heap_scores[0]:
                continue
            # Known candidates are looked up only here, where one would enter the heap.
            candidate = candidates[column]
            if candidate == query or find_edge(known_indptr, known_indices, query, candidate) >= 0:
                continue
            heap_scores[0], heap_ids[0] = scores[i, column], candidate
            _sink_first(heap_scores, heap_ids)
