"""Areas under curves, by sorting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_NEGATIVES = 1 << 22
"""Negatives sorted at once."""

Scores = NDArray[np.floating]


class Areas(NamedTuple):
    """Areas under the two curves of positives against negatives.

    Attributes:
        auc: the chance that a positive scores above a negative, ties counting one half; NaN where
            there are none of either.
        average_precision: the mean of the precision at each positive, NaN where there are none; it
            depends on how many negatives there are.
    """

    auc: float
    average_precision: float

    @classmethod
    def of(cls, positive: Scores, negative: Scores) -> Areas:
        """Return the areas, given all scores.

        >>> Areas.of(np.array([3.0, 1.0]), np.array([2.0]))
        Areas(auc=0.5, average_precision=0.8333333333333333)
        """
        return cls.of_sums(positive.size, negative.size, *curve_sums(positive, negative))

    @classmethod
    def of_sums(
        cls, num_positive: int, num_negative: int, half_wins: int, precisions: float
    ) -> Areas:
        """Return the areas, given the sums over all positives that `curve_sums` returns."""
        num_pairs = num_positive * num_negative
        return cls(
            half_wins / (2 * num_pairs) if num_pairs else np.nan,
            precisions / num_positive if num_positive else np.nan,
        )


def roc_auc(positive: Scores, negative: Scores) -> float:
    """Return the chance that a positive scores above a negative, ties counting one half.

    >>> roc_auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    return Areas.of(positive, negative).auc


def curve_sums(
    positive: Scores,
    negative: Scores,
    *,
    num_above: tuple[int, int] = (0, 0),
    num_negatives_below: int = 0,
) -> tuple[int, float]:
    """Return what the positives of a range of scores add to the areas.

    Args:
        positive, negative: all the scores in the range.
        num_above: how many positives and how many negatives there are above the range.
        num_negatives_below: how many negatives there are below it.

    Returns:
        Twice the negatives below each positive and once those equal to it, summed; and the sum of
        the precision at each positive.
    """
    ascending = np.sort(positive)
    below, not_above = negatives_beside(ascending, negative)
    half_wins = int(below.sum()) + int(not_above.sum()) + 2 * positive.size * num_negatives_below
    # Of equal positives all are taken at once.
    num_true = positive.size - np.searchsorted(ascending, ascending, side="left") + num_above[0]
    num_false = negative.size - below + num_above[1]
    return half_wins, float((num_true / (num_true + num_false)).sum())


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
