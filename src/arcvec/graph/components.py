"""Weakly connected components, and the spanning forests that hold them together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.storage.arrays import blocks, open_binary, true_positions


def components(graph: Graph) -> NDArray[np.int32]:
    """Return the number of the component of each node: (num_nodes,) int32, counted from 0."""
    from scipy.sparse.csgraph import connected_components

    from arcvec.graph.matrices import sparse_matrix

    if graph.num_nodes == 0:
        return np.empty(0, dtype=np.int32)
    # Values do not matter; scipy takes no smaller type than int8.
    pattern = sparse_matrix(graph, np.ones(graph.indices.size, dtype=np.int8))
    labels: NDArray[np.int32] = connected_components(pattern, connection="weak")[1]
    return labels


def largest_component(graph: Graph) -> Graph:
    """Return the component with the most nodes, in their order; the graph itself if connected.

    Among equally large components, the one with the smallest node id is returned.

    >>> largest_component(Graph.from_edges([0, 1, 3], [1, 2, 4]))
    Graph(3 nodes, 2 edges, directed, unweighted)
    """
    labels = components(graph)
    if labels.size == 0:
        return graph
    kept = np.flatnonzero(labels == labels[np.bincount(labels)[labels].argmax()])
    return graph if kept.size == graph.num_nodes else graph.subgraph(kept)


def random_forest(
    graph: Graph, generator: np.random.Generator, folder: Path | None
) -> NDArray[np.bool_]:
    """Return for each edge whether it is in a random spanning forest: (num_edges,) bool."""
    from arcvec.kernels.edges import grow_forest

    in_forest = np.zeros(graph.num_edges, dtype=np.bool_)
    order = shuffled_positions(~in_forest, generator, folder)
    parents = np.arange(graph.num_nodes, dtype=np.int32)
    sizes = np.ones(graph.num_nodes, dtype=np.int32)
    for block in blocks(order.size):
        sources, targets = graph.edges_at(order[block])
        in_forest[order[block]] = grow_forest(parents, sizes, sources, targets)
    return in_forest


def shuffled_positions(
    mask: NDArray[np.bool_], generator: np.random.Generator, folder: Path | None = None
) -> NDArray[Any]:
    """Return `generator.permutation(np.flatnonzero(mask))`, in half the bytes, or in a file."""
    dtype = np.uint32 if mask.size <= np.iinfo(np.uint32).max else np.int64
    count, start = int(np.count_nonzero(mask)), 0
    if folder is None:
        shuffled = np.empty(count, dtype)
    else:  # numpy maps no empty file
        shuffled = np.memmap(open_binary(folder), dtype, "w+", shape=max(1, count))[:count]
    for found in true_positions(mask):
        shuffled[start : start + found.size] = found
        start += found.size
    generator.shuffle(np.asarray(shuffled))  # a memmap would take a hundred times as long
    return shuffled
