"""One training: the loop, and all that changes in it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.objective import Objective
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.parallel.routes import fetch
from arcvec.sampling.batches import Batch, BatchStream, Place
from arcvec.storage.arrays import release_memory
from arcvec.training.checkpoint import Snapshot
from arcvec.training.hooks import Hooks, Interrupted, Progress
from arcvec.training.optimisers import Adam, PercentDelta, TensorOptimiser
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import Validation

_LARGE_TABLE = 1 << 18


@dataclass
class History:
    """The course of a training: at every validation, the mean loss since the one before."""

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    validation_auc: list[float | None] = field(default_factory=list)
    recent_losses: list[float] = field(default_factory=list)

    def record(self, step: int, validation_auc: float | None) -> None:
        """Add an entry."""
        self.step.append(step)
        self.loss.append(fmean(self.recent_losses))
        self.validation_auc.append(validation_auc)
        self.recent_losses.clear()

    def as_dict(self) -> dict[str, list[Any]]:
        """Return the entries by column."""
        return {"step": self.step, "loss": self.loss, "validation_auc": self.validation_auc}


@dataclass
class Status:
    """Where a training stands: all that a checkpoint keeps of it besides tensors.

    Attributes:
        end: the step with which this part of the training ends at the latest.
        watched_until: the last step of the first part; None during it.
    """

    end: int
    step: int = 0
    place: Place = field(default_factory=Place)
    last_auc: float | None = None
    best_auc: float | None = None
    best_step: int = 0
    validations_since_best: int = 0
    watched_until: int | None = None
    history: History = field(default_factory=History)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Status:
        """Return what `asdict` was called on."""
        parts = {"place": Place(*values["place"]), "history": History(**values["history"])}
        return cls(**{**values, **parts})

    @property
    def is_settling(self) -> bool:
        """Whether the last part of the training, on all edges, has begun."""
        return self.watched_until is not None


class Trainer:
    """The model, the node table and their optimisers, with the position in the stream of batches.

    A training has two parts: the first has early stopping on held-out edges, the second, if there
    is one, settles on all edges. Each worker has the rows of its own nodes and the same network.

    Attributes:
        best: the sides with the best AUC so far.
        watched: the sides at the end of the first part, which have not seen the held-out edges.
    """

    def __init__(
        self,
        model: EdgeModel,
        table: NodeTable,
        settings: TrainSettings,
        status: Status,
        workers: Alone,
    ) -> None:
        self.model, self.table = model, table
        self.settings, self.status, self.workers = settings, status, workers
        rule: type[TensorOptimiser] = Adam if settings.optimiser == "adam" else PercentDelta
        self.table_optimiser = rule(table.values, l2=settings.l2, workers=workers)
        self.optimisers = {
            name: rule(parameter.data, l2=settings.l2)
            for name, parameter in model.named_parameters()
        }
        self.best: Sides | None = None
        self.watched: Sides | None = None

    def train(
        self,
        stream: BatchStream,
        objective: Objective,
        *,
        validation: Validation | None = None,
        hooks: Hooks | None = None,
        save: Callable[[], None] | None = None,
    ) -> None:
        """Train to the end of this part: all steps, or until the AUC no longer rises.

        Args:
            save: writes a checkpoint.

        Raises:
            FloatingPointError: the loss of a step is not finite.
            Interrupted: the hooks requested a stop.
        """
        settings, status, hooks = self.settings, self.status, hooks or Hooks()
        started, num_pairs = time.perf_counter(), 0
        if self._is_finished():
            return
        for batch in stream.start_at(status.place):
            loss, stopping = self._step(batch, objective, hooks)
            status.step, status.place = status.step + 1, batch.next
            status.history.recent_losses.append(loss)
            if status.step % settings.evaluate_every == 0 or status.step == status.end:
                if validation:
                    self._validate(validation)
                status.history.record(status.step, status.last_auc if validation else None)
            num_pairs += batch.counts.pairs
            if hooks.report:
                hooks.report(self._progress(loss, num_pairs / (time.perf_counter() - started)))
            if save and (stopping or status.step % settings.checkpoint_every == 0):
                save()
            finished = self._is_finished()
            # A stop requested in the very last step lets the fit end; one between parts does not.
            if stopping and not (finished and (status.is_settling or not settings.settle)):
                raise Interrupted(status.step, hooks.checkpoint)
            if finished:
                return

    def _step(self, batch: Batch, objective: Objective, hooks: Hooks) -> tuple[float, bool]:
        """Take one step; return its loss and whether any worker was asked to stop."""
        status = self.status
        nodes = torch.from_numpy(batch.nodes).to(self.table.values.device, torch.int64)
        rows = self.table.read(nodes)
        sides = self.model(rows, anchor_only=self.settings.anchor_only)
        source, target = fetch(sides.source, sides.target, batch.route, self.workers)
        known = replace(sides, source=source, target=target)
        loss = objective.loss(known, batch, self.settings.output_l2)
        loss.backward()  # type: ignore[no-untyped-call]
        stopping = bool(hooks.should_stop and hooks.should_stop())
        total, stops = self._sum_gradients(loss.item(), stopping)
        if not math.isfinite(total):
            raise FloatingPointError(
                f"the loss is {total} at step {status.step + 1}; lower the learning rate "
                "(--training.learning-rates) or raise --training.output-l2"
            )
        rate = learning_rate(self.settings, status.step, status.watched_until, status.end)
        self._apply_gradients(nodes, rows, rate, batch)
        return total, stops > 0

    def _sum_gradients(self, *numbers: float) -> list[float]:
        """Sum the gradients of the network over all workers; return some numbers, summed too."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        if self.workers.count == 1:
            return list(numbers)
        told = gradients[0].new_tensor(numbers)
        flat = self.workers.sum(torch.cat([told, *(g.ravel() for g in gradients)]))
        summed, *parts = torch.split(flat, [len(numbers), *(g.numel() for g in gradients)])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
        return [float(number) for number in summed]

    def _apply_gradients(self, nodes: Tensor, rows: Tensor, rate: float, batch: Batch) -> None:
        """Update the rows of the batch and all shared parameters, and forget the gradients."""
        gradient = rows.grad
        assert gradient is not None
        if self.settings.anchor_only:
            # BatchNorm gives other nodes a gradient too, through the statistics of the batch.
            anchors = torch.from_numpy(batch.anchors).to(nodes.device)
            nodes, gradient = nodes[anchors], gradient[anchors]
        with torch.no_grad():
            self.table_optimiser.step(gradient, rate, nodes)
            for name, parameter in self.model.named_parameters():
                if parameter.grad is not None:
                    self.optimisers[name].step(parameter.grad, rate)
                    parameter.grad = None

    def _validate(self, validation: Validation) -> None:
        """Measure the AUC of the vectors as they are now, and keep them if it is the best."""
        if len(self.table.values) > _LARGE_TABLE:
            release_memory()
        status, sides = self.status, self.model.embed(self.table, self.workers)
        status.last_auc = validation.auc(sides)
        if status.best_auc is None or status.last_auc > status.best_auc:
            status.best_auc, status.best_step, self.best = status.last_auc, status.step, sides
            status.validations_since_best = 0
        else:
            status.validations_since_best += 1

    def _is_finished(self) -> bool:
        """Return whether all steps of this part are done, or more of them are no use."""
        status = self.status
        is_late = status.validations_since_best >= self.settings.patience
        return status.step >= status.end or (is_late and not status.is_settling)

    def _progress(self, loss: float, pairs_per_second: float) -> Progress:
        status = self.status
        steps = status.end if status.is_settling else self.settings.steps
        aucs = status.last_auc, status.best_auc
        return Progress(status.step, steps, loss, pairs_per_second, *aucs)

    def settle(self) -> None:
        """Begin the last part of the training, as long as it took to the best AUC."""
        status, share = self.status, self.settings.settle
        useful = status.step if status.best_auc is None else status.best_step
        length = round(useful * share / (1 - share))
        status.watched_until = status.step
        status.end = min(status.step + length, self.settings.steps)
        status.place = Place(status.place.round_number + 1)
        self.best = None

    def result(self) -> Sides:
        """Return the best sides of this worker's nodes; the newest if nothing was validated."""
        return self.best or self.model.embed(self.table, self.workers)

    def snapshot(self, **state: Any) -> Snapshot:
        """Return the whole training for a checkpoint, with more JSON values to keep beside it."""
        sides = {"best": self.best, "watched": self.watched}
        return Snapshot.of(sides, {"status": asdict(self.status), **state}, *self._tensors())

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of a training with the same settings."""
        for live, saved in zip(self._tensors(), (snapshot.rows, snapshot.shared), strict=True):
            for name, tensor in live.items():
                tensor.copy_(saved[name])
        self.best, self.watched = snapshot.sides("best"), snapshot.sides("watched")
        self.status = Status.from_dict(snapshot.state["status"])

    def _tensors(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the live tensors by name: with a row for each own node, and all others."""
        rows: dict[str, Tensor] = {"table": self.table.values}
        shared: dict[str, Tensor] = {}
        for name, tensor in self.table_optimiser.state().items():
            (rows if tensor.ndim else shared)[f"table.{name}"] = tensor
        for name, parameter in self.model.named_parameters():
            shared[f"model.{name}"] = parameter.data
            for key, tensor in self.optimisers[name].state().items():
                shared[f"model.{name}.{key}"] = tensor
        return rows, shared


def learning_rate(
    settings: TrainSettings, step: int, watched_until: int | None = None, end: int | None = None
) -> float:
    """Return the learning rate of a step, counted from 0; see `Status` for the other arguments."""
    stage = settings.learning_rates[int(step / settings.steps * len(settings.learning_rates))]
    if settings.decay == "none":
        return stage
    end = settings.steps if end is None else end
    done = step / end
    if settings.settle:
        if watched_until is None:
            return stage
        done = (step - watched_until) / (end - watched_until)
    return stage * (0.5 + 0.5 * math.cos(math.pi * done))
