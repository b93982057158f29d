"""Vectors searched tile by tile: the layout the kernels read, and the best of all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import Scores


def as_tiles(vectors: Scores, width: int) -> Scores:
    """Return vectors as columns of tiles, as the kernels read them: (t, d, width)."""
    padded = padded_vectors(vectors, width)
    return np.ascontiguousarray(padded.reshape(-1, width, padded.shape[1]).transpose(0, 2, 1))


def padded_vectors(vectors: Scores, rows: int = 1) -> Scores:
    """Return vectors with zeros up to a multiple of `rows` rows and of 4 coordinates."""
    return np.pad(vectors, [(0, -len(vectors) % rows), (0, -vectors.shape[1] % 4)])


def empty_heaps(num_rows: int, k: int) -> tuple[NDArray[np.int32], Scores]:
    """Return the ids and scores from which the kernels start: -1 and -inf, (num_rows, k)."""
    ids = np.full((num_rows, k), -1, dtype=np.int32)
    return ids, np.full((num_rows, k), -np.inf, dtype=np.float32)


def best_first(ids: NDArray[np.int32], scores: Scores, k: int) -> tuple[NDArray[np.int32], Scores]:
    """Return heaps in order, best first, then lower ids first, with -1 and -inf up to k columns."""
    order = np.lexsort((ids, -scores))
    missing = ((0, 0), (0, k - ids.shape[1]))
    return (
        np.pad(np.take_along_axis(ids, order, axis=1), missing, constant_values=-1),
        np.pad(np.take_along_axis(scores, order, axis=1), missing, constant_values=-np.inf),
    )


def best_vectors(queries: Scores, vectors: Scores, k: int) -> tuple[NDArray[np.int32], Scores]:
    """Return the rows of `vectors` with the largest inner products, and these, best first.

    Returns:
        (q, k) int32 and float32; -1 and -inf where there are fewer vectors.
    """
    from arcvec.kernels.topk import TILE, keep_best

    best, scores = empty_heaps(len(queries), min(k, len(vectors)))
    nobody = np.full(len(queries), -1)  # queries are no nodes, and know none
    nothing = np.zeros(2, dtype=np.int64), np.empty(0, dtype=np.int32)
    tiles = as_tiles(vectors, TILE)
    rows = np.arange(len(vectors), dtype=np.int32)
    keep_best(padded_vectors(queries), nobody, tiles, rows, *nothing, scores, best)
    return best_first(best, scores, k)
