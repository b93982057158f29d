"""The state of a training of which each worker has the rows of its own nodes."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from arcvec.model.edge_model import NodeTable
from arcvec.scaleout.checkpoint import load_sharded, save_sharded
from arcvec.scaleout.model import ShardedModel
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers
from arcvec.training.optimisers import PercentDelta, TensorOptimiser
from arcvec.training.settings import TrainSettings
from arcvec.training.state import TrainingState


class ShardedState(TrainingState):
    """Rows and their optimiser state on their owner alone; the network the same on all workers."""

    def __init__(
        self,
        model: ShardedModel,
        table: NodeTable,
        settings: TrainSettings,
        identity: dict[str, Any],
        window: int,
        *,
        partition: Partition,
    ) -> None:
        self.workers: Workers = model.workers
        self.partition = partition
        super().__init__(model, table, settings, identity, window)

    def optimiser_of_rows(self, values: Tensor) -> TensorOptimiser:
        """Return what updates the own rows of the node table."""
        if self.settings.optimiser == "percent-delta":
            return ShardedPercentDelta(values, self.settings.l2, self.workers)
        return super().optimiser_of_rows(values)

    def apply_gradients(
        self, nodes: Tensor, rows: Tensor, learning_rate: float, anchors: Tensor | None = None
    ) -> None:
        """Update the own rows, and the network by the gradients of all workers."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        together = self.workers.sum(torch.cat([g.ravel() for g in gradients]), "network")
        parts = torch.split(together, [g.numel() for g in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
        super().apply_gradients(nodes, rows, learning_rate, anchors)

    def save(self, path: Path) -> None:
        """Write a checkpoint into a folder, together with the other workers."""
        state = {"identity": self.identity, "progress": self._progress()}
        save_sharded(path, self._tensors(), state, self.partition, self.workers)

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint of the same settings, seed and graph, by any workers."""
        tensors, saved = load_sharded(path, self.partition, self.workers)
        self._require_same(saved["identity"], path)
        self._restore(tensors, saved["progress"])

    def _twin(self) -> ShardedState:
        table = NodeTable(self.table.values.clone(), self.table.weights)
        model = deepcopy(self.model)
        assert isinstance(model, ShardedModel)
        return ShardedState(
            model, table, self.settings, self.identity, self.window, partition=self.partition
        )


class ShardedPercentDelta(PercentDelta):
    """PercentDelta whose means are over the rows of all workers."""

    def __init__(self, values: Tensor, l2: float, workers: Workers) -> None:
        super().__init__(values, l2=l2)
        self.workers = workers

    def mean(self, numbers: Tensor) -> Tensor:
        """Return the mean over all that a step updates, on any worker."""
        parts = torch.stack([numbers.double().sum(), numbers.new_tensor(numbers.numel()).double()])
        total, count = self.workers.sum(parts, "statistics")
        mean: Tensor = (total / count).to(numbers)
        return mean
