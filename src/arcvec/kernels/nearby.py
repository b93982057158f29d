"""The nodes that short walks from each node reach most often."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.paths import push

_SOURCES_PER_TASK = 64


@njit(cache=True)
def _share_out(strengths, tolerance, reached, nodes):
    """Divide what has reached some nodes by their strengths; drop what is spread too thinly."""
    for node in nodes:
        share = reached[node] / strengths[node] if strengths[node] else 0.0
        reached[node] = share if share >= tolerance else 0.0


@njit(cache=True)
def _collect(source, sums, seen, found, shares):
    """Write the nodes with the largest sums, and their shares of all sums written; clear `sums`."""
    sums[source] = 0.0
    values = sums[seen]
    sums[seen] = 0.0
    total = 0.0
    order = np.argsort(-values, kind="mergesort")[: found.size]
    for i in range(order.size):
        value = values[order[i]]
        if value == 0.0:
            break
        found[i], shares[i] = seen[order[i]], value
        total += value
    if total:
        shares /= total


@njit(cache=True, parallel=True)
def nearest_by_walks(indptr, indices, weights, strengths, sources, settings):
    """Return the nodes that walks from each source come to most often, and how often.

    A walk of t steps counts continuation ** t: this is personalised PageRank, cut off after some
    steps. What would spread too thinly over the neighbours of a node is dropped.

    Args:
        weights: (m,) float32, none if all are 1; strengths: (n,) float64, their sums by row.
        settings: number of steps, continuation, smallest share of a walk to follow, nodes to keep.

    Returns:
        (s, k) int32 nodes, most often first, -1 if there are fewer; (s, k) float32 shares, which
        sum to 1. The source itself is left out.
    """
    num_steps, continuation, tolerance, k = settings
    rows, num_nodes = (indptr, indices, weights), indptr.size - 1
    found = np.full((sources.size, k), -1, dtype=np.int32)
    shares = np.zeros((sources.size, k), dtype=np.float32)
    for task in prange(-(-sources.size // _SOURCES_PER_TASK)):
        reached, nodes = np.zeros((2, num_nodes)), np.empty((2, num_nodes), dtype=np.int32)
        sums, seen = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
        first = task * _SOURCES_PER_TASK
        for i in range(first, min(first + _SOURCES_PER_TASK, sources.size)):
            nodes[0, 0], reached[0, sources[i]] = sources[i], 1.0
            count, num_seen, weight = 1, 0, 1.0
            for step in range(num_steps):
                here, there = step % 2, (step + 1) % 2
                left = nodes[here, :count]
                _share_out(strengths, tolerance, reached[here], left)
                count = push(rows, reached[here], left, reached[there], nodes[there])
                for node in nodes[there, :count]:
                    if sums[node] == 0.0:
                        seen[num_seen] = node
                        num_seen += 1
                    sums[node] += weight * reached[there, node]
                weight *= continuation
            reached[num_steps % 2][nodes[num_steps % 2, :count]] = 0.0
            _collect(sources[i], sums, seen[:num_seen], found[i], shares[i])
    return found, shares
