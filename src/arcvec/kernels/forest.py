"""Spanning forests by union-find: the edges that hold a graph together."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _root(parents, node):
    while parents[node] != node:
        # Path halving: every other node on the way now points to its grandparent.
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True)
def grow_forest(parents, sizes, sources, targets):
    """Mark the edges that a spanning forest takes: tried in order, kept if they join two parts.

    Edges may come in several calls; in a random order they give a random forest.

    Args:
        parents, sizes: (n,) int32, the parts so far, changed in place; at first 0..n - 1 and ones,
            every node a part of its own.
        sources, targets: (m,) ends of the edges, directions apart.

    Returns:
        (m,) bool. Self-loops and repeated edges join nothing, so at most the first is kept.
    """
    kept = np.zeros(sources.size, dtype=np.bool_)
    for edge in range(sources.size):
        small, large = _root(parents, sources[edge]), _root(parents, targets[edge])
        if small == large:
            continue
        if sizes[small] > sizes[large]:
            small, large = large, small
        parents[small] = large
        sizes[large] += sizes[small]
        kept[edge] = True
    return kept
