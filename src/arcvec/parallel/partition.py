"""Which worker owns which node: contiguous ranges of slots, over which ids are scattered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Partition:
    """A slot for every node, and the worker that owns the slot.

    Ids often follow degrees (crawlers number hubs first), so a cut by ids would give one worker
    most of the edges. The slot of a node is its id times a fixed number, modulo the number of
    nodes: neighbouring ids land far apart, and the inverse is as cheap. With one worker the slot
    is the id. Ranges of slots are those of `torch.chunk`.

    >>> partition = Partition(num_nodes=10, workers=3)
    >>> partition.nodes_of(0), partition.nodes_of(2)
    (array([0, 3, 6, 9]), array([4, 7]))
    >>> partition.owners(np.array([3, 4]))
    array([0, 2])
    """

    num_nodes: int
    workers: int

    @cached_property
    def factor(self) -> int:
        """What ids are multiplied by: near the golden section, with no divisor of num_nodes."""
        if self.workers == 1:
            return 1
        factor = max(1, round(self.num_nodes * _GOLDEN))
        while math.gcd(factor, self.num_nodes) != 1:
            factor += 1
        return factor

    @cached_property
    def rows_each(self) -> int:
        """Rows of a worker; the last ones may have fewer."""
        return -(-self.num_nodes // self.workers)

    def first(self, worker: int) -> int:
        """Return the first slot of a worker."""
        return min(worker * self.rows_each, self.num_nodes)

    def num_rows(self, worker: int) -> int:
        """Return how many nodes a worker owns."""
        return self.first(worker + 1) - self.first(worker)

    def owners(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the worker that owns each node."""
        if self.workers == 1:
            return np.zeros(nodes.shape, dtype=np.int64)
        return self._slots(nodes) // self.rows_each

    def rows(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the row of each node in the table of its owner."""
        if self.workers == 1:
            return nodes.astype(np.int64, copy=False)
        return self._slots(nodes) % self.rows_each

    def split(self, nodes: NDArray[np.integer], rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the rows for each worker, in their order, given the node that each belongs to."""
        if self.workers == 1:
            return [rows]
        owners = self.owners(nodes).astype(np.uint16)  # numpy sorts these by radix
        cuts = np.cumsum(np.bincount(owners, minlength=self.workers))[:-1]
        return np.split(rows[np.argsort(owners, kind="stable")], cuts)

    def _slots(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = nodes.astype(np.int64) * self.factor % self.num_nodes
        return slots

    def nodes_of(self, worker: int) -> NDArray[np.int64]:
        """Return the nodes of a worker, row by row."""
        slots = np.arange(self.first(worker), self.first(worker + 1), dtype=np.int64)
        if self.workers == 1:
            return slots
        return slots * pow(self.factor, -1, self.num_nodes) % self.num_nodes
