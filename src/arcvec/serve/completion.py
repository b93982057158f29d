"""Names that start alike: what a search box offers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import merge

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import NodeIds, NodeNames

_SORTED_AT_ONCE = 4096

_MOST = 1000

_RANKED = 100_000
"""Of more names than these that start alike, the first in order are ranked."""


class Completion:
    """Names in order, to find those that start with a prefix whatever the case of letters.

    >>> nodes = NodeNames.from_strings(["Bob", "alice", "Alan"])
    >>> completion = Completion(nodes, np.array([1, 2, 9]))
    >>> completion.find("al", 10)
    array([2, 1])
    """

    def __init__(self, nodes: NodeNames, weights: NDArray[np.integer]) -> None:
        """Sort names.

        Args:
            weights: (num_nodes,): nodes of higher weight are offered first.
        """
        folded = [name.casefold() for name in nodes]
        # In parts, so that requests of other threads are answered in between.
        starts = range(0, len(folded), _SORTED_AT_ONCE)
        parts = [range(start, min(start + _SORTED_AT_ONCE, len(folded))) for start in starts]
        runs = [sorted(part, key=folded.__getitem__) for part in parts]
        order = list(merge(*runs, key=folded.__getitem__))
        self._names = [folded[i] for i in order]
        self._ids = np.array(order, dtype=np.int64)
        self._weights = weights
        whole = bisect_right(self._names, "")
        self._first = self._ranked(0, whole, len(order))[:_MOST]

    def find(self, prefix: str, limit: int) -> NodeIds:
        """Return the ids of at most `limit` names, and of at most `_MOST` for an empty prefix.

        First come names that are the whole prefix, then those of highest weight, then by name.
        """
        folded = prefix.casefold()
        if not folded:
            return self._first[:limit]
        first = bisect_left(self._names, folded)
        whole = bisect_right(self._names, folded, first)
        last = bisect_right(self._names, folded, first, key=lambda name: name[: len(folded)])
        return self._ranked(first, whole, min(last, first + _RANKED))[:limit]

    def _ranked(self, first: int, whole: int, last: int) -> NodeIds:
        """Return the ids of the names from `first` to `last`, those before `whole` first."""
        places = np.arange(first, last)
        order = np.lexsort((places, -self._weights[self._ids[places]], places >= whole))
        return self._ids[places[order]]
