"""Pairs of nodes that lie close together in walks."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, inline="always")
def _is_pair(walks, i, a, b, alternating, self_pairs):
    """Tell whether positions a (source) and b (target) of walk i make a pair."""
    if a == b or walks[i, a] < 0 or walks[i, b] < 0:
        return False
    if alternating and (a % 2 == 1 or b % 2 == 0):
        return False
    return self_pairs or walks[i, a] != walks[i, b]


@njit(cache=True, nogil=True, parallel=True)
def window_pairs(walks, left, right, alternating, self_pairs):
    """Return all pairs (source, target) within a window, walk by walk (the paper's Eq. 9).

    Args:
        walks: (w, length) int32, -1 where a walk ended.
        left, right: how far before and after the source a target may lie.
        alternating: take only even positions as sources and odd ones as targets.
        self_pairs: keep pairs whose two nodes are the same.

    Returns:
        sources and targets, each (p,) int32.
    """
    num_walks, length = walks.shape
    counts = np.zeros(num_walks + 1, dtype=np.int64)
    for i in prange(num_walks):
        for a in range(length):
            for b in range(max(0, a - left), min(length, a + right + 1)):
                if _is_pair(walks, i, a, b, alternating, self_pairs):
                    counts[i + 1] += 1
    offsets = np.cumsum(counts)
    sources = np.empty(offsets[-1], dtype=np.int32)
    targets = np.empty(offsets[-1], dtype=np.int32)
    for i in prange(num_walks):
        k = offsets[i]
        for a in range(length):
            for b in range(max(0, a - left), min(length, a + right + 1)):
                if _is_pair(walks, i, a, b, alternating, self_pairs):
                    sources[k] = walks[i, a]
                    targets[k] = walks[i, b]
                    k += 1
    return sources, targets
