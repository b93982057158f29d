"""The matrices of a graph and their leading vectors, for the methods that factorise."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.methods.subspace import leading_subspace

# Up to this size, or four times the vectors asked for, a dense solver is as quick, and exact.
_DENSE_NODES = 256
# Enough where vectors are only a start.
ITERATIONS = 4
_ROWS_AT_ONCE = 1 << 16


def adjacency(graph: Graph) -> Any:
    """Return the sparse adjacency, (num_nodes, num_nodes) float64, rows are sources."""
    from scipy.sparse import csr_array

    data = np.ones(graph.indices.size) if graph.weights is None else graph.weights.astype(float)
    shape = (graph.num_nodes, graph.num_nodes)
    # Copies, as scipy may sort or narrow what it is given.
    return csr_array((data, graph.indices.copy(), graph.indptr.copy()), shape=shape)


def undirected_adjacency(graph: Graph) -> Any:
    """Return the symmetric adjacency in which every edge runs both ways."""
    matrix = adjacency(graph)
    return matrix.maximum(matrix.T).tocsr() if graph.directed else matrix


def normalise(matrix: Any) -> Any:
    """Return each entry divided by the square roots of the sums of its row and its column."""
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    return scale(matrix, inverse_power(rows, 0.5), inverse_power(columns, 0.5))


def transitions(matrix: Any) -> Any:
    """Return the rows divided by their sums; a row of zeros stays one."""
    return scale(matrix, inverse_power(matrix.sum(axis=1), 1.0), np.ones(matrix.shape[1]))


def inverse_power(sums: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Return sums ** -exponent, and 0 where a sum is 0."""
    powers: NDArray[np.float64] = np.zeros_like(sums, dtype=np.float64)
    np.power(sums, -exponent, out=powers, where=sums > 0)
    return powers


