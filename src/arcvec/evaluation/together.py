"""Who measures the edges: one process that has them all, or many with a share each."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import Scores
from arcvec.graph.blocks import EdgeArray
from arcvec.kernels.curves import Areas


class Together(Protocol):
    """All who measure the same edges: who scores which, and numbers of what all have scored."""

    def share(self, edges: EdgeArray) -> EdgeArray:
        """Return those of the edges that are measured here."""

    def areas(self, positive: Scores, negative: Scores) -> Areas:
        """Return the areas under the curves of all scores, given those from here."""

    def mean(self, values: NDArray[Any]) -> float:
        """Return the mean of all values, given those from here."""

    def standard_error(self, values: NDArray[Any]) -> float:
        """Return the standard error of the mean of values drawn from many; needs 2 of them."""


class Alone:
    """One process, which measures all edges."""

    def share(self, edges: EdgeArray) -> EdgeArray:
        """Return the edges, all of them."""
        return edges

    def areas(self, positive: Scores, negative: Scores) -> Areas:
        """Return the areas under the curves."""
        return Areas.of(positive, negative)

    def mean(self, values: NDArray[Any]) -> float:
        """Return the mean."""
        return float(values.mean())

    def standard_error(self, values: NDArray[Any]) -> float:
        """Return the standard error of the mean of values drawn from many; needs 2 of them."""
        return float(values.std(ddof=1) / np.sqrt(values.size))
