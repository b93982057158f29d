"""Which worker owns which node: contiguous ranges of places, over which ids are scattered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Partition:
    """A place for every node, the same for any number of workers, and who owns the place.

    Ids often say something of a node: crawlers number hubs first, so that a cut by ids would give
    one worker most of the edges. The place of a node is its id times a fixed number, modulo the
    number of nodes: neighbouring ids land far from each other, and the way back is as short.
    Ranges of places are those of `torch.chunk`.

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
        factor = max(1, round(self.num_nodes * _GOLDEN))
        while math.gcd(factor, self.num_nodes) != 1:
            factor += 1
        return factor

    @cached_property
    def rows_each(self) -> int:
        """Rows of a worker; the last ones may have fewer."""
        return -(-self.num_nodes // self.workers)

    def first(self, worker: int) -> int:
        """Return the first place of a worker."""
        return min(worker * self.rows_each, self.num_nodes)

    def num_rows(self, worker: int) -> int:
        """Return how many places a worker owns."""
        return self.first(worker + 1) - self.first(worker)

    def places(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the places of nodes."""
        places: NDArray[np.int64] = nodes.astype(np.int64) * self.factor % self.num_nodes
        return places

    def owners(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the worker that owns each node."""
        owners: NDArray[np.int64] = self.places(nodes) // self.rows_each
        return owners

    def rows(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the row of each node in the table of its owner."""
        rows: NDArray[np.int64] = self.places(nodes) % self.rows_each
        return rows

    def nodes_of(self, worker: int) -> NDArray[np.int64]:
        """Return the nodes of a worker, row by row."""
        places = np.arange(self.first(worker), self.first(worker + 1), dtype=np.int64)
        return places * pow(self.factor, -1, self.num_nodes) % self.num_nodes
