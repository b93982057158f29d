"""Leading singular vectors of a graph: where a training starts, or what a sketch is made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.matrices import regularised, strengths
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.training.average import Vectors, chunks, products, root

_ALONE = Alone()
# Enough where vectors are only a start.
ITERATIONS = 4
# Vectors beside those asked for: the last ones of a block are the least exact.
_MORE_COLUMNS = 10


@dataclass(frozen=True)
class _Cut:
    """A block of vectors of all nodes, cut among workers by columns or by rows.

    A product with the graph needs all rows of some columns; to make columns orthonormal takes all
    columns of some rows. In between, every worker exchanges its part with all others.
    """

    partition: Partition
    workers: Alone
    width: int

    @property
    def bounds(self) -> list[int]:
        """First column of each worker, and the width."""
        return [self.width * i // self.workers.count for i in range(self.workers.count + 1)]

    @property
    def own_columns(self) -> slice:
        """The columns of this worker."""
        return slice(*self.bounds[self.workers.rank : self.workers.rank + 2])

    def by_rows(self, block: Vectors) -> Vectors:
        """Return all columns of the own rows, (rows, width), given the own columns of all."""
        if self.workers.count == 1:
            return block
        peers = range(self.workers.count)
        parts = [block[self.partition.nodes_of(peer)].ravel() for peer in peers]
        widths = (end - first for first, end in pairwise(self.bounds))
        came = zip(self.workers.exchange(parts), widths, strict=True)
        return np.concatenate([part.reshape(-1, width) for part, width in came if width], axis=1)

    def by_columns(self, rows: Vectors) -> Vectors:
        """Return the own columns of all rows, (num_nodes, columns), given all of the own rows."""
        if self.workers.count == 1:
            return rows
        parts = [part.ravel() for part in np.split(rows, self.bounds[1:-1], axis=1)]
        own = self.own_columns
        block = np.empty((self.partition.num_nodes, own.stop - own.start), dtype=np.float32)
        for peer, part in enumerate(self.workers.exchange(parts)):
            block[self.partition.nodes_of(peer)] = part.reshape(-1, block.shape[1])
        return block

    def orthonormal(self, block: Vectors) -> Vectors:
        """Return orthonormal columns that span the same, in place; 0 for what is no direction."""
        rows = self.by_rows(block)
        _, inverse = root(self.workers.sum(products(rows)))
        return self.by_columns(_rotate(rows, inverse))


def leading_subspace(
    matrix: Any,
    count: int,
    iterations: int,
    generator: np.random.Generator,
    workers: Alone = _ALONE,
) -> tuple[Vectors, Vectors, Vectors]:
    """Return about the left vectors, the largest singular values, descending, and the right ones.

    A random block is multiplied by the matrix, sparse float32, and its transpose in turn, which
    brings out the leading vectors, and made orthonormal in between.

    Returns:
        (rows, count), (count,) and (rows, count), the rows of this worker's nodes; vectors are 0
        where singular values are.
    """
    num_nodes = matrix.shape[0]
    cut = _Cut(Partition(num_nodes, workers.count), workers, count + _MORE_COLUMNS)
    own = cut.own_columns
    block = np.empty((num_nodes, own.stop - own.start), dtype=np.float32)
    for nodes in chunks(num_nodes):
        size = (nodes.stop - nodes.start, cut.width)
        block[nodes] = generator.standard_normal(size, dtype=np.float32)[:, own]
    block = matrix @ block
    for _ in range(iterations):
        block = matrix.T @ cut.orthonormal(block)
        block = matrix @ cut.orthonormal(block)
    block = cut.orthonormal(block)
    left, right = cut.by_rows(block), cut.by_rows(matrix.T @ block)
    # Of right = V S W^T, W rotates both blocks to the singular vectors, in the order of S. The
    # first worker decides: another kind of processor may give vectors another sign.
    found = np.linalg.eigh(root(workers.sum(products(right)))[0])
    values, rotation = map(np.array, workers.agree(lambda: [part.tolist() for part in found]))
    values, rotation = values[: -count - 1 : -1], rotation[:, : -count - 1 : -1]
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 1e-6 * values[0])
    left, right = _rotate(left, rotation), _rotate(right, rotation * inverse)
    return left, values.astype(np.float32), right


def _rotate(vectors: Vectors, matrix: NDArray[np.float64]) -> Vectors:
    """Return the vectors times a matrix of no more columns, written over them."""
    rotated, matrix = vectors[:, : matrix.shape[1]], matrix.astype(np.float32)
    for nodes in chunks(len(vectors)):
        rotated[nodes] = vectors[nodes] @ matrix
    return rotated


def spectral_rows(graph: Graph, columns: int, seed: int, workers: Alone = _ALONE) -> Vectors:
    """Return rows to start a training from, (rows, columns), those of this worker's nodes.

    The leading singular vectors of the normalised adjacency, of both sides where edges have a
    direction, with rows of norm 1; then logarithms of degrees. Random numbers of their size fill
    what is left on small graphs.
    """
    partition = Partition(graph.num_nodes, workers.count)
    own = partition.nodes_of(workers.rank)
    sides = 2 if graph.directed else 1
    count = min((columns - sides) // sides, graph.num_nodes)
    spread = columns**-0.5
    generator = np.random.default_rng(seed)
    rows = np.empty((own.size, columns), dtype=np.float32)
    for nodes in chunks(graph.num_nodes):
        # All workers draw all numbers and keep theirs, which are those of one process.
        ids = np.arange(nodes.start, nodes.stop)
        drawn = generator.normal(scale=spread, size=(ids.size, columns))
        mine = partition.owners(ids) == workers.rank
        rows[partition.rows(ids[mine])] = drawn[mine]
    if count < 1:
        return rows
    matrix = regularised(graph, 1.0)
    left, values, right = leading_subspace(matrix, count, ITERATIONS, generator, workers)
    for side, vectors in enumerate((left, right)[:sides]):
        np.multiply(vectors, values, out=rows[:, side * count : (side + 1) * count])
    for chunk in chunks(len(rows)):
        vectors = rows[chunk, : sides * count]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, where=lengths > 0, out=vectors)
    sums, _ = strengths(graph)
    for side in range(sides):
        degrees = np.log1p(sums[side])
        rows[:, -1 - side] = spread * (degrees[own] - degrees.mean()) / (degrees.std() or 1.0)
    return rows
