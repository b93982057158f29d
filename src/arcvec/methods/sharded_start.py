"""The rows that a training starts from, each worker those of its own nodes.

What `arcvec.methods.spectral.spectral_rows` computes, with two ways to cut a block of vectors: a
product with the graph needs all rows of some columns, to make columns orthonormal takes all columns
of some rows. In between every worker exchanges its part with all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.kernels.edges import adjacency_product
from arcvec.methods.mean_score import products, root
from arcvec.methods.spectral import ITERATIONS, inverse_power
from arcvec.methods.subspace import MORE
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers

Vectors = NDArray[np.float32]
Numbers = NDArray[np.float64]

_ROWS_AT_ONCE = 1 << 16
_ONE = np.ones(1, dtype=np.float32)


def own_spectral_rows(
    partition: Partition, workers: Workers, graph: Graph, columns: int, seed: int
) -> Vectors:
    """Return the rows of this worker's nodes: (rows, columns). No worker ever has all of them."""
    sums = _strengths(graph), _strengths(graph.transposed)
    mean = float(sums[0].sum()) / graph.num_nodes
    scales = [inverse_power(side + mean, 0.5) for side in sums]
    sides = 2 if graph.directed else 1
    count = min((columns - sides) // sides, graph.num_nodes)
    spread = columns**-0.5
    rng = np.random.default_rng(seed)
    rows = np.empty((partition.num_rows(workers.rank), columns), dtype=np.float32)
    for nodes in _chunks(graph.num_nodes):
        # All workers draw all numbers, and keep theirs: they are those of one process.
        drawn = rng.normal(scale=spread, size=(nodes.size, columns))
        mine = partition.owners(nodes) == workers.rank
        rows[partition.rows(nodes[mine])] = drawn[mine]
    if count < 1:
        return rows
    cut = Cut(partition, workers, count + MORE)
    operator = _Operator(graph, scales[0], scales[1])
    left, values, right = _leading_subspace(operator, cut, count, rng)
    for side, vectors in enumerate((left, right)[:sides]):
        np.multiply(vectors, values, out=rows[:, side * count : (side + 1) * count])
    places = rows[:, : sides * count]
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    np.divide(places, lengths, where=lengths > 0, out=places)
    own = partition.nodes_of(workers.rank)
    for side in range(sides):
        degrees = np.log1p(sums[side])
        scaled = (degrees[own] - degrees.mean()) / (degrees.std() or 1.0)
        rows[:, -1 - side] = spread * scaled
    return rows


@dataclass(frozen=True)
class Cut:
    """A block of vectors of all nodes, cut by columns or by rows.

    Attributes:
        width: columns of the whole block.
    """

    partition: Partition
    workers: Workers
    width: int

    @property
    def columns(self) -> list[int]:
        """Columns of each worker."""
        count = self.workers.count
        cuts = [self.width * i // count for i in range(count + 1)]
        return [end - first for first, end in pairwise(cuts)]

    @property
    def own_columns(self) -> slice:
        """The columns of this worker."""
        count, rank = self.workers.count, self.workers.rank
        return slice(self.width * rank // count, self.width * (rank + 1) // count)

    def by_rows(self, block: Vectors) -> Vectors:
        """Return all columns of the own rows, (rows, width), given the own columns of all."""
        peers = range(self.workers.count)
        parts = [block[self.partition.nodes_of(peer)].ravel() for peer in peers]
        got = self.workers.exchange_arrays(parts, "start")
        shaped = (part.reshape(-1, k) for part, k in zip(got, self.columns, strict=True) if k)
        return np.concatenate(list(shaped), axis=1)

    def by_columns(self, rows: Vectors) -> Vectors:
        """Return the own columns of all rows, (num_nodes, columns), given all of the own rows."""
        cuts = np.cumsum(self.columns)[:-1]
        parts = [part.ravel() for part in np.split(rows, cuts, axis=1)]
        got = self.workers.exchange_arrays(parts, "start")
        own = self.columns[self.workers.rank]
        block = np.empty((self.partition.num_nodes, own), dtype=np.float32)
        for peer, part in enumerate(got):
            block[self.partition.nodes_of(peer)] = part.reshape(-1, own)
        return block


@dataclass(frozen=True, eq=False)
class _Operator:
    """The adjacency, its rows and its columns multiplied by some factors."""

    graph: Graph
    rows: Numbers
    columns: Numbers

    def times(self, block: Vectors) -> Vectors:
        """Return the matrix times a block."""
        return _product(self.graph, self.rows, self.columns, block)

    def turned_times(self, block: Vectors) -> Vectors:
        """Return the transposed matrix times a block."""
        return _product(self.graph.transposed, self.columns, self.rows, block)


def _product(graph: Graph, rows: Numbers, columns: Numbers, block: Vectors) -> Vectors:
    weights = _ONE if graph.weights is None else graph.weights
    product: Vectors = adjacency_product(graph.indptr, graph.indices, weights, rows, columns, block)
    return product


def _leading_subspace(
    operator: _Operator, cut: Cut, count: int, generator: np.random.Generator
) -> tuple[Vectors, Vectors, Vectors]:
    """Return what `arcvec.methods.subspace.leading_subspace` does, of the own rows."""
    num_nodes = cut.partition.num_nodes
    block = np.empty((num_nodes, cut.columns[cut.workers.rank]), dtype=np.float32)
    for nodes in _chunks(num_nodes):
        drawn = generator.standard_normal((nodes.size, cut.width), dtype=np.float32)
        block[nodes] = drawn[:, cut.own_columns]
    block = operator.times(block)
    for _ in range(ITERATIONS):
        block = operator.turned_times(_orthonormal(block, cut))
        block = operator.times(_orthonormal(block, cut))
    block = _orthonormal(block, cut)
    left = cut.by_rows(block)
    right = cut.by_rows(operator.turned_times(block))
    values, turn = np.linalg.eigh(root(cut.workers.sum_array(products(right)))[0])
    # The first worker decides: another kind of processor may give vectors another sign.
    values, turn = (
        np.array(part) for part in cut.workers.agree(lambda: [*map(_list, (values, turn))])
    )
    values, turn = values[: -count - 1 : -1], turn[:, : -count - 1 : -1]
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 1e-6 * values[0])
    left = left @ turn.astype(np.float32)
    right = right @ (turn * inverse).astype(np.float32)
    return left, values.astype(np.float32), right


def _orthonormal(block: Vectors, cut: Cut) -> Vectors:
    """Return columns that span the same, orthonormal; 0 for what is no direction."""
    rows = cut.by_rows(block)
    _, inverse = root(cut.workers.sum_array(products(rows)))
    return cut.by_columns(rows @ inverse.astype(np.float32))


def _list(array: Numbers) -> object:
    return array.tolist()


def _strengths(graph: Graph) -> Numbers:
    """Return the sums of the rows of the adjacency."""
    if graph.weights is None:
        return graph.out_degrees.astype(np.float64)
    sums = np.empty(graph.num_nodes)
    for nodes in _chunks(graph.num_nodes):
        first, end = graph.indptr[nodes[0]], graph.indptr[nodes[-1] + 1]
        rows = np.repeat(np.arange(nodes.size), graph.out_degrees[nodes])
        sums[nodes] = np.bincount(rows, graph.weights[first:end], minlength=nodes.size)
    return sums


def _chunks(num_nodes: int) -> Iterator[NDArray[np.int64]]:
    for first in range(0, num_nodes, _ROWS_AT_ONCE):
        yield np.arange(first, min(first + _ROWS_AT_ONCE, num_nodes))
