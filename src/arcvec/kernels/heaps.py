"""The arrays in which kernels collect the best k, one heap per row."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

BestEdges: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""(q, k) ids and scores, best first; -1 and -inf where there are fewer candidates."""


def empty_heaps(num_rows: int, k: int) -> BestEdges:
    """Return the ids and scores from which the kernels start: -1 and -inf, (num_rows, k)."""
    ids = np.full((num_rows, k), -1, dtype=np.int32)
    return ids, np.full((num_rows, k), -np.inf, dtype=np.float32)


def best_first(ids: NDArray[np.int32], scores: NDArray[np.float32], k: int) -> BestEdges:
    """Return heaps in order, best first, then lower ids first, with -1 and -inf up to k columns."""
    order = np.lexsort((ids, -scores))
    missing = ((0, 0), (0, k - ids.shape[1]))
    return (
        np.pad(np.take_along_axis(ids, order, axis=1), missing, constant_values=-1),
        np.pad(np.take_along_axis(scores, order, axis=1), missing, constant_values=-np.inf),
    )
