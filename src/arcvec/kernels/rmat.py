"""Edges of R-MAT graphs: each is decided by the seed and its number."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from arcvec.kernels.rng import draw_unit


@njit(cache=True, parallel=True)
def recursive_edges(scale, num_edges, a, b, c, seed):
    """Return edges that fall into quarter after quarter of an adjacency of 2^scale nodes.

    Args:
        a, b, c: chances of the upper left, upper right and lower left quarter.

    Returns:
        sources and targets, each (num_edges,) int32.
    """
    sources = np.empty(num_edges, dtype=np.int32)
    targets = np.empty(num_edges, dtype=np.int32)
    for i in prange(num_edges):
        source, target = 0, 0
        for level in range(scale):
            x = draw_unit(seed, i, level)
            lower = x >= a + b
            right = (a <= x < a + b) or x >= a + b + c
            source = 2 * source + lower
            target = 2 * target + right
        sources[i] = source
        targets[i] = target
    return sources, targets
