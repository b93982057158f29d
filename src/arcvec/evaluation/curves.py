"""Areas under curves, by sorting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcvec.parallel.alone import Alone

BLOCK_NEGATIVES = 1 << 22
"""Negatives sorted at once."""

SAMPLED_SCORES = 1 << 16
"""Scores of all workers together that decide where to cut; enough for hundreds of ranges."""

_ALONE = Alone()
Scores = NDArray[np.floating]


class Areas(NamedTuple):
    """Areas under the two curves of positives against negatives; NaN without either.

    Attributes:
        auc: probability that a positive scores above a negative, ties counting one half.
        average_precision: mean precision at the positives; it depends on the number of negatives.
    """

    auc: float
    average_precision: float

    @classmethod
    def of(cls, positive: Scores, negative: Scores, workers: Alone = _ALONE) -> Areas:
        """Return the areas under the curves of all workers' scores, given those of this one.

        Each worker receives all scores in one range of values, and the counts above and below it.

        >>> Areas.of(np.array([3.0, 1.0]), np.array([2.0]))
        Areas(auc=0.5, average_precision=0.8333333333333333)
        """
        if workers.count > 1:
            cuts = _cuts(np.concatenate([positive, negative]), workers)
            positive, negative = (_own_range(side, cuts, workers) for side in (positive, negative))
        sizes = np.concatenate(workers.gather(np.array([[positive.size, negative.size]])))
        positives_above, negatives_above = sizes[workers.rank + 1 :].sum(axis=0)
        half_wins, precisions = curve_sums(
            positive,
            negative,
            num_above=(int(positives_above), int(negatives_above)),
            num_negatives_below=int(sizes[: workers.rank, 1].sum()),
        )
        num_positive, num_negative = map(int, sizes.sum(axis=0))
        num_pairs = num_positive * num_negative
        half_wins = int(workers.sum(np.array([half_wins]))[0])
        precisions = float(workers.sum(np.array([precisions]))[0])
        return cls(
            half_wins / (2 * num_pairs) if num_pairs else np.nan,
            precisions / num_positive if num_positive else np.nan,
        )


def _cuts(scores: Scores, workers: Alone) -> Scores:
    """Return where the ranges of all workers but the first begin, from a sample of the scores."""
    share = scores.size / workers.sum(np.array([scores.size]))[0]
    generator = np.random.default_rng(workers.rank)
    drawn = generator.choice(scores, int(np.ceil(share * SAMPLED_SCORES))) if share else scores
    sample = np.sort(np.concatenate(workers.gather(drawn)))
    return sample[sample.size * np.arange(1, workers.count) // workers.count]


def _own_range(scores: Scores, cuts: Scores, workers: Alone) -> Scores:
    """Return all workers' scores that are in the range of this one."""
    ascending = np.sort(scores)
    parts = np.split(ascending, np.searchsorted(ascending, cuts))
    return np.concatenate(workers.exchange(parts))


def roc_auc(positive: Scores, negative: Scores) -> float:
    """Return the probability that a positive scores above a negative, ties counting one half.

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
        num_above: positives and negatives above the range.

    Returns:
        Twice the negatives below each positive plus those equal to it, summed; and the sum of the
        precision at each positive.
    """
    ascending = np.sort(positive)
    below, not_above = np.zeros((2, ascending.size), dtype=np.int64)
    for first in range(0, negative.size, BLOCK_NEGATIVES):
        block = np.sort(negative[first : first + BLOCK_NEGATIVES])
        below += np.searchsorted(block, ascending, side="left")
        not_above += np.searchsorted(block, ascending, side="right")
    half_wins = int(below.sum()) + int(not_above.sum()) + 2 * positive.size * num_negatives_below
    # Equal positives share one point of the curve.
    num_true = positive.size - np.searchsorted(ascending, ascending, side="left") + num_above[0]
    num_false = negative.size - below + num_above[1]
    return half_wins, float((num_true / (num_true + num_false)).sum())
