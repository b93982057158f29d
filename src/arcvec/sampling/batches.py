"""Batches: pairs with their negatives, cut among the workers by the owner of the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.kernels.negatives import compact_ids, draw_negatives, edges_in_block, fixed_negatives
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.routes import Positions, Route
from arcvec.sampling.pairs import WalkPairs, derive_seed
from arcvec.sampling.prefetch import prefetch
from arcvec.sampling.settings import NegativeSettings, WalkSettings

Ids = NDArray[np.int32]
_Ends: TypeAlias = tuple[Ids, Ids]

# Looking up whether an edge goes both ways takes longer than drawing a pair.
PAIRS_PER_REVERSED = 4
# More than a round has by default, so that the next round is made while these are used.
_PREFETCHED_BATCHES = 8
_MAX_EMPTY_ROUNDS = 100
# Workers ask each other for the vectors of so many batches at once.
_BATCHES_AT_ONCE = 16
_NO_IDS: Ids = np.empty(0, dtype=np.int32)
_NO_ENTRIES = np.empty(0, dtype=np.int64)


class Place(NamedTuple):
    """Position of a batch in the stream, which a checkpoint keeps."""

    round_number: int = 0
    batch_number: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """Some sources against some targets: all cells are negatives but edges and self-loops."""

    sources: Positions
    targets: Positions
    skipped_rows: Positions
    skipped_columns: Positions

    @property
    def num_cells(self) -> int:
        """How many cells are negatives."""
        return self.sources.size * self.targets.size - self.skipped_rows.size


class Counts(NamedTuple):
    """Sizes of a whole batch, over all workers: what losses are means over."""

    pairs: int
    cells: int
    reversed_edges: int
    nodes: int


@dataclass(frozen=True, eq=False)
class Batch:
    """One worker's part of a step.

    It has the pairs whose source this worker owns, and of the block the targets that it owns.
    Positions count its own nodes first, then the vectors fetched from other workers: of sources
    for the sources of the block, of targets for all else.

    Attributes:
        nodes: (k,) int32, distinct rows of this worker's node table.
        sources, targets: (b,) pairs.
        negatives: (b, K) of each pair's source, -1 where there are fewer; None with a block.
        reversed_sources, reversed_targets: (r,) reversed one-way edges.
    """

    nodes: Ids
    sources: Positions
    targets: Positions
    negatives: Positions | None
    block: Block | None
    reversed_sources: Positions
    reversed_targets: Positions
    route: Route
    counts: Counts
    next: Place

    @property
    def anchors(self) -> Positions:
        """Positions of the own nodes that are the source of something."""
        return np.unique(np.concatenate([self.sources, self.reversed_sources, self.route.sources]))


class _Draft(NamedTuple):
    """A worker's part of a batch in ids; it has the whole block.

    Attributes:
        negatives: (b, K) of each pair's source, -1 where there are fewer; K = 0 with a block.
    """

    pairs: _Ends
    reversed_edges: _Ends
    block: _Ends
    negatives: Ids

    @property
    def targets(self) -> list[Ids]:
        """Targets of the pairs, of the reversed edges, and the negatives that exist."""
        return [self.pairs[1], self.reversed_edges[1], self.negatives[self.negatives >= 0]]


class BatchStream:
    """An endless stream of batches; each depends on the seed and its place alone.

    A round of pairs is made by all workers together: walks are cut among them, pairs go to the
    owners of their sources, and workers ask each other for the vectors of several batches at once.
    A step then exchanges vectors only. Over all workers, a round has the same pairs, blocks and
    reversed edges for any number of workers; how its pairs are dealt to batches differs.

    Args:
        threads: that prefetch batches; with 0, batches are made when they are requested.
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
        workers: Alone | None = None,
    ) -> None:
        self.pairs = WalkPairs(graph, walks, seed)
        self.graph, self.settings = graph, negatives
        self.batch_pairs, self.seed, self.threads = batch_pairs, seed, threads
        # A thread that prefetches must not share connections with the one that takes steps.
        self.workers = workers.beside if workers and threads else workers or Alone()
        self.partition = Partition(graph.num_nodes, self.workers.count)
        self._scratch = np.full(graph.num_nodes, -1, dtype=np.int32)

    def start_at(self, place: Place) -> Iterator[Batch]:
        """Yield batches from a place on."""
        batches = self._batches(place)
        return prefetch(batches, _PREFETCHED_BATCHES, self.threads) if self.threads else batches

    def _batches(self, place: Place) -> Iterator[Batch]:
        number, first = place
        empty_rounds = 0
        while empty_rounds <= _MAX_EMPTY_ROUNDS:
            empty_rounds += 1
            for batch in self._round(number, first):
                empty_rounds = 0
                yield batch
            number, first = number + 1, 0
        raise ValueError("walks give no pairs: the graph has no edge between two nodes")

    def _round(self, number: int, first: int) -> Iterator[Batch]:
        """Yield the batches of a round from one of them on, made some at a time."""
        pairs = self._own_pairs(number)
        num_pairs = int(self.workers.sum(np.array([pairs[0].size]))[0])
        num_batches = -(-num_pairs // self.batch_pairs)
        cuts = np.linspace(0, pairs[0].size, num_batches + 1).astype(np.int64)
        pair_counts = self.workers.sum(np.diff(cuts))
        for some in range(first, num_batches, _BATCHES_AT_ONCE):
            places = [Place(number, i) for i in range(some, num_batches)][:_BATCHES_AT_ONCE]
            blocks, entries = self._draw(places, pair_counts)
            reversed_edges = self._reversed_edges(entries)
            drafts = []
            for place, block, edges in zip(places, blocks, reversed_edges, strict=True):
                cut = slice(*cuts[place.batch_number : place.batch_number + 2])
                negatives = self._negatives(pairs[0][cut], place)
                drafts.append(_Draft((pairs[0][cut], pairs[1][cut]), edges, block, negatives))
            following = [*places[1:], Place(number, places[-1].batch_number + 1)]
            if following[-1].batch_number == num_batches:
                following[-1] = Place(number + 1)
            yield from self._finished(drafts, following)

    def _finished(self, drafts: list[_Draft], following: list[Place]) -> Iterator[Batch]:
        """Yield batches, given all workers' drafts of them and the places after each."""
        fetched = [self._foreign(np.concatenate(draft.targets)) for draft in drafts]
        asked = self._asked(fetched)
        parts = [self._locate(*known) for known in zip(drafts, fetched, asked, strict=True)]
        counts = self.workers.sum(np.array([_counts(part) for part in parts], dtype=np.int64))
        for part, count, place in zip(parts, counts.tolist(), following, strict=True):
            yield Batch(**part, counts=Counts(*count), next=place)

    def _own_pairs(self, number: int) -> _Ends:
        """Return the shuffled pairs of a round whose source this worker owns."""
        per_round = self.pairs.walks_per_round
        mine = self.workers.share(per_round)
        made = self.pairs.pairs(number * per_round + mine.start, len(mine))
        sources, targets = self._to_owners(np.stack(made, axis=1)).T
        order = np.random.default_rng(self._seed_of("shuffle", number)).permutation(sources.size)
        return sources[order], targets[order]

    def _to_owners(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the rows that begin with a node of this worker, given rows of any nodes."""
        return np.concatenate(self.workers.exchange(self.partition.split(rows[:, 0], rows)))

    def _seed_of(self, purpose: str, *numbers: int) -> int:
        """Return a seed of this worker alone; the first worker has that of one process."""
        rank = (self.workers.rank,) if self.workers.rank else ()
        return derive_seed(self.seed, purpose, *numbers, *rank)

    def _draw(
        self, places: list[Place], pair_counts: NDArray[np.int64]
    ) -> tuple[list[_Ends], list[NDArray[np.int64]]]:
        """Return the blocks of some batches and the edges to reverse, the same on all workers."""
        settings = self.settings
        if settings.kind == "fixed":
            return [(_NO_IDS, _NO_IDS)] * len(places), [_NO_ENTRIES] * len(places)
        with_reversed = self.graph.directed and settings.reversed_weight > 0
        blocks, entries = [], []
        for place in places:
            num_pairs = pair_counts[place.batch_number]
            generator = np.random.default_rng(derive_seed(self.seed, "batch", *place))
            sources = self._sample_nodes(generator, settings.block_sources)
            blocks.append((sources, self._sample_nodes(generator, settings.block_targets)))
            count = -(-int(num_pairs) // PAIRS_PER_REVERSED) if with_reversed else 0
            entries.append(generator.integers(self.graph.indices.size, size=count))
        return blocks, entries

    def _sample_nodes(self, generator: np.random.Generator, count: int) -> Ids:
        """Return distinct nodes: all where there are no more than `count`, else about `count`."""
        num_nodes = self.graph.num_nodes
        if num_nodes <= count:
            return self._all_nodes
        if num_nodes <= 8 * count:
            return generator.permutation(num_nodes)[:count].astype(np.int32)
        # A permutation would cost O(|V|) per step; the few repeats among so many are dropped.
        return np.unique(generator.integers(num_nodes, size=count)).astype(np.int32)

    @cached_property
    def _all_nodes(self) -> Ids:
        return np.arange(self.graph.num_nodes, dtype=np.int32)

    def _reversed_edges(self, entries: list[NDArray[np.int64]]) -> list[_Ends]:
        """Return for each batch the reversed one-way edges whose new source this worker owns."""
        found = [np.empty((0, 3), dtype=np.int32)]
        for i, drawn in enumerate(entries):
            mine = self.workers.share(drawn.size)
            ends = self._reverse(drawn[mine.start : mine.stop])
            found.append(np.stack([*ends, np.full(ends[0].size, i, dtype=np.int32)], axis=1))
        rows = self._to_owners(np.concatenate(found))
        rows = rows[np.argsort(rows[:, 2], kind="stable")]
        cuts = np.searchsorted(rows[:, 2], np.arange(1, len(entries)))
        return [(part[:, 0], part[:, 1]) for part in np.split(rows, cuts)]

    def _reverse(self, entries: NDArray[np.int64]) -> _Ends:
        """Return the reverse of edges, given as entries of the graph; not of those both ways."""
        graph = self.graph
        # Not `row_of_entry`, which is as large as the graph.
        sources, targets = graph.sources_of(entries), graph.indices[entries]
        one_way = ~graph.has_edges(targets, sources)
        return targets[one_way], sources[one_way]

    def _negatives(self, sources: Ids, place: Place) -> Ids:
        """Return negatives of each source from its fixed set; none with a block."""
        if self.settings.kind == "block":
            return np.empty((sources.size, 0), dtype=np.int32)
        rows, distinct = self.partition.rows(sources), not self.settings.replacement
        seed, count = self._seed_of("batch", *place), self.settings.per_pair
        drawn: Ids = draw_negatives(self._fixed, rows, count, seed, distinct)
        return drawn

    def _is_own(self, nodes: Ids) -> NDArray[np.bool_]:
        own: NDArray[np.bool_] = self.partition.owners(nodes) == self.workers.rank
        return own

    def _foreign(self, nodes: Ids) -> list[Ids]:
        """Return the distinct nodes of each other worker among some nodes."""
        found, _ = compact_ids(nodes[~self._is_own(nodes)], self._scratch)
        return self.partition.split(found, found)

    def _asked(self, fetched: list[list[Ids]]) -> list[list[Ids]]:
        """Return for each batch the own nodes that each worker asks for, given the reverse."""
        peers = range(self.workers.count)
        sizes = [np.array([batch[p].size for batch in fetched], dtype=np.int64) for p in peers]
        ids = [np.concatenate([_NO_IDS, *(batch[p] for batch in fetched)]) for p in peers]
        known = self.workers.exchange(sizes, [len(fetched)] * len(peers))
        asked = zip(self.workers.exchange(ids), known, strict=True)
        by_peer = [np.split(part, np.cumsum(counts)[:-1]) for part, counts in asked]
        return [[by_peer[p][i] for p in peers] for i in range(len(fetched))]

    def _locate(self, draft: _Draft, fetched: list[Ids], asked: list[Ids]) -> dict[str, Any]:
        """Return the fields of a batch in positions, but for its counts and its successor.

        Args:
            fetched, asked: nodes whose target vectors come from, and go to, each worker.
        """
        targets = np.concatenate(draft.targets)
        in_rows, in_columns = draft.block
        own, own_rows = self._is_own(targets), self._is_own(in_rows)
        own_columns = in_columns[self._is_own(in_columns)]
        parts = [draft.pairs[0], targets[own], draft.reversed_edges[0]]
        parts += [in_rows[own_rows], own_columns, *asked]
        nodes, numbers = self._number_rows(self.partition.rows(np.concatenate(parts)))
        sources, at, reversed_sources, block_own, block_targets, *asked_at = _split(numbers, parts)
        at = self._positions(targets, own, at, nodes.size, fetched)
        pair_targets, reversed_targets, drawn = _split(at, draft.targets)
        negatives, block, others = None, None, self._foreign(in_rows)
        if self.settings.kind == "block":
            block_sources = self._positions(in_rows, own_rows, block_own, nodes.size, others)
            csr = self.graph.indptr, self.graph.indices
            skipped = edges_in_block(*csr, in_rows, own_columns, self._scratch)
            block = Block(block_sources, block_targets, *skipped)
        else:
            negatives = np.full(draft.negatives.shape, -1, dtype=np.int64)
            negatives[draft.negatives >= 0] = drawn
        return {
            "nodes": nodes,
            "sources": sources,
            "targets": pair_targets,
            "negatives": negatives,
            "block": block,
            "reversed_sources": reversed_sources,
            "reversed_targets": reversed_targets,
            "route": Route(asked_at, block_own, list(map(len, fetched)), list(map(len, others))),
        }

    def _number_rows(self, rows: NDArray[np.int64]) -> tuple[Ids, Positions]:
        """Return the distinct rows of a batch, and the position of each given row among them."""
        if self.settings.kind == "block" and self.graph.num_nodes <= self.settings.block_targets:
            return self._all_rows, rows
        numbered: tuple[Ids, Positions] = compact_ids(rows, self._scratch)
        return numbered

    @cached_property
    def _all_rows(self) -> Ids:
        return np.arange(self.partition.num_rows(self.workers.rank), dtype=np.int32)

    def _positions(
        self,
        nodes: Ids,
        is_own: NDArray[np.bool_],
        own: Positions,
        num_own: int,
        fetched: list[Ids],
    ) -> Positions:
        """Return the positions of nodes, given those of the own ones and all that are fetched."""
        if is_own.all():
            return own
        positions = np.empty(nodes.size, dtype=np.int64)
        positions[is_own] = own
        order = np.concatenate(fetched)
        self._scratch[order] = num_own + np.arange(order.size, dtype=np.int32)
        positions[~is_own] = self._scratch[nodes[~is_own]]
        self._scratch[order] = -1
        return positions

    @cached_property
    def _fixed(self) -> NDArray[np.int32]:
        """The fixed negatives of the own nodes, row by row."""
        csr = self.graph.indptr, self.graph.indices
        nodes = self.partition.nodes_of(self.workers.rank)
        seed, distinct = derive_seed(self.seed, "negatives"), not self.settings.replacement
        fixed: Ids = fixed_negatives(*csr, nodes, self.settings.set_size, seed, distinct)
        return fixed


def _split(numbers: Positions, parts: list[Ids]) -> list[Positions]:
    """Return numbers of the concatenation of parts, part by part."""
    return np.split(numbers, np.cumsum([part.size for part in parts])[:-1])


def _counts(part: dict[str, Any]) -> Counts:
    """Return the sizes of one worker's part of a batch."""
    block: Block | None = part["block"]
    cells = 0 if block is None else block.num_cells
    return Counts(part["sources"].size, cells, part["reversed_sources"].size, part["nodes"].size)
