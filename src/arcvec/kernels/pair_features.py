"""What a graph and its vectors say about a node and some candidates, one node at a time.

Each thread holds seven float64, four int32 and one bool per node of the graph.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.edges import find_edge
from arcvec.kernels.paths import last_step, walk_from
from arcvec.kernels.topk import replace_worst

_NODES_PER_TASK = 16
PATH_KINDS = 3
NUM_FEATURES = PATH_KINDS + 2


@njit(cache=True)
def _add_best(sums, taken, heap_scores, heap_ids, chosen, count):
    """Append the nodes of the largest positive sums that are not taken, and return the count."""
    heap_scores[:], heap_ids[:] = 0.0, -1
    for node in range(sums.size):
        if sums[node] > heap_scores[0, 0] and not taken[node]:
            replace_worst(heap_scores, heap_ids, 0, sums[node], node)
    for node in heap_ids[0]:
        if node >= 0:
            chosen[count] = node
            taken[node] = True
            count += 1
    return count


@njit(cache=True)
def _add_candidates(sums, known, node, allowed, taken, heap, chosen, count):
    """Append to the candidates of a node the best by two kinds of paths, and return the count."""
    heap_scores, heap_ids = heap
    skipped = known[1][known[0][node] : known[0][node + 1]]
    taken[node] = True
    for candidate in skipped:
        taken[candidate] = True
    for candidate in chosen[:count]:
        taken[candidate] = True
    count = _add_best(sums[0], taken, heap_scores, heap_ids, chosen, count)
    count = _add_best(sums[PATH_KINDS - 1], taken, heap_scores, heap_ids, chosen, count)
    taken[node] = not allowed[node]
    for candidate in skipped:
        taken[candidate] = not allowed[candidate]
    for candidate in chosen[:count]:
        taken[candidate] = not allowed[candidate]
    return count


@njit(cache=True, parallel=True)
def describe_candidates(
    three_paths, even_paths, walks, rows, vectors, known, allowed, ids, num_best, chosen
):
    """Return the features of candidates, (q, w, NUM_FEATURES) float32, and complete `chosen`.

    To the candidates there, `num_best` are added by the sums over `three_paths`, and as many by
    those over `walks` without their last step.

    Args:
        three_paths, even_paths, walks: kinds of paths, as in `arcvec.kernels.paths`; the first two
            have three steps.
        rows: indptr and indices of the graph, whose reverse edges are looked up.
        vectors: (q, d) of the nodes, and (n, d) of all candidates.
        known: indptr and indices of the candidates each node already has, which are not added.
        allowed: (n,) bool, which candidates may be added.
        ids: (q,) nodes to describe candidates for; a node is no candidate of itself.
        chosen: (q, w) candidates, or -1; w at least their number and 2 * num_best.

    Returns:
        Sums over each kind of paths, whether the reverse edge is known, inner product; 0 where
        there is no candidate.
    """
    num_nodes, queries, others = allowed.size, vectors[0], vectors[1]
    last = walks[7].shape[0] - 1
    features = np.zeros((chosen.shape[0], chosen.shape[1], NUM_FEATURES), dtype=np.float32)
    for task in prange(-(-ids.size // _NODES_PER_TASK)):
        near, near_nodes = np.zeros((2, num_nodes)), np.empty((2, num_nodes), dtype=np.int32)
        far, far_nodes = np.zeros((2, num_nodes)), np.empty((2, num_nodes), dtype=np.int32)
        sums, taken = np.empty((PATH_KINDS, num_nodes)), ~allowed
        heap = np.empty((1, num_best)), np.empty((1, num_best), dtype=np.int32)
        start = task * _NODES_PER_TASK
        for i in range(start, min(start + _NODES_PER_TASK, ids.size)):
            node, count = ids[i], 0
            ends = walk_from(three_paths, 3, node, near, near_nodes, sums[0])
            near[1][ends] = 0.0
            # The last step, which reaches most nodes, is taken backwards from the candidates.
            near_ends = walk_from(even_paths, 2, node, near, near_nodes, sums[1])
            far_ends = walk_from(walks, last, node, far, far_nodes, sums[2])
            for candidate in chosen[i]:
                if candidate >= 0:
                    chosen[i, count] = candidate
                    count += 1
            if num_best > 0:
                count = _add_candidates(sums, known, node, allowed, taken, heap, chosen[i], count)
            chosen[i, count:] = -1
            for j in range(count):
                candidate = chosen[i, j]
                features[i, j, 0] = sums[0, candidate]
                features[i, j, 1] = last_step(even_paths, near[0], candidate)
                longest = last_step(walks, far[last % 2], candidate)
                features[i, j, 2] = sums[2, candidate] + longest
                is_returned = find_edge(rows[0], rows[1], candidate, node) >= 0
                features[i, j, PATH_KINDS] = 1.0 if is_returned else 0.0
                product = np.float32(0.0)
                for d in range(queries.shape[1]):
                    product += queries[i, d] * others[candidate, d]
                features[i, j, PATH_KINDS + 1] = product
            near[0][near_ends], far[last % 2][far_ends] = 0.0, 0.0
    return features
