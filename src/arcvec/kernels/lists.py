"""The best k of the inner products with some lists of vectors, where others are passed over."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.topk import replace_worst

LIST_TILE = 64
"""Vectors in a tile of a list: small, since half a tile of every list is padding."""


@njit(cache=True, fastmath={"contract"})
def _score_one(queries, row, tiles, tile, scores):
    scores[:] = 0
    for i in range(0, queries.shape[1], 4):
        a, b, c, d = queries[row, i], queries[row, i + 1], queries[row, i + 2], queries[row, i + 3]
        for j in range(tiles.shape[2]):
            scores[j] += (
                a * tiles[tile, i, j]
                + b * tiles[tile, i + 1, j]
                + c * tiles[tile, i + 2, j]
                + d * tiles[tile, i + 3, j]
            )


@njit(cache=True, parallel=True)
def keep_best_of_lists(
    queries, nodes, probes, starts, tiles, members, allowed, known, best_scores, best_ids
):
    """Update the best members of some lists for each query, in place.

    Args:
        queries: (q, d) float32 vectors, d a multiple of 4.
        nodes: (q,) ids of the query nodes, which are not chosen for themselves.
        probes: (q, p) lists to look through for each query; -1 for none.
        starts: (lists + 1,) where the tiles of each list start.
        tiles: (t, d, LIST_TILE) float32, vectors of the members in columns.
        members: (t, LIST_TILE) int32 ids, -1 for padding.
        allowed: (num_nodes,) bool, which ids may be chosen.
        known: indptr and indices of a CSR, the ids each node already has; skipped.
        best_scores, best_ids: (q, k) float32 and int32, heaps that start with -inf and -1.
    """
    known_indptr, known_indices = known
    for row in prange(nodes.size):
        node = nodes[row]
        scores = np.empty(tiles.shape[2], dtype=np.float32)
        for probe in range(probes.shape[1]):
            chosen = probes[row, probe]
            if chosen < 0:
                continue
            for tile in range(starts[chosen], starts[chosen + 1]):
                _score_one(queries, row, tiles, tile, scores)
                # Nearly every tile has nothing to offer, and counting takes eight at a time.
                threshold, better = best_scores[row, 0], np.int32(0)
                for j in range(tiles.shape[2]):
                    better += np.int32(scores[j] > threshold)
                if better == 0:
                    continue
                for j in range(tiles.shape[2]):
                    member = members[tile, j]
                    if member < 0 or not scores[j] > best_scores[row, 0]:
                        continue
                    if member == node or not allowed[member]:
                        continue
                    if find_edge(known_indptr, known_indices, node, member) >= 0:
                        continue
                    replace_worst(best_scores, best_ids, row, scores[j], member)
