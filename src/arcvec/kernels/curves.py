"""Areas under curves, by sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK_NEGATIVES = 1 << 22
"""Negatives sorted at once."""

Scores = NDArray[np.floating]


def roc_auc(positive: Scores, negative: Scores) -> float:
    """Return the chance that a positive scores above a negative, ties counting one half.

    >>> roc_auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    below, not_above = negatives_beside(np.sort(positive), negative)
    num_pairs = positive.size * negative.size
    return (int(below.sum()) + int(not_above.sum())) / (2 * num_pairs) if num_pairs else np.nan


def average_precision(positive: Scores, negative: Scores) -> float:
    """Return the mean of the precision at each positive; depends on how many negatives there are.

    >>> average_precision(np.array([3.0, 1.0]), np.array([2.0]))
    0.8333333333333333
    """
    ascending = np.sort(positive)
    below, _ = negatives_beside(ascending, negative)
    # Of equal positives all are taken at once.
    num_true = positive.size - np.searchsorted(ascending, ascending, side="left")
    num_false = negative.size - below
    return float((num_true / (num_true + num_false)).mean())


def negatives_beside(
    ascending: Scores, negative: Scores
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many negatives score below each positive, and how many not above it.

    Counted block by block: whole numbers, which no order of the blocks changes.

    Args:
        ascending: scores of the positives, sorted, so that each block is gone through in its order.
    """
    below, not_above = np.zeros((2, ascending.size), dtype=np.int64)
    for first in range(0, negative.size, BLOCK_NEGATIVES):
        block = np.sort(negative[first : first + BLOCK_NEGATIVES])
        below += np.searchsorted(block, ascending, side="left")
        not_above += np.searchsorted(block, ascending, side="right")
    return below, not_above
