"""Validation on held-out training edges: test edges are never looked at."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arcvec.evaluation.curves import roc_auc
from arcvec.graph.components import components, shuffled_positions
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.graph.non_edges import draw_non_edges, reverse_edges
from arcvec.graph.split import cut_edges
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.routes import Positions, Route, fetch, route_to
from arcvec.parallel.shared import shared_graph
from arcvec.training.settings import TrainSettings

logger = logging.getLogger(__name__)
_Chosen: TypeAlias = tuple[Graph, EdgeArray, int]

_FEWEST_EDGES = 20
_LARGEST_PART = 0.2
# Millions of held-out edges would tell no more than these, and take longer than the training.
_MOST_HELD_OUT = 200_000
_MOST_WATCHED = 500_000
# Enough for differences of two percent; their sources are scored against all nodes.
_MOST_RANKED = 4000
_ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Validation:
    """Edges held out of the training graph, and non-edges of it.

    Attributes:
        pairs: (p, 2) edges first, then non-edges; among these, on a directed graph, the reversed
            one-way edges.
        is_edge: (p,) bool.
    """

    pairs: NDArray[np.int32]
    is_edge: NDArray[np.bool_]
    graph: Graph
    workers: Alone = field(default_factory=Alone)

    def auc(self, sides: Sides) -> float:
        """Return the ROC-AUC of the scores of sides."""
        return self.auc_of(self.scores(sides).cpu().numpy())

    def auc_of(self, scores: NDArray[np.floating]) -> float:
        """Return the ROC-AUC of one score for each pair."""
        return roc_auc(scores[self.is_edge], scores[~self.is_edge])

    def mean_gain(self, sides: Sides) -> float:
        """Return the mean of `gains`, at most 1."""
        return float(self.gains(sides).mean())

    @torch.no_grad()
    def gains(self, sides: Sides) -> Tensor:
        """Return 1 / log2(1 + rank) of some held-out edges: the nDCG of a single target.

        It falls more slowly with the rank than the reciprocal does: fewer edges tell two trainings
        apart. Candidates are all nodes but the source and its other targets.
        """
        queries, targets = self._queries(sides), sides.target.cpu()
        if not self.graph.directed and sides.scale is None:
            targets = torch.cat([targets, sides.source.cpu()], dim=1)
        ranked, own_targets, known = self._ranked
        ranks = []
        for first in range(0, len(ranked), _ROWS_AT_ONCE):
            some = slice(first, first + _ROWS_AT_ONCE)
            scores = queries[some] @ targets.T
            rows = torch.arange(len(scores))
            is_own = own_targets[some] >= 0
            true = torch.zeros(len(scores))
            true[is_own] = scores[rows[is_own], own_targets[some][is_own]]
            true = self.workers.sum(true)[:, None]
            within = slice(*torch.searchsorted(known[0], torch.tensor([first, some.stop])).tolist())
            scores[known[0][within] - first, known[1][within]] = -torch.inf
            above = (scores > true).sum(dim=1) + (scores == true).sum(dim=1) / 2
            ranks.append(1 + self.workers.sum(above))
        return 1 / torch.log2(1 + torch.cat(ranks))

    def _queries(self, sides: Sides) -> Tensor:
        """Return the source vectors of the ranked edges, on every worker."""
        edges, *_ = self._ranked
        partition = Partition(self.graph.num_nodes, self.workers.count)
        owners = partition.owners(edges[:, 0])
        own = torch.from_numpy(partition.rows(edges[owners == self.workers.rank, 0]))
        vectors = sides.scaled_source.cpu()[own]
        if not self.graph.directed and sides.scale is None:
            vectors = torch.cat([vectors, sides.target.cpu()[own]], dim=1)
        gathered = torch.cat(self.workers.gather(vectors))
        queries = torch.empty_like(gathered)
        queries[torch.from_numpy(np.argsort(owners, kind="stable"))] = gathered
        return queries

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int32], Tensor, tuple[Tensor, Tensor]]:
        """The edges to rank, their targets' own rows or -1, and cells that are no candidates."""
        edges = self.pairs[self.is_edge]
        if len(edges) > _MOST_RANKED:
            edges = np.random.default_rng(len(edges)).choice(edges, _MOST_RANKED, replace=False)
        partition = Partition(self.graph.num_nodes, self.workers.count)

        def own_rows(nodes: NDArray[np.integer]) -> NDArray[np.int64]:
            mine = partition.owners(nodes) == self.workers.rank
            return np.where(mine, partition.rows(nodes), -1)

        indptr, indices = self.graph.indptr, self.graph.indices
        known = [indices[indptr[node] : indptr[node + 1]] for node in edges[:, 0]]
        known = [np.append(some, node) for some, node in zip(known, edges[:, 0], strict=True)]
        cells = np.repeat(np.arange(len(edges)), [some.size for some in known])
        columns = own_rows(np.concatenate(known))
        kept = columns >= 0
        no_candidates = torch.from_numpy(cells[kept]), torch.from_numpy(columns[kept])
        return edges, torch.from_numpy(own_rows(edges[:, 1])), no_candidates

    def scores(self, sides: Sides) -> Tensor:
        """Return the scores of all pairs, given the sides of this worker's nodes.

        Undirected pairs have the mean of both directions.
        """
        *pairs, route, order = self._own_pairs
        source, target = fetch(sides.source, sides.target, route, self.workers)
        known = replace(sides, source=source, target=target)
        own = known.pair_scores(*(torch.from_numpy(part).to(source.device) for part in pairs))
        gathered = np.concatenate(self.workers.gather(own.cpu().numpy()))
        scores = np.empty_like(gathered)
        scores[order] = gathered
        if not self.graph.directed:
            forward, backward = scores.reshape(2, -1)
            scores = (forward + backward) / 2
        return torch.from_numpy(scores)

    @cached_property
    def _own_pairs(self) -> tuple[Positions, Positions, Route, Positions]:
        """Positions of the pairs whose source this worker owns, and the order of all workers'."""
        pairs = self.pairs
        if not self.graph.directed:
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
        partition = Partition(self.graph.num_nodes, self.workers.count)
        owners = partition.owners(pairs[:, 0])
        own = pairs[owners == self.workers.rank]
        targets, route = route_to(own[:, 1], partition, self.workers)
        return partition.rows(own[:, 0]), targets, route, np.argsort(owners, kind="stable")


