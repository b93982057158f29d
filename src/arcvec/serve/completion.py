"""Names that start alike: what a search box offers."""

from __future__ import annotations

from bisect import bisect_left
from heapq import merge

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import NodeIds, NodeNames

_LAST = chr(0x10FFFF)
"""No name sorts after a prefix followed by this, but one with this very character."""

_SORTED_AT_ONCE = 4096

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

    def find(self, prefix: str, limit: int) -> NodeIds:
        """Return the ids of at most `limit` names: the very one, then by weight, then by name."""
        folded = prefix.casefold()
        first = bisect_left(self._names, folded)
        last = bisect_left(self._names, folded + _LAST) if folded else len(self._names)
        places = np.arange(first, min(last, first + _RANKED))
        if not folded:
            places = np.arange(last)
        found = self._ids[places]
        whole = np.array([self._names[place] == folded for place in places[:64]], dtype=bool)
        is_whole = np.zeros(found.size, dtype=bool)
        is_whole[: whole.size] = whole  # the shortest sorts first
        order = np.lexsort((places, -self._weights[found], ~is_whole))
        return found[order[:limit]]
