"""Weighted sums over paths, from one source at a time along the rows of an adjacency.

Both kernels take `arriving`, (n,) float64, and `paths`, a tuple of
    indptr, indices and float32 weights (none if all are 1) of the adjacency,
    the same of its transpose,
    backward: (k,) bool, whether step i follows a row of the transpose,
    leaving: (k, n) float64, not negative,
    step_weights: (k,) float64.

The weight of a path is the product over its steps of the edge weight and `leaving[i]` of the node
left, times `step_weights` of its last step and `arriving` of the node where it ends.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_SOURCES_PER_TASK = 16


@njit(cache=True)
def push(rows, reached, nodes, next_reached, next_nodes):
    """Move what has reached some nodes one step on; return how many nodes come next."""
    indptr, indices, weights = rows
    num_next = 0
    for node in nodes:
        value = reached[node]
        reached[node] = 0.0
        if value == 0.0:
            continue
        for entry in range(indptr[node], indptr[node + 1]):
            added = value * weights[entry] if weights.size else value
            if added == 0.0:  # an underflow, after which a node would be listed twice
                continue
            target = indices[entry]
            if next_reached[target] == 0.0:
                next_nodes[num_next] = target
                num_next += 1
            next_reached[target] += added
    return num_next


@njit(cache=True)
def walk_from(paths, num_steps, source, reached, nodes, sums):
    """Set `sums` to those of the first steps from a source, and return the nodes at their end.

    What has reached these is in `reached[num_steps % 2]`, times `leaving` of the next step if there
    is one. The rest of `reached`, (2, n), is 0 before and after.
    """
    backward, leaving, step_weights = paths[6:9]
    sums[:] = 0.0
    reached[0, source] = leaving[0, source]
    nodes[0, 0] = source
    count = 1
    for step in range(num_steps):
        here, there = step % 2, (step + 1) % 2
        rows = paths[3:6] if backward[step] else paths[0:3]
        left = nodes[here, :count]
        count = push(rows, reached[here], left, reached[there], nodes[there])
        for node in nodes[there, :count]:
            sums[node] += step_weights[step] * reached[there, node]
            if step + 1 < leaving.shape[0]:
                reached[there, node] *= leaving[step + 1, node]
    return nodes[num_steps % 2, :count]


@njit(cache=True)
def last_step(paths, reached, target):
    """Return the sum over paths that end at a target, from what `walk_from` left in `reached`."""
    last = paths[7].shape[0] - 1
    indptr, indices, weights = paths[0:3] if paths[6][last] else paths[3:6]
    total = 0.0
    for entry in range(indptr[target], indptr[target + 1]):
        value = reached[indices[entry]]
        total += value * weights[entry] if weights.size else value
    return paths[8][last] * total


@njit(cache=True, parallel=True)
def path_sums_of_all(paths, arriving, sources):
    """Return the sum over the paths from each source to every node: (s, n) float32."""
    num_nodes, num_steps = arriving.size, paths[7].shape[0]
    scores = np.empty((sources.size, num_nodes), dtype=np.float32)
    for task in prange(-(-sources.size // _SOURCES_PER_TASK)):
        reached, nodes = np.zeros((2, num_nodes)), np.empty((2, num_nodes), dtype=np.int32)
        sums = np.empty(num_nodes)
        first = task * _SOURCES_PER_TASK
        for i in range(first, min(first + _SOURCES_PER_TASK, sources.size)):
            ends = walk_from(paths, num_steps, sources[i], reached, nodes, sums)
            reached[num_steps % 2][ends] = 0.0
            scores[i] = sums * arriving
    return scores


@njit(cache=True, parallel=True)
def path_sums_of_pairs(paths, arriving, sources, first_target, targets):
    """Return the sum over the paths from sources to some targets each: (p,) float32.

    The last step, which reaches most nodes, is taken backwards from the targets; those of a source
    are between two values of `first_target`, (s + 1,).
    """
    num_nodes, last = arriving.size, paths[7].shape[0] - 1
    scores = np.empty(targets.size, dtype=np.float32)
    for task in prange(-(-sources.size // _SOURCES_PER_TASK)):
        reached, nodes = np.zeros((2, num_nodes)), np.empty((2, num_nodes), dtype=np.int32)
        sums = np.empty(num_nodes)
        first = task * _SOURCES_PER_TASK
        for i in range(first, min(first + _SOURCES_PER_TASK, sources.size)):
            ends = walk_from(paths, last, sources[i], reached, nodes, sums)
            for j in range(first_target[i], first_target[i + 1]):
                target = targets[j]
                total = sums[target] + last_step(paths, reached[last % 2], target)
                scores[j] = total * arriving[target]
            reached[last % 2][ends] = 0.0
    return scores
