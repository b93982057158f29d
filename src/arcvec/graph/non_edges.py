"""Non-edges of a graph, drawn uniformly and without repeats."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph

EdgeArray: TypeAlias = NDArray[np.int32]
"""(m, 2) int32: source and target of each edge or non-edge."""


def draw_non_edges(graph: Graph, count: int, generator: np.random.Generator) -> EdgeArray:
    """Return `count` non-edges in random order, or all of them where there are fewer.

    A node with itself is never a non-edge. Undirected: each unordered pair is one non-edge, given
    with source < target. Directed: u -> v and v -> u are two, either may be drawn.
    """
    num_nodes = graph.num_nodes  # a pair is coded as source * num_nodes + target
    num_pairs = num_nodes * (num_nodes - 1) // (1 if graph.directed else 2)
    # Past this density rejection would draw in vain; below it, at least one draw in two succeeds.
    if num_pairs <= 4 * (graph.num_edges + count):
        codes = generator.permutation(_all_non_edges(graph))[:count]
    else:
        codes = _draw_by_rejection(graph, count, generator)
    return np.stack(np.divmod(codes, max(1, num_nodes)), axis=1).astype(np.int32)


def reversed_one_way_edges(graph: Graph) -> EdgeArray:
    """Return v -> u for every edge u -> v without it: the non-edges that tell direction."""
    return turned_round(graph, np.flatnonzero(~graph.is_returned))


def turned_round(graph: Graph, entries: NDArray[np.int64]) -> EdgeArray:
    """Return the reverse of some entries of `graph.indices`: (p, 2)."""
    from arcvec.kernels.edges import sources_of_entries

    sources: NDArray[np.int32] = sources_of_entries(graph.indptr, entries)
    return np.stack([graph.indices[entries], sources], axis=1)


def _all_non_edges(graph: Graph) -> NDArray[np.int64]:
    # Only for dense graphs: the square is then of the order of the number of edges.
    free = np.ones((graph.num_nodes, graph.num_nodes), dtype=np.bool_)
    np.fill_diagonal(free, False)
    free[graph.row_of_entry, graph.indices] = False
    return np.flatnonzero(free if graph.directed else np.triu(free))


def _draw_by_rejection(
    graph: Graph, count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        size = (count - drawn.size) * 5 // 4 + 16
        sources = generator.integers(graph.num_nodes, size=size)
        targets = generator.integers(graph.num_nodes - 1, size=size)
        targets += targets >= sources  # skips the source: all other nodes equally likely
        if not graph.directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        free = ~graph.has_edges(sources, targets)
        drawn = np.concatenate([drawn, sources[free] * graph.num_nodes + targets[free]])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]  # in the order drawn, so that cutting the end is fair
    return drawn[:count]
