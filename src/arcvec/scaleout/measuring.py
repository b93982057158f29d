"""Numbers of edges that all workers score together; no worker ever has all scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.kernels.curves import Areas, curve_sums
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers

SAMPLED_SCORES = 1 << 16
"""Scores, of all workers together, that tell where to cut; enough for hundreds of even ranges."""

Scores = NDArray[np.float32]


class MeasuringWorkers:
    """One worker among all that measure edges: what `Together` is in the room of evaluation.

    Every method is called by all workers, in the same order, and gives all of them the same.
    """

    def __init__(self, workers: Workers, num_nodes: int) -> None:
        self.workers = workers
        self.partition = Partition(num_nodes, workers.count)

    def share(self, edges: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the edges whose source is this worker's: one alone scores a source's row."""
        mine: NDArray[np.int32] = edges[self.partition.owners(edges[:, 0]) == self.workers.rank]
        return mine

    def areas(self, positive: Scores, negative: Scores) -> Areas:
        """Return the areas under the curves of all scores, given those of this worker.

        Scores change hands: each worker gets all that are in one range of values, and learns how
        many are above and below. Equal scores are in one range.
        """
        cuts = self._cuts(np.concatenate([positive, negative]))
        positive, negative = (self._own_range(scores, cuts) for scores in (positive, negative))
        sizes = np.concatenate(self.workers.gather(np.array([[positive.size, negative.size]])))
        rank = self.workers.rank
        positives_above, negatives_above = sizes[rank + 1 :].sum(axis=0)
        half_wins, precisions = curve_sums(
            positive,
            negative,
            num_above=(int(positives_above), int(negatives_above)),
            num_negatives_below=int(sizes[:rank, 1].sum()),
        )
        num_positive, num_negative = map(int, sizes.sum(axis=0))
        sums = int(self._sum(half_wins)), float(self._sum(precisions))
        return Areas.of_sums(num_positive, num_negative, *sums)

    def mean(self, values: NDArray[Any]) -> float:
        """Return the mean of all values, given those of this worker."""
        return float(self._sum(values.sum(dtype=np.float64)) / self._sum(values.size))

    def standard_error(self, values: NDArray[Any]) -> float:
        """Return the standard error of the mean of values drawn from many; needs 2 of them."""
        count = self._sum(values.size)
        squares = self._sum(np.square(values - self.mean(values)).sum())
        return float(np.sqrt(squares / (count - 1) / count))

    def _cuts(self, scores: Scores) -> Scores:
        """Return the scores at which the ranges of the second and all later workers begin."""
        part = scores.size / self._sum(scores.size)
        generator = np.random.default_rng(self.workers.rank)
        drawn = generator.choice(scores, int(np.ceil(part * SAMPLED_SCORES))) if part else scores
        sample = np.sort(np.concatenate(self.workers.gather(drawn, "scores")))
        return sample[sample.size * np.arange(1, self.workers.count) // self.workers.count]

    def _own_range(self, scores: Scores, cuts: Scores) -> Scores:
        """Return the scores of all workers that are in the range of this one."""
        ascending = np.sort(scores)
        parts = np.split(ascending, np.searchsorted(ascending, cuts))
        return np.concatenate(self.workers.exchange_arrays(parts, "scores"))

    def _sum(self, value: Any) -> Any:
        """Return the sum of a number over all workers."""
        return self.workers.sum_array(np.array([value]))[0]
