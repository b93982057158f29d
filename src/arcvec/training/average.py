"""The sum of several scores as one inner product, with as few numbers per node as wanted.

Side by side, the vectors of all parts score the sum of what the parts score. Of all products of
shorter vectors, the ones returned here are nearest to it over all pairs of nodes, in the square
mean (a truncated singular value decomposition). Their first numbers count most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcvec.parallel.alone import Alone

if TYPE_CHECKING:
    from arcvec.model.sides import Sides

Vectors = NDArray[np.float32]
Matrix = NDArray[np.float64]


class Averaged(NamedTuple):
    """Vectors of this worker's nodes, whose score is a sum of scores.

    Attributes:
        arrays: "source" and "target"; or "vectors" that serve both sides.
        weights, columns: of these, see `WeightedRows`; else None.
    """

    arrays: dict[str, Vectors]
    weights: Vectors | None = None
    columns: NDArray[np.int64] | None = None


_ROWS_AT_ONCE = 1 << 16
_ALONE = Alone()
# Directions this much shorter than the longest one are noise of float32.
_SMALLEST = 1e-6
_SIDES = ("source", "target")


def average(
    parts: Sequence[Sides], weights: Sequence[float], dim: int, workers: Alone = _ALONE
) -> Averaged:
    """Return vectors that score the weighted sum of the parts, as near as dim numbers come to it.

    If one vector serves both sides of the first part alone, it stays as it is.

    Args:
        dim: numbers per node, both sides together.
    """
    has_scale = [part.scale is not None for part in parts]
    if has_scale[0] and not all(has_scale):
        return _side_by_side(parts[0], parts[1:], weights[1:], dim, workers)
    sources, targets = ([getattr(part, side).cpu().numpy() for part in parts] for side in _SIDES)
    scales = [
        np.full(part.target.shape[1], weight)
        if part.scale is None
        else weight * part.scale.numpy(force=True)
        for part, weight in zip(parts, weights, strict=True)
    ]
    one_vector = all(has_scale)
    width = targets[0].shape[1] * (1 if one_vector else 2)
    as_they_are = len(parts) == 1 and tuple(weights) == (1.0,) and width == dim
    if one_vector and as_they_are:
        # Vectors that carry the size of their weights: a norm says how much a node counts.
        vectors = targets[0] * np.sqrt(np.abs(scales[0]))
        return Averaged({"vectors": vectors}, np.sign(scales[0]))
    if as_they_are:
        return Averaged(dict(zip(_SIDES, (sources[0], targets[0]), strict=True)))
    if one_vector:
        vectors, signs = one_side(targets, scales, dim, workers)
        return Averaged({"vectors": vectors}, signs)
    sides = two_sides(sources, targets, scales, dim // 2, workers)
    return Averaged(dict(zip(_SIDES, sides, strict=True)))


def _side_by_side(
    shared: Sides, parts: Sequence[Sides], weights: Sequence[float], dim: int, workers: Alone
) -> Averaged:
    """Return vectors of which most numbers serve both sides, and the others one side of `parts`."""
    table, scale = shared.target.cpu().numpy(), shared.scale
    assert scale is not None
    num_shared = table.shape[1] // 2  # sums and differences of both sides, which are alike
    vectors, signs = one_side([table], [scale.numpy(force=True)], num_shared, workers)
    sources = [part.scaled_source.cpu().numpy() for part in parts]
    targets = [part.target.cpu().numpy() for part in parts]
    scales = [np.full(part.shape[1], one) for part, one in zip(sources, weights, strict=True)]
    each = (dim - num_shared) // 2
    sides = two_sides(sources, targets, scales, each, workers)
    both, first = np.arange(num_shared), num_shared + np.arange(each)
    return Averaged(
        {"vectors": np.concatenate([vectors, *sides], axis=1)},
        np.concatenate([signs, np.zeros(each), np.ones(each)]).astype(np.float32),
        np.concatenate([both, first + each, first]),
    )


def two_sides(
    sources: Sequence[Vectors],
    targets: Sequence[Vectors],
    weights: Sequence[NDArray[np.floating]],
    columns: int,
    workers: Alone = _ALONE,
) -> tuple[Vectors, Vectors]:
    """Return source and target vectors of `columns` numbers each.

    Args:
        weights: (b,) of the columns of each pair of tables.
    """
    sums = workers.sum(products(*sources)), workers.sum(products(*targets))

    def rotations() -> list[Any]:
        (source_root, source_inverse), (target_root, target_inverse) = map(root, sums)
        left, sizes, right = np.linalg.svd(source_root * np.concatenate(weights) @ target_root)
        spread = np.sqrt(sizes[:columns])
        by_source = source_inverse @ left[:, :columns] * spread
        by_target = target_inverse @ right[:columns].T * spread
        return [by_source.tolist(), by_target.tolist()]

    # Decided once: another kind of processor may give vectors another sign.
    by_source, by_target = workers.agree(rotations)
    return _rotated(sources, by_source), _rotated(targets, by_target)


def one_side(
    vectors: Sequence[Vectors],
    weights: Sequence[NDArray[np.floating]],
    columns: int,
    workers: Alone = _ALONE,
) -> tuple[Vectors, Vectors]:
    """Return vectors of `columns` numbers that serve both sides, and the sign of each column.

    Args:
        weights: (b,) of the columns of each table, of any sign.
    """
    sums = workers.sum(products(*vectors))

    def rotation_and_signs() -> list[Any]:
        side, inverse = root(sums)
        sizes, directions = np.linalg.eigh(side * np.concatenate(weights) @ side)
        largest = np.argsort(-np.abs(sizes), kind="stable")[:columns]
        spread = np.sqrt(np.abs(sizes[largest]))
        rotation = inverse @ directions[:, largest] * spread
        return [rotation.tolist(), np.where(sizes[largest] < 0, -1, 1).tolist()]

    rotation, signs = workers.agree(rotation_and_signs)
    return _rotated(vectors, rotation), np.array(signs, dtype=np.float32)


def products(*tables: Vectors) -> Matrix:
    """Return the inner products of all columns, of tables side by side, with each other."""
    width = sum(table.shape[1] for table in tables)
    sums = np.zeros((width, width))
    for some in chunks(len(tables[0])):
        numbers = np.concatenate([table[some] for table in tables], axis=1).astype(np.float64)
        sums += numbers.T @ numbers
    return sums


def chunks(length: int) -> Iterator[slice]:
    """Yield slices of rows that are few enough to be copied."""
    for first in range(0, length, _ROWS_AT_ONCE):
        yield slice(first, min(first + _ROWS_AT_ONCE, length))


def root(column_products: Matrix) -> tuple[Matrix, Matrix]:
    """Return the square root of the columns' inner products, and its (pseudo-)inverse."""
    squares, directions = np.linalg.eigh(column_products)
    lengths = np.sqrt(np.maximum(squares, 0))
    real = lengths > _SMALLEST * lengths.max(initial=0)
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=real)
    return directions * lengths @ directions.T, directions * inverse @ directions.T


def _rotated(tables: Sequence[Vectors], matrix: list[list[float]]) -> Vectors:
    rotation = np.array(matrix, dtype=np.float32)
    rotated = np.empty((len(tables[0]), rotation.shape[1]), dtype=np.float32)
    for some in chunks(len(rotated)):
        rows = np.concatenate([table[some] for table in tables], axis=1)
        np.matmul(rows, rotation, out=rotated[some])
    return rotated
