"""Leading singular vectors of a large sparse matrix, in the memory of two blocks of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.methods.mean_score import products, root

_ROWS_AT_ONCE = 1 << 16
# Vectors beside those asked for: the last ones of a block are the least exact.
MORE = 10


def leading_subspace(
    matrix: Any, count: int, iterations: int, generator: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return about the left vectors, the largest singular values, descending, and the right ones.

    A random block is multiplied by the matrix and its transpose in turn, which brings out the
    leading vectors, and made orthonormal in between.

    Args:
        matrix: sparse, (n, n) float32.
        iterations: multiplications by both.

    Returns:
        (n, count), (count,) and (n, count); vectors are 0 where singular values are.
    """
    left = generator.standard_normal((matrix.shape[1], count + MORE), dtype=np.float32)
    left = matrix @ left
    for _ in range(iterations):
        _make_orthonormal(left)
        left = matrix.T @ left
        _make_orthonormal(left)
        left = matrix @ left
    _make_orthonormal(left)
    right = matrix.T @ left
    # Of right = V S W^T, W turns both blocks to the singular vectors, in the order of S.
    values, turn = np.linalg.eigh(root(products(right))[0])
    values, turn = values[: -count - 1 : -1], turn[:, : -count - 1 : -1]
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 1e-6 * values[0])
    left, right = _turn(left, turn), _turn(right, turn * inverse)
    return left, values.astype(np.float32), right


def _make_orthonormal(vectors: NDArray[np.float32]) -> None:
    """Turn columns in place into orthonormal ones that span the same; to 0 what is no direction."""
    _turn(vectors, root(products(vectors))[1])


def _turn(vectors: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the vectors times a matrix of no more columns, written over them."""
    turned, matrix = vectors[:, : matrix.shape[1]], matrix.astype(np.float32)
    for first in range(0, len(vectors), _ROWS_AT_ONCE):
        some = slice(first, first + _ROWS_AT_ONCE)
        turned[some] = vectors[some] @ matrix
    return turned
