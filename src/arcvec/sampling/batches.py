"""Batches: pairs with what they are held against, in positions among the batch's own nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.kernels.edges import contains_edges, sources_of_entries
from arcvec.kernels.negatives import (
    compact_ids,
    draw_negatives,
    edges_in_block,
    fixed_negatives,
)
from arcvec.sampling.ahead import ahead
from arcvec.sampling.pairs import WalkPairs, derive_seed
from arcvec.sampling.settings import NegativeSettings, WalkSettings

Positions = NDArray[np.int64]

# To look up whether an edge goes both ways takes longer than the walks' pairs themselves.
PAIRS_PER_REVERSED = 4

# More than a round of walks gives by default: the next one is made while these are used.
_BATCHES_AHEAD = 8


class Place(NamedTuple):
    """Where a batch stands in the stream; what a checkpoint needs to go on."""

    round_number: int = 0
    batch_number: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """Some sources against some targets: every cell is a negative but the skipped ones.

    Attributes:
        skipped_rows, skipped_columns: cells that are edges, or a node with itself.
    """

    sources: Positions
    targets: Positions
    skipped_rows: NDArray[np.int64]
    skipped_columns: NDArray[np.int64]


class Counts(NamedTuple):
    """How much there is of what losses are means over, in a whole batch.

    Attributes:
        cells: of the block, without the skipped ones.
    """

    pairs: int
    cells: int
    reversed_edges: int
    nodes: int


@dataclass(frozen=True, eq=False)
class Batch:
    """One step's work. All but `nodes` are positions in `nodes`.

    Attributes:
        nodes: (k,) int32, the distinct nodes of the batch.
        sources, targets: (b,) pairs.
        negatives: (b, K) of each pair's source, -1 where there are fewer; None with a block.
        block: the shared block; None with negatives per pair.
        reversed_sources, reversed_targets: (r,) one-way edges, turned round.
        next: the place of the batch after this one.
    """

    nodes: NDArray[np.int32]
    sources: Positions
    targets: Positions
    negatives: Positions | None
    block: Block | None
    reversed_sources: Positions
    reversed_targets: Positions
    next: Place

    @property
    def counts(self) -> Counts:
        """How much of everything there is."""
        cells = 0
        if self.block is not None:
            whole = self.block.sources.size * self.block.targets.size
            cells = whole - self.block.skipped_rows.size
        return Counts(self.sources.size, cells, self.reversed_sources.size, self.nodes.size)

    @property
    def anchors(self) -> Positions:
        """Positions of the nodes that are the source of something."""
        parts = [self.sources, self.reversed_sources]
        if self.block is not None:
            parts.append(self.block.sources)
        return np.unique(np.concatenate(parts))


class BatchStream:
    """An endless stream of batches; each is decided by the seed and its place alone.

    Args:
        threads: that make batches before they are asked for; without any, they are made then.
    """

    def __init__(
        self,
        graph: Graph,
        walks: WalkSettings,
        negatives: NegativeSettings,
        *,
        batch_pairs: int,
        seed: int,
        threads: int = 0,
    ) -> None:
        self.pairs = WalkPairs(graph, walks, seed)
        self.graph = graph
        self.settings = negatives
        self.batch_pairs = batch_pairs
        self.seed = seed
        self.threads = threads
        self._scratch = np.full(graph.num_nodes, -1, dtype=np.int32)

    def start_at(self, place: Place) -> Iterator[Batch]:
        """Yield batches from a place on."""
        batches = self._batches(place)
        return ahead(batches, _BATCHES_AHEAD, self.threads) if self.threads else batches

    def _batches(self, place: Place) -> Iterator[Batch]:
        round_number, first = place
        empty_rounds = 0
        while True:
            sources, targets = self.pairs.round(round_number)
            num_batches = -(-sources.size // self.batch_pairs)
            empty_rounds = 0 if num_batches else empty_rounds + 1
            if empty_rounds > 100:
                raise ValueError("walks give no pairs: the graph has no edge between two nodes")
            cuts = np.linspace(0, sources.size, num_batches + 1).astype(np.int64)
            for index in range(first, num_batches):
                cut = slice(cuts[index], cuts[index + 1])
                last = index + 1 == num_batches
                following = Place(round_number + 1) if last else Place(round_number, index + 1)
                yield self._batch(sources[cut], targets[cut], Place(round_number, index), following)
            round_number, first = round_number + 1, 0

    def _batch(
        self,
        sources: NDArray[np.int32],
        targets: NDArray[np.int32],
        place: Place,
        following: Place,
    ) -> Batch:
        seed = derive_seed(self.seed, "batch", *place)
        nobody = np.empty(0, dtype=np.int32)
        if self.settings.kind == "fixed":
            drawn = draw_negatives(
                self._fixed, sources, self.settings.per_pair, seed, not self.settings.replacement
            )
            parts = [sources, targets, drawn.ravel()]
            nodes, (sources_at, targets_at, negatives_at) = self._compact(parts)
            negatives = negatives_at.reshape(drawn.shape)
            none = np.empty(0, dtype=np.int64)
            return Batch(nodes, sources_at, targets_at, negatives, None, none, none, following)
        generator = np.random.default_rng(seed)
        block_sources, block_targets = self._block_nodes(generator)
        tails, heads = nobody, nobody
        if self.graph.directed and self.settings.reversed_weight > 0:
            tails, heads = self._reversed_edges(generator, -(-sources.size // PAIRS_PER_REVERSED))
        skipped = edges_in_block(
            self.graph.indptr, self.graph.indices, block_sources, block_targets, self._scratch
        )
        nodes, positions = self._compact(
            [sources, targets, tails, heads, block_sources, block_targets]
        )
        block = Block(positions[4], positions[5], *skipped)
        return Batch(
            nodes, positions[0], positions[1], None, block, positions[2], positions[3], following
        )

    def _compact(self, parts: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], list[Positions]]:
        """Return the distinct nodes of all parts, and each part as positions among them."""
        joined = np.concatenate(parts)
        nodes: NDArray[np.int32]
        if self.settings.kind == "block" and self._sees_everyone:
            nodes, positions = self._everyone, joined.astype(np.int64)
        else:
            nodes, positions = compact_ids(joined, self._scratch)
        return nodes, np.split(positions, np.cumsum([part.size for part in parts])[:-1])

    @property
    def _sees_everyone(self) -> bool:
        return self.graph.num_nodes <= self.settings.block_targets

    @cached_property
    def _everyone(self) -> NDArray[np.int32]:
        return np.arange(self.graph.num_nodes, dtype=np.int32)

    def _block_nodes(
        self, generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the sources and the targets of a block."""
        sources = self._sample_nodes(generator, self.settings.block_sources)
        return sources, self._sample_nodes(generator, self.settings.block_targets)

    def _sample_nodes(self, generator: np.random.Generator, count: int) -> NDArray[np.int32]:
        """Return distinct nodes: all where there are no more than `count`, else about `count`."""
        num_nodes = self.graph.num_nodes
        if num_nodes <= count:
            return self._everyone
        if num_nodes <= 8 * count:
            return generator.permutation(num_nodes)[:count].astype(np.int32)
        # A permutation would cost O(|V|) a step; the few repeats among so many are dropped.
        drawn = generator.integers(num_nodes, size=count)
        return np.unique(drawn).astype(np.int32)

    def _reversed_edges(
        self, generator: np.random.Generator, count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return random edges turned round, without those whose reverse is an edge."""
        return self._turned_round(generator.integers(self.graph.indices.size, size=count))

    def _turned_round(
        self, entries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return edges, by where they stand in the graph, turned round if they go one way."""
        graph = self.graph
        # Not `row_of_entry`: that is as large as the graph.
        tails = sources_of_entries(graph.indptr, entries)
        heads = graph.indices[entries]
        one_way = ~contains_edges(graph.indptr, graph.indices, heads, tails)
        return heads[one_way], tails[one_way]

    @cached_property
    def _fixed(self) -> NDArray[np.int32]:
        graph, seed = self.graph, derive_seed(self.seed, "negatives")
        fixed: NDArray[np.int32] = fixed_negatives(
            graph.indptr,
            graph.indices,
            self.settings.set_size,
            seed,
            not self.settings.replacement,
        )
        return fixed
