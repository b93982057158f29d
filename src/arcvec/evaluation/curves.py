"""Areas under curves, by sorting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcvec.parallel.alone import Alone

BLOCK_NEGATIVES = 1 << 22  # sorted at once
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

        Each worker compares its negatives with all positives, of which there are fewer.
        """
        ascending = np.sort(np.concatenate(workers.gather(positive)))
        below, not_above = np.zeros((2, ascending.size), dtype=np.int64)
        for first in range(0, negative.size, BLOCK_NEGATIVES):
            block = np.sort(negative[first : first + BLOCK_NEGATIVES])
            below += np.searchsorted(block, ascending, side="left")
            not_above += np.searchsorted(block, ascending, side="right")
        below, not_above = workers.sum(below), workers.sum(not_above)
        num_negative = int(workers.sum(np.array([negative.size]))[0])
        if not ascending.size:
            return cls(np.nan, np.nan)
        half_wins = int(below.sum()) + int(not_above.sum())
        # Equal positives share one point of the curve.
        num_true = ascending.size - np.searchsorted(ascending, ascending, side="left")
        precisions = num_true / (num_true + num_negative - below)
        num_pairs = ascending.size * num_negative
        auc = half_wins / (2 * num_pairs) if num_pairs else np.nan
        return cls(auc, float(precisions.sum()) / ascending.size)


def roc_auc(positive: Scores, negative: Scores) -> float:
    """Return the probability that a positive scores above a negative, ties counting one half.

    >>> roc_auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    return Areas.of(positive, negative).auc
