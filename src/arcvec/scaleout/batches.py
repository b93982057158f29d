"""Batches cut among the workers: each has the pairs whose source it owns.

A round of pairs is made together: walks are cut among the workers, pairs go to the owners of their
sources, and all that the steps of the round will ask of others is asked at once. A step then sends
vectors only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.kernels.negatives import (
    compact_ids,
    draw_negatives,
    edges_in_block,
    fixed_negatives_of,
)
from arcvec.sampling.batches import (
    PAIRS_PER_REVERSED,
    Batch,
    BatchStream,
    Block,
    Counts,
    Place,
    Positions,
)
from arcvec.sampling.pairs import derive_seed
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers

Ids = NDArray[np.int32]
_NOBODY: Ids = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Route:
    """Which vectors of a batch go where.

    Attributes:
        asked: positions among the own nodes whose target vectors go out, worker after worker.
        asked_counts, fetched_counts: how many go to, and come from, each worker.
        block_own: positions among the own nodes that are sources of the block: they go to all.
        block_counts: how many sources of the block each worker has.
        block_order: (S,) where the block's sources stand among those of all workers, worker after
            worker.
    """

    asked: Positions
    asked_counts: list[int]
    fetched_counts: list[int]
    block_own: Positions
    block_counts: list[int]
    block_order: Positions


@dataclass(frozen=True, eq=False)
class ShardedBatch(Batch):
    """One worker's part of a batch. `nodes` are rows of its own table.

    Targets are positions among the own nodes, followed by those fetched from others; sources of
    the block are positions in the sources of the whole block, which follow the own nodes.

    Attributes:
        whole: how much of everything the parts of all workers have together.
    """

    route: Route
    whole: Counts

    @property
    def counts(self) -> Counts:
        """How much of everything there is in the whole batch."""
        return self.whole

    @property
    def anchors(self) -> Positions:
        """Positions of the own nodes that are the source of something."""
        parts = [self.sources, self.reversed_sources, self.route.block_own]
        return np.unique(np.concatenate(parts))


@dataclass(eq=False)
class _Draft:
    """A worker's part of a batch, in ids, before others have asked for theirs.

    Attributes:
        targets: distinct, of pairs, reversed edges and negatives.
        targets_at: where in `targets` those of the pairs, reversed edges and negatives stand.
        is_own: which of `targets` this worker owns; `fetched` are the others, by owner.
    """

    place: Place
    sources: Ids
    turned: Ids
    block_sources: Ids
    block_targets: Ids
    skipped: tuple[Positions, Positions]
    targets: Ids
    targets_at: list[Positions]
    is_own: NDArray[np.bool_]
    fetched: list[Ids]


class ShardedStream(BatchStream):
    """One worker's part of an endless stream of batches.

    Over all workers, a round has exactly the pairs, the blocks and the reversed edges that one
    process would have; how pairs are dealt to the batches of a round differs.
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
        partition: Partition,
        workers: Workers,
    ) -> None:
        batching = {"batch_pairs": batch_pairs, "seed": seed, "threads": threads}
        super().__init__(graph, walks, negatives, **batching)
        # Batches may be made by another thread than the one that takes steps.
        self.partition, self.workers = partition, workers.beside
        self._row_scratch = np.full(partition.num_rows(workers.rank), -1, dtype=np.int32)

    def _batches(self, place: Place) -> Iterator[Batch]:
        number, first = place
        empty_rounds = 0
        while True:
            batches = self._round(number)
            empty_rounds = 0 if batches else empty_rounds + 1
            if empty_rounds > 100:
                raise ValueError("walks give no pairs: the graph has no edge between two nodes")
            yield from batches[first:]
            number, first = number + 1, 0

    def _round(self, number: int) -> list[ShardedBatch]:
        sources, targets = self._pairs(number)
        num_pairs = int(self.workers.sum_array(np.array([sources.size]))[0])
        num_batches = -(-num_pairs // self.batch_pairs)
        cuts = np.linspace(0, sources.size, num_batches + 1).astype(np.int64)
        pair_counts = self.workers.sum_array(np.diff(cuts))
        blocks, turned = self._blocks_and_reversed(number, pair_counts)
        drafts = [
            self._draft(
                Place(number, i),
                sources[cuts[i] : cuts[i + 1]],
                targets[cuts[i] : cuts[i + 1]],
                turned[i],
                blocks[i],
            )
            for i in range(num_batches)
        ]
        asked = self._exchange_requests(drafts)
        parts = [self._part(draft, ask) for draft, ask in zip(drafts, asked, strict=True)]
        own = [
            (d.skipped[0].size, len(d.turned), p.nodes.size)
            for d, p in zip(drafts, parts, strict=True)
        ]
        skipped, reversed_counts, node_counts = self.workers.sum_array(
            np.array(own, dtype=np.int64).reshape(num_batches, 3)
        ).T
        batches = []
        for i, (draft, part) in enumerate(zip(drafts, parts, strict=True)):
            cells = draft.block_sources.size * blocks[i][1].size - int(skipped[i])
            counts = (pair_counts[i], cells, reversed_counts[i], node_counts[i])
            last = i + 1 == num_batches
            following = Place(number + 1) if last else Place(number, i + 1)
            batches.append(part.batch(following, Counts(*map(int, counts))))
        return batches

    def _pairs(self, number: int) -> tuple[Ids, Ids]:
        """Return the pairs of a round whose source this worker owns, shuffled."""
        workers, per_round = self.workers, self.pairs.walks_per_round
        mine = workers.share(per_round)
        made = self.pairs.pairs(number * per_round + mine.start, len(mine))
        sources, targets = self._to_owners(np.stack(made, axis=1)).T
        seed = derive_seed(self.seed, "shuffle", number, workers.rank)
        order = np.random.default_rng(seed).permutation(sources.size)
        return sources[order], targets[order]

    def _to_owners(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the rows that begin with a node of this worker, given some of any nodes."""
        parts = self._by_owner(self.partition.owners(rows[:, 0]), rows)
        return np.concatenate(self.workers.exchange_arrays(parts))

    def _by_owner(self, owners: NDArray[np.int64], rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the rows of each worker, in their order."""
        owners = owners.astype(np.uint16)  # few values are sorted at once
        cuts = np.cumsum(np.bincount(owners, minlength=self.workers.count))[:-1]
        return np.split(rows[np.argsort(owners, kind="stable")], cuts)

    def _blocks_and_reversed(
        self, number: int, pair_counts: NDArray[np.int64]
    ) -> tuple[list[tuple[Ids, Ids]], list[NDArray[np.int32]]]:
        """Return for each batch the nodes of the block, and the own reversed edges, (r, 2).

        All workers draw the same edges; each looks a share of them up.
        """
        nothing = np.empty((0, 2), dtype=np.int32)
        if self.settings.kind == "fixed":
            return [(_NOBODY, _NOBODY)] * len(pair_counts), [nothing] * len(pair_counts)
        blocks, found = [], [np.empty((0, 3), dtype=np.int32)]
        with_reversed = self.graph.directed and self.settings.reversed_weight > 0
        for i, num_pairs in enumerate(pair_counts):
            generator = np.random.default_rng(derive_seed(self.seed, "batch", number, i))
            blocks.append(self._block_nodes(generator))
            if with_reversed:
                count = -(-int(num_pairs) // PAIRS_PER_REVERSED)
                entries = generator.integers(self.graph.indices.size, size=count)
                mine = self.workers.share(count)
                ends = self._turned_round(entries[mine.start : mine.stop])
                found.append(np.stack([*ends, np.full(ends[0].size, i, dtype=np.int32)], axis=1))
        if not with_reversed:
            return blocks, [nothing] * len(pair_counts)
        rows = self._to_owners(np.concatenate(found))
        rows = rows[np.argsort(rows[:, 2], kind="stable")]
        cuts = np.searchsorted(rows[:, 2], np.arange(1, len(pair_counts)))
        return blocks, np.split(rows[:, :2], cuts) if len(pair_counts) else []

    def _draft(
        self, place: Place, sources: Ids, targets: Ids, turned: Ids, block: tuple[Ids, Ids]
    ) -> _Draft:
        wanted = [targets, turned[:, 1]]
        if self.settings.kind == "fixed":
            seed = derive_seed(self.seed, "batch", *place, self.workers.rank)
            rows = self.partition.rows(sources)
            distinct = not self.settings.replacement
            drawn = draw_negatives(self._fixed, rows, self.settings.per_pair, seed, distinct)
            wanted.append(drawn.ravel())
        found, places = compact_ids(np.concatenate(wanted), self._scratch)
        owners, me = self.partition.owners(found), self.workers.rank
        block_sources, block_targets = block
        own_targets = block_targets[self.partition.owners(block_targets) == me]
        skipped = edges_in_block(
            self.graph.indptr, self.graph.indices, block_sources, own_targets, self._scratch
        )
        is_own = owners == me
        return _Draft(
            place=place,
            sources=sources,
            turned=turned[:, 0],
            block_sources=block_sources,
            block_targets=own_targets,
            skipped=skipped,
            targets=found,
            targets_at=np.split(places, np.cumsum([part.size for part in wanted])[:-1]),
            is_own=is_own,
            fetched=self._by_owner(owners[~is_own], found[~is_own]),
        )

    def _exchange_requests(self, drafts: list[_Draft]) -> list[list[Ids]]:
        """Return for each batch the own rows that each worker asks for; ask for those of others."""
        if not drafts:
            return []
        peers = range(self.workers.count)
        sizes = [np.array([draft.fetched[p].size for draft in drafts]) for p in peers]
        ids = [np.concatenate([draft.fetched[p] for draft in drafts]) for p in peers]
        asked_sizes = self.workers.exchange_arrays(sizes)
        asked = self.workers.exchange_arrays(ids)
        by_peer = [np.split(asked[p], np.cumsum(asked_sizes[p])[:-1]) for p in peers]
        return [[by_peer[p][i] for p in peers] for i in range(len(drafts))]

    def _part(self, draft: _Draft, asked: list[Ids]) -> _Part:
        owners = self.partition.owners(draft.block_sources)
        mine = owners == self.workers.rank
        parts = [
            *(draft.sources, draft.turned, draft.targets[draft.is_own], np.concatenate(asked)),
            *(draft.block_sources[mine], draft.block_targets),
        ]
        rows = self.partition.rows(np.concatenate(parts)).astype(np.int32)
        nodes, at = compact_ids(rows, self._row_scratch)
        own = np.split(at, np.cumsum([part.size for part in parts])[:-1])
        sources, turned, targets, asked_at, block_own, block_targets = own
        # Where targets stand: the own ones among the nodes, the others behind them as they come.
        stand = np.empty(draft.targets.size, dtype=np.int64)
        stand[draft.is_own] = targets
        theirs = np.flatnonzero(~draft.is_own)
        by_owner = np.concatenate(
            self._by_owner(self.partition.owners(draft.targets[theirs]), theirs)
        )
        stand[by_owner] = nodes.size + np.arange(by_owner.size)
        # Sources of the block come by owner, and are needed as drawn.
        block_order = np.empty(owners.size, dtype=np.int64)
        block_order[np.argsort(owners, kind="stable")] = np.arange(owners.size)
        route = Route(
            asked=asked_at,
            asked_counts=[part.size for part in asked],
            fetched_counts=[part.size for part in draft.fetched],
            block_own=block_own,
            block_counts=np.bincount(owners, minlength=self.workers.count).tolist(),
            block_order=block_order,
        )
        return _Part(draft, nodes, sources, turned, stand, block_targets, route)

    @cached_property
    def _fixed(self) -> NDArray[np.int32]:
        """The fixed negatives of the own nodes, row by row."""
        nodes, settings = self.partition.nodes_of(self.workers.rank), self.settings
        fixed: NDArray[np.int32] = fixed_negatives_of(
            self.graph.indptr,
            self.graph.indices,
            nodes,
            settings.set_size,
            derive_seed(self.seed, "negatives"),
            not settings.replacement,
        )
        return fixed


@dataclass(eq=False)
class _Part:
    """A worker's part of a batch in positions, before the parts of all are counted."""

    draft: _Draft
    nodes: Ids
    sources: Positions
    turned: Positions
    stand: Positions
    block_targets: Positions
    route: Route

    def batch(self, following: Place, whole: Counts) -> ShardedBatch:
        """Return the part, given where the next one is and how much all parts have together."""
        draft, stand = self.draft, self.stand
        pair_targets, turned_targets, *drawn = draft.targets_at
        negatives: Positions | None = None
        block = None
        if drawn:
            (places,) = drawn
            found = np.where(places >= 0, stand[places], -1)
            negatives = found.reshape(self.sources.size, -1)
        else:
            block_sources = self.nodes.size + np.arange(draft.block_sources.size)
            block = Block(block_sources, self.block_targets, *draft.skipped)
        return ShardedBatch(
            nodes=self.nodes,
            sources=self.sources,
            targets=stand[pair_targets],
            negatives=negatives,
            block=block,
            reversed_sources=self.turned,
            reversed_targets=stand[turned_targets],
            next=following,
            route=self.route,
            whole=whole,
        )