def choose_validation(
    graph: Graph,
    settings: TrainSettings,
    seed: int,
    workers: Alone | None = None,
    folder: Path | None = None,
) -> tuple[Graph, Validation | None]:
    """Return the graph to train on, which many workers map from a folder, and the validation."""
    workers = workers or Alone()
    seen, pairs, num_edges = graph, np.empty((0, 2), dtype=np.int32), 0
    if workers.is_first:
        seen, pairs, num_edges = _choose(graph, settings, seed)
    is_other, num_edges = workers.agree(lambda: (seen is not graph, num_edges))
    if is_other:
        seen = shared_graph(workers, folder, lambda: seen)
    if not num_edges:
        return seen, None
    pairs = workers.gather(pairs)[0]
    is_edge = np.arange(len(pairs)) < num_edges
    return seen, Validation(pairs, is_edge, graph, workers)


def _choose(graph: Graph, settings: TrainSettings, seed: int) -> _Chosen:
    """Return the graph to train on, pairs, and how many of these, the first ones, are edges."""
    if settings.selection == "train":
        return graph, *_against_train(graph, seed)
    fraction = settings.validation_fraction
    if fraction and graph.num_edges:
        wanted = min(_LARGEST_PART, settings.validation_edges / graph.num_edges)
        fraction = min(max(fraction, wanted), _MOST_HELD_OUT / graph.num_edges)
    return hold_out(graph, fraction, seed)


def _against_train(graph: Graph, seed: int) -> tuple[EdgeArray, int]:
    """Return training edges and as many non-edges, by which the paper selects models."""
    edges = np.stack(graph.edges(), axis=1)
    if len(edges) > _MOST_WATCHED:
        edges = np.random.default_rng(seed).choice(edges, _MOST_WATCHED, replace=False)
    negatives = draw_non_edges(graph, len(edges), np.random.default_rng([seed, len(edges)]))
    return np.concatenate([edges, negatives]), len(edges)


def hold_out(graph: Graph, fraction: float, seed: int) -> _Chosen:
    """Return a connected graph without some edges, these with non-edges, and their number.

    The graph itself and no edges are returned if none are wanted, or too few can be spared.
    """
    nothing = graph, np.empty((0, 2), dtype=np.int32), 0
    if not fraction:
        return nothing
    if min(_num_spare(graph), fraction * graph.num_edges) < _FEWEST_EDGES:
        logger.info("too few edges to hold some out: training runs all its steps")
        return nothing
    seen, edges, _ = cut_edges(graph, fraction, 0.0, seed)
    negatives = draw_non_edges(graph, len(edges), np.random.default_rng([seed, len(edges)]))
    if graph.directed:
        negatives = np.concatenate([negatives, _reversed(graph, seen, seed)])
    return seen, np.concatenate([edges, negatives]), len(edges)


def _num_spare(graph: Graph) -> int:
    """Return how many edges can be held out of a connected graph, or how many at least."""
    spare = graph.num_edges - graph.num_nodes
    if spare >= _FEWEST_EDGES:
        return spare  # each component adds one: enough without counting them
    return spare + int(components(graph).max(initial=-1)) + 1


def _reversed(graph: Graph, seen: Graph, seed: int) -> EdgeArray:
    """Return reversed one-way edges, as many of held-out edges as of training edges.

    Nearly all one-way edges are training edges: all reverses would measure what was memorised.
    """
    is_returned, trained_on = graph.is_returned, seen.has_edges(graph.row_of_entry, graph.indices)
    held_out = np.flatnonzero(~(is_returned | trained_on))
    is_trained = ~is_returned & trained_on
    generator = np.random.default_rng([seed, held_out.size + int(is_trained.sum())])
    chosen = shuffled_positions(is_trained, generator)[: held_out.size]
    return reverse_edges(graph, np.concatenate([held_out, chosen.astype(np.int64)]))
