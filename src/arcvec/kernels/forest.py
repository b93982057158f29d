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
def spanning_forest(sources, targets, order, num_nodes):
    """Mark the edges of a spanning forest: tried in the given order, kept if they join two parts.

    Args:
        sources, targets: (m,) ends of the edges, directions apart.
        order: (m,) in which order the edges are tried; a random one gives a random forest.

    Returns:
        (m,) bool. Self-loops and repeated edges join nothing, so at most the first is kept.
    """
    parents = np.arange(num_nodes)
    sizes = np.ones(num_nodes, dtype=np.int64)
    kept = np.zeros(sources.size, dtype=np.bool_)
    for edge in order:
        small, large = _root(parents, sources[edge]), _root(parents, targets[edge])
        if small == large:
            continue
        if sizes[small] > sizes[large]:
            small, large = large, small
        parents[small] = large
        sizes[large] += sizes[small]
        kept[edge] = True
    return kept
