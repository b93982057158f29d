"""A graph as a sparse matrix, and the usual ways to scale it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from arcvec.graph.graph import Graph
from arcvec.storage.arrays import blocks


def sparse_matrix(graph: Graph, values: NDArray[Any]) -> Any:
    """Return the sparse matrix with a value for each entry of a graph, whose arrays it shares."""
    # With int64 row starts, scipy would copy the targets into int64 too.
    narrow = graph.indices.size <= np.iinfo(np.int32).max
    indptr = graph.indptr.astype(np.int32) if narrow else graph.indptr
    return csr_array((values, graph.indices, indptr), shape=(graph.num_nodes,) * 2)


def adjacency(graph: Graph) -> Any:
    """Return the sparse adjacency, (num_nodes, num_nodes) float64, rows are sources."""
    weights = np.ones(graph.indices.size) if graph.weights is None else graph.weights.astype(float)
    return sparse_matrix(graph, weights)


def undirected_adjacency(graph: Graph) -> Any:
    """Return the symmetric adjacency in which every edge runs both ways."""
    matrix = adjacency(graph)
    return matrix.maximum(matrix.T).tocsr() if graph.directed else matrix


def normalise(matrix: Any) -> Any:
    """Return each entry divided by the square roots of the sums of its row and its column."""
    rows, columns = (inverse_power(matrix.sum(axis=axis), 0.5) for axis in (1, 0))
    return _scale(matrix, rows, columns)


def transitions(matrix: Any) -> Any:
    """Return the rows divided by their sums; a row of zeros stays zero."""
    return _scale(matrix, inverse_power(matrix.sum(axis=1), 1.0), np.ones(matrix.shape[1]))


def _scale(matrix: Any, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Any:
    return (diags_array(rows) @ matrix @ diags_array(columns)).tocsr()


def inverse_power(sums: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Return sums ** -exponent, and 0 where a sum is 0."""
    powers: NDArray[np.float64] = np.zeros_like(sums, dtype=np.float64)
    np.power(sums, -exponent, out=powers, where=sums > 0)
    return powers


def regularised(graph: Graph, share: float) -> Any:
    """Return the normalised adjacency in float32, with a share of the mean degree added to degrees.

    Without it, leading vectors describe pairs and triangles that hang on the graph by one edge.
    """
    sums, total = strengths(graph)
    more = share * total / graph.num_nodes
    rows, columns = (inverse_power(side + more, 0.5) for side in sums)
    # As `normalise` does, but block by block and without a copy of the graph.
    values = np.empty(graph.indices.size, dtype=np.float32)
    for block in blocks(graph.num_nodes):
        starts = graph.indptr[block.start : block.stop + 1]
        some = slice(starts[0], starts[-1])
        entries = np.repeat(rows[block], np.diff(starts))
        if graph.weights is not None:
            entries *= graph.weights[some]
        np.multiply(entries, columns[graph.indices[some]], out=values[some], casting="same_kind")
    return sparse_matrix(graph, values)


def strengths(graph: Graph) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], float]:
    """Return the sums of the rows and of the columns of the adjacency, and of all of it."""
    if graph.weights is None:
        sums = (graph.out_degrees.astype(np.float64), graph.in_degrees.astype(np.float64))
        return sums, float(graph.indices.size)
    matrix = adjacency(graph)
    return (matrix.sum(axis=1), matrix.sum(axis=0)), float(matrix.sum())


def refuse_above(max_nodes: int, graph: Graph, what: str) -> None:
    """Raise a ValueError if a dense matrix would be too large for what "NetMF factorises"."""
    if graph.num_nodes > max_nodes:
        gigabytes = 4 * graph.num_nodes**2 / 1e9
        raise ValueError(
            f"expected at most {max_nodes:,} nodes, got {graph.num_nodes:,}: {what} a dense "
            f"matrix of nodes by nodes, here {gigabytes:,.1f} GB; raise max_nodes if that fits"
        )
