"""How a training on many workers is begun, and what each of them trains on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from arcvec.graph.graph import Graph
from arcvec.methods.sharded_start import own_spectral_rows
from arcvec.methods.training_plan import SpectralStart, TrainingPlan, choose_device
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.objective import Objective
from arcvec.model.sides import Sides
from arcvec.sampling.batches import BatchStream
from arcvec.scaleout.batches import ShardedStream
from arcvec.scaleout.model import ShardedModel, ShardedObjective
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.state import ShardedState
from arcvec.scaleout.validation import hold_out_shared
from arcvec.scaleout.workers import Workers
from arcvec.training.degrees import DegreeTerms, with_degrees
from arcvec.training.state import TrainingState
from arcvec.training.threads import spare_threads
from arcvec.training.validation import Validation

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ShardedPlan(TrainingPlan):
    """The plan of one worker among several, by the settings of a method.

    Attributes:
        folder: for graphs that all workers map; they must all see it.
    """

    workers: Workers
    folder: Path

    @cached_property
    def partition(self) -> Partition:
        """Which worker has which nodes."""
        return Partition(self.graph.num_nodes, self.workers.count)

    @cached_property
    def sharded_start(self) -> SpectralStart:
        """The newest rows of the own nodes to start from."""
        return SpectralStart(partial(own_spectral_rows, self.partition, self.workers))

    def hold_out(self, seed: int) -> tuple[Graph, Validation | None]:
        """Return the graph to train on while the AUC is watched, and what it is watched on."""
        return hold_out_shared(
            self.graph,
            self.training,
            seed,
            workers=self.workers,
            partition=self.partition,
            folder=self.folder,
        )

    def state(self, seen: Graph, seed: int, *, blank: bool = False) -> TrainingState:
        """Return the state before the first step: the network, and the rows of the own nodes."""
        device = choose_device(self.training.device)
        generator = torch.Generator().manual_seed(seed)
        chosen = self.model.on(seen)
        model = ShardedModel(chosen, self.dim, generator, self.workers)
        columns = EdgeModel.table_dim(chosen, self.dim)
        if blank:
            rows = torch.zeros(self.partition.num_rows(self.workers.rank), columns)
        elif chosen.start == "spectral":
            rows = torch.from_numpy(self.sharded_start.rows(seen, columns, seed))
        else:
            rows = self._random_rows(columns, generator)
        weights = None
        if self.model.statistics == "pairs":
            own = self.partition.nodes_of(self.workers.rank)
            weights = torch.from_numpy(self.pairs_per_node()[own]).to(device, torch.float32)
        return ShardedState(
            model.to(device),
            NodeTable(rows.to(device), weights),
            self.training,
            self.identity,
            self.walks.window[0],
            partition=self.partition,
        )

    def _random_rows(self, columns: int, generator: torch.Generator) -> torch.Tensor:
        """Return the own rows of what `NodeTable.random` would make of all."""
        own = torch.empty(self.partition.num_rows(self.workers.rank), columns)
        for first in range(0, self.partition.num_nodes, _ROWS_AT_ONCE):
            nodes = np.arange(first, min(first + _ROWS_AT_ONCE, self.partition.num_nodes))
            values = torch.rand(len(nodes), columns, generator=generator).mul_(0.2).sub_(0.1)
            mine = self.partition.owners(nodes) == self.workers.rank
            rows = torch.from_numpy(self.partition.rows(nodes[mine]))
            own[rows] = F.normalize(values[torch.from_numpy(mine)])
        return own

    def stream(self, seen: Graph, seed: int, window: int) -> BatchStream:
        """Return this worker's part of the batches of a graph."""
        walks = self.walks.model_copy(update={"window": (window,)})
        return ShardedStream(
            seen,
            walks,
            self.negatives,
            batch_pairs=self.batch_pairs,
            seed=seed,
            # All or none: who makes batches ahead asks the others for theirs.
            threads=self.workers.agree(spare_threads),
            partition=self.partition,
            workers=self.workers,
        )

    def objective(self, seen: Graph) -> Objective:
        """Return what to minimise on a graph."""
        label = self.workers.agree(lambda: self.reversed_label(seen))
        return ShardedObjective(self.negatives, label, self.workers)

    def with_degrees(self, sides: Sides, terms: DegreeTerms) -> Sides:
        """Return the own sides that have what degrees add in their scores."""
        own = self.partition.nodes_of(self.workers.rank)
        return with_degrees(sides, self.graph, terms, own)
