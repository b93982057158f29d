"""Weakly connected components: the parts of a graph that no edge joins, directions apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph


def components(graph: Graph) -> NDArray[np.int32]:
    """Return the number of the component of each node: (num_nodes,) int32, counted from 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if graph.num_nodes == 0:
        return np.empty(0, dtype=np.int32)
    # Only the positions count; a byte an entry is the smallest matrix scipy takes.
    ones = np.ones(graph.indices.size, dtype=np.int8)
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = csr_array((ones, graph.indices, graph.indptr), shape=shape)
    labels: NDArray[np.int32] = connected_components(matrix, connection="weak")[1]
    return labels


def largest_component(graph: Graph) -> Graph:
    """Return the component with the most nodes, in their order; the graph itself if connected.

    Of several largest components, the one with the smallest node id is kept. A graph without
    nodes is returned as it is.

    >>> largest_component(Graph.from_edges([0, 1, 3], [1, 2, 4]))
    Graph(3 nodes, 2 edges, directed, unweighted)
    """
    labels = components(graph)
    if labels.size == 0:
        return graph
    size_of_component = np.bincount(labels)[labels]  # (num_nodes,)
    kept = np.flatnonzero(labels == labels[size_of_component.argmax()])
    return graph if kept.size == graph.num_nodes else graph.subgraph(kept)
