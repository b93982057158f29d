"""Validation over all workers: a pair is scored by the owner of its source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arcvec.graph.graph import Graph
from arcvec.model.sides import Sides
from arcvec.scaleout.graphs import shared_graph
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers
from arcvec.storage import load_array
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import Validation, choose_validation


@dataclass(frozen=True, eq=False)
class ShardedValidation(Validation):
    """Held-out edges and non-edges whose scores all workers get, given their own sides."""

    partition: Partition
    workers: Workers

    def scores(self, sides: Sides) -> Tensor:
        """Return the score of every pair: the mean of both directions, if undirected.

        Args:
            sides: of this worker's nodes.
        """
        scores = self._scorers[0].scores(sides)
        if not self.directed:
            scores = (scores + self._scorers[1].scores(sides)) / 2
        return scores

    @cached_property
    def _scorers(self) -> list[PairScorer]:
        ways = [self.pairs] if self.directed else [self.pairs, self.pairs[:, ::-1]]
        return [PairScorer(pairs, self.partition, self.workers) for pairs in ways]


class PairScorer:
    """Scores of fixed pairs, from vectors that change: who needs which is asked once."""

    def __init__(self, pairs: NDArray[np.int32], partition: Partition, workers: Workers) -> None:
        self.workers = workers
        owners = partition.owners(pairs[:, 0])
        self._by_owner = np.argsort(owners, kind="stable")
        mine = pairs[owners == workers.rank]
        wanted, places = np.unique(mine[:, 1], return_inverse=True)
        by_owner = np.argsort(partition.owners(wanted), kind="stable")
        counts = np.bincount(partition.owners(wanted), minlength=workers.count)
        asked = workers.exchange_arrays(np.split(wanted[by_owner], np.cumsum(counts)[:-1]))
        self._fetched_counts = counts.tolist()
        self._asked_counts = [part.size for part in asked]
        self._asked = torch.from_numpy(partition.rows(np.concatenate(asked)))
        stand = np.empty(wanted.size, dtype=np.int64)
        stand[by_owner] = np.arange(wanted.size)
        self._sources = torch.from_numpy(partition.rows(mine[:, 0]))
        self._targets = torch.from_numpy(stand[places])

    def scores(self, sides: Sides) -> Tensor:
        """Return the score of every pair, given the sides of this worker's nodes."""
        device = sides.target.device
        sent = sides.target.index_select(0, self._asked.to(device))
        counts = self._asked_counts, self._fetched_counts
        target = self.workers.exchange(sent, *counts, "validation")
        known = Sides(sides.source, target, sides.scale, sides.mixture)
        mine = known.pair_scores(self._sources.to(device), self._targets.to(device)).cpu()
        all_scores = np.concatenate(self.workers.gather(mine.numpy(), "validation"))
        scores = np.empty_like(all_scores)
        scores[self._by_owner] = all_scores
        return torch.from_numpy(scores)


def hold_out_shared(
    graph: Graph,
    settings: TrainSettings,
    seed: int,
    *,
    workers: Workers,
    partition: Partition,
    folder: Path,
) -> tuple[Graph, Validation | None]:
    """Return what `choose_validation` does: chosen by the first worker, mapped by all.

    Args:
        folder: where the graph to train on and the pairs to watch are kept.
    """
    seen, validation = graph, None
    if workers.is_first:
        seen, validation = choose_validation(graph, settings, seed)
        if validation is not None:
            np.save(folder / "watched.npy", validation.pairs, allow_pickle=False)
    held_out, num_edges = workers.agree(
        lambda: (seen is not graph, None if validation is None else int(validation.is_edge.sum()))
    )
    if held_out:
        seen = shared_graph(workers, folder / "seen", lambda: seen)
    if num_edges is None:
        return seen, None
    pairs = load_array(folder / "watched.npy")
    is_edge = np.arange(len(pairs)) < num_edges
    return seen, ShardedValidation(pairs, is_edge, graph.directed, partition, workers)