def scale(matrix: Any, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Any:
    """Return the sparse matrix with its rows and its columns multiplied."""
    from scipy.sparse import diags_array

    return (diags_array(rows) @ matrix @ diags_array(columns)).tocsr()


def leading_eigenpairs(
    operator: Any, count: int, seed: int, *, largest: Literal["signed", "absolute"] = "signed"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a symmetric operator, descending, and their vectors.

    Args:
        operator: anything scipy takes for an (n, n) matrix.
        largest: whether -3 comes after 2 or before it.

    Returns:
        (count,) and (n, count); zeros beyond the n-th.
    """
    from scipy.sparse.linalg import aslinearoperator, eigsh

    operator = aslinearoperator(operator)
    num_nodes = operator.shape[0]
    start = np.random.default_rng(seed).standard_normal(num_nodes)
    if num_nodes <= max(_DENSE_NODES, 4 * count):
        values, vectors = np.linalg.eigh(operator @ np.eye(num_nodes))
    elif not (operator @ start).any():
        values, vectors = np.zeros(0), np.zeros((num_nodes, 0))
    else:
        values, vectors = eigsh(
            operator, k=count, which="LA" if largest == "signed" else "LM", v0=start
        )
    order = np.argsort(-(values if largest == "signed" else np.abs(values)))[:count]
    return _pad(values[order], count), _pad(vectors[:, order], count)


def leading_singular_vectors(
    operator: Any, count: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the left vectors, the largest singular values, descending, and the right vectors.

    Args:
        operator: anything scipy takes for an (n, n) matrix.

    Returns:
        (n, count), (count,) and (n, count); zeros beyond the n-th.
    """
    from scipy.sparse.linalg import aslinearoperator, svds

    operator = aslinearoperator(operator)
    num_nodes = operator.shape[0]
    start = np.random.default_rng(seed).standard_normal(num_nodes)
    if num_nodes <= max(_DENSE_NODES, 4 * count):
        left, values, right = np.linalg.svd(operator @ np.eye(num_nodes))
    elif not (operator @ start).any():
        left, values, right = np.zeros((num_nodes, 0)), np.zeros(0), np.zeros((0, num_nodes))
    else:
        left, values, right = svds(operator, k=count, v0=start)
    order = np.argsort(-values)[:count]
    return (
        _pad(left[:, order], count),
        _pad(values[order], count),
        _pad(right[order].T, count),
    )


def source_and_target(
    operator: Any, dim: int, seed: int, *, power: float = 1.0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return vectors, (n, dim / 2) each, whose products approximate U S^power V^T of the operator.

    Both sides get the same share of the singular values S.
    """
    left, values, right = leading_singular_vectors(operator, dim // 2, seed)
    shares = values ** (power / 2)
    return (left * shares).astype(np.float32), (right * shares).astype(np.float32)


def spectral_rows(graph: Graph, columns: int, seed: int) -> NDArray[np.float32]:
    """Return where nodes stand in a graph, as rows to start a training from: (n, columns).

    The leading singular vectors of the normalised adjacency, of both sides where edges have a
    direction, with rows of norm 1; then logarithms of degrees. Random numbers of their size fill
    what is left on small graphs.
    """
    sums, _ = _strengths(graph)
    matrix = regularised(graph, 1.0)
    sides = 2 if graph.directed else 1
    count = min((columns - sides) // sides, graph.num_nodes)
    spread = columns**-0.5
    rng = np.random.default_rng(seed)
    rows = np.empty((graph.num_nodes, columns), dtype=np.float32)
    for first in range(0, graph.num_nodes, _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        some[:] = rng.normal(scale=spread, size=some.shape)
    if count < 1:
        return rows
    left, values, right = leading_subspace(matrix, count, ITERATIONS, rng)
    for side, vectors in enumerate((left, right)[:sides]):
        np.multiply(vectors, values, out=rows[:, side * count : (side + 1) * count])
    for first in range(0, graph.num_nodes, _ROWS_AT_ONCE):
        places = rows[first : first + _ROWS_AT_ONCE, : sides * count]
        lengths = np.linalg.norm(places, axis=1, keepdims=True)
        np.divide(places, lengths, where=lengths > 0, out=places)
    for side in range(sides):
        degrees = np.log1p(sums[side])
        rows[:, -1 - side] = spread * (degrees - degrees.mean()) / (degrees.std() or 1.0)
    return rows


def regularised(graph: Graph, share: float) -> Any:
    """Return the normalised adjacency in float32, with a share of the mean degree added to degrees.

    Then leading vectors are about the graph as a whole: otherwise they are about pairs and
    triangles that hang on it by a single edge.
    """
    sums, total = _strengths(graph)
    more = share * total / graph.num_nodes
    return _scaled(graph, *(inverse_power(side + more, 0.5) for side in sums))


def _strengths(graph: Graph) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], float]:
    """Return the sums of the rows and of the columns of the adjacency, and of all of it."""
    if graph.weights is None:
        sums = (graph.out_degrees.astype(np.float64), graph.in_degrees.astype(np.float64))
        return sums, float(graph.indices.size)
    matrix = adjacency(graph)
    return (matrix.sum(axis=1), matrix.sum(axis=0)), float(matrix.sum())


def _scaled(graph: Graph, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Any:
    """Return the adjacency in float32, multiplied as by `scale`, with no copy of the graph."""
    from scipy.sparse import csr_array

    # In numpy: where vectors take a moment, loading a compiled kernel would take half of it.
    data = np.empty(graph.indices.size, dtype=np.float32)
    for first in range(0, graph.num_nodes, _ROWS_AT_ONCE):
        starts = graph.indptr[first : first + _ROWS_AT_ONCE + 1]
        some = slice(starts[0], starts[-1])
        entries = np.repeat(rows[first : first + _ROWS_AT_ONCE], np.diff(starts))
        if graph.weights is not None:
            entries *= graph.weights[some]
        np.multiply(entries, columns[graph.indices[some]], out=data[some], casting="same_kind")
    # With int64 row starts, scipy would copy the targets into int64 too.
    narrow = graph.indices.size <= np.iinfo(np.int32).max
    indptr = graph.indptr.astype(np.int32) if narrow else graph.indptr
    return csr_array((data, graph.indices, indptr), shape=(graph.num_nodes,) * 2)


def evened(vectors: NDArray[np.float32], power: float) -> NDArray[np.float32]:
    """Return the vectors divided by a power of their lengths; one of zeros stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    quotients: NDArray[np.float32] = vectors / lengths**power
    return quotients


def _pad(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the array with its last axis filled up by zeros."""
    missing = count - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])


def refuse_above(max_nodes: int, graph: Graph, what: str) -> None:
    """Raise a ValueError where a dense num_nodes x num_nodes matrix would be too large.

    Args:
        what: the method and its verb, as in "NetMF factorises".
    """
    if graph.num_nodes > max_nodes:
        gigabytes = 4 * graph.num_nodes**2 / 1e9
        raise ValueError(
            f"expected at most {max_nodes:,} nodes, got {graph.num_nodes:,}: {what} a dense "
            f"matrix of nodes by nodes, here {gigabytes:,.1f} GB; raise max_nodes if that fits"
        )
