"""What changes while training: parameters, optimiser state, position, the best result so far."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.sides import Sides
from arcvec.sampling.batches import Place
from arcvec.storage import ArrayOnDisk
from arcvec.training.checkpoint import load_checkpoint, save_checkpoint
from arcvec.training.degrees import DegreeTerms
from arcvec.training.optimisers import Adam, PercentDelta, TensorOptimiser
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import Validation

# Rows; a table up to this size is hardly larger than the libraries around it.
_SMALL_TABLE = 1 << 18


@dataclass
class History:
    """The course of a training, at every validation or where one would have been.

    Attributes:
        loss: mean over the steps since the entry before.
        recent_losses: of the steps since the last entry.
    """

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

    def best_until(self, step: int) -> float:
        """Return the best AUC of all entries up to a step; 0 where there is none."""
        aucs = (auc for at, auc in zip(self.step, self.validation_auc, strict=True) if at <= step)
        return max((auc for auc in aucs if auc is not None), default=0.0)

    def as_dict(self) -> dict[str, list[Any]]:
        """Return the entries by column."""
        return {"step": self.step, "loss": self.loss, "validation_auc": self.validation_auc}


@dataclass(frozen=True, eq=False)
class Trained:
    """What is kept of a training that is done.

    Attributes:
        auc: the best on held-out edges; None where none were.
        window: of the walks.
        output_l2: what the vectors were penalised with.
        watched: scores of the held-out pairs before the training settled; None where none were.
        degree_terms: what degrees add, which `sides` have in columns of their own.
    """

    sides: Sides
    steps: int
    auc: float | None
    window: int
    output_l2: float
    history: History
    watched: Tensor | None = None
    degree_terms: DegreeTerms = field(default_factory=DegreeTerms)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the tensors there are, by name."""
        yield from self.sides.tensors()
        if self.watched is not None:
            yield "watched", self.watched


class TrainingState:
    """The model, the node table and their optimisers, with the place in the stream of batches.

    Training has two parts. In the first, held-out edges tell when to stop; in the second, where
    there is one, it settles on all edges.

    Args:
        identity: what a checkpoint must agree with to be resumed: settings, seed, graph, version.

    Attributes:
        window, output_l2: of the walks, and what the vectors are penalised with, in this trial.
        watched: scores of the held-out pairs at the end of the first part.
        trial: how many of these were tried before.
        kept: the best state of the trials before, if there were any.
        done: the members of an ensemble that were trained before this one.
        end: the step with which this part of the training ends at the latest.
        watched_until: the last step of the first part; None during it.
    """

    def __init__(
        self,
        model: EdgeModel,
        table: NodeTable,
        settings: TrainSettings,
        identity: dict[str, Any],
        window: int,
    ) -> None:
        self.model = model
        self.table = table
        self.identity = identity
        self.settings = settings
        self.table_optimiser = self.optimiser_of_rows(table.values)
        self.optimisers = {
            name: self.optimiser(parameter.data) for name, parameter in model.named_parameters()
        }
        self.step = 0
        self.place = Place()
        self.last_auc: float | None = None
        self.best_auc: float | None = None
        self.validations_since_best = 0
        self.best: Sides | None = None
        self.history = History()
        self.window = window
        self.output_l2 = settings.output_l2
        self.watched: Tensor | None = None
        self.trial = 0
        self.kept: TrainingState | None = None
        self.done: list[Trained] = []
        self.best_step = 0
        self.watched_until: int | None = None
        self.end = settings.steps - round(settings.steps * settings.settle)
        self._aside: dict[str, ArrayOnDisk] = {}

    def optimiser(self, values: Tensor) -> TensorOptimiser:
        """Return what updates a shared parameter."""
        rule = Adam if self.settings.optimiser == "adam" else PercentDelta
        return rule(values, l2=self.settings.l2)

    def optimiser_of_rows(self, values: Tensor) -> TensorOptimiser:
        """Return what updates the rows of the node table."""
        return self.optimiser(values)

    @property
    def settling(self) -> bool:
        """Whether the last part of the training, on all edges, has begun."""
        return self.watched_until is not None

    @property
    def device(self) -> torch.device:
        """Where the node table lives."""
        return self.table.values.device

    def apply_gradients(
        self, nodes: Tensor, rows: Tensor, learning_rate: float, anchors: Tensor | None = None
    ) -> None:
        """Update the rows of the batch and all shared parameters, and forget the gradients.

        Args:
            nodes, rows: the nodes of the batch and their rows, with gradients.
            anchors: positions of the only rows to update; BatchNorm gives the others a gradient
                too, through the statistics of the batch.
        """
        gradient = rows.grad
        assert gradient is not None
        if anchors is not None:
            nodes, gradient = nodes[anchors], gradient[anchors]
        with torch.no_grad():
            self.table_optimiser.step(gradient, learning_rate, nodes)
            for name, parameter in self.model.named_parameters():
                if parameter.grad is not None:
                    self.optimisers[name].step(parameter.grad, learning_rate)
                    parameter.grad = None

    def validate(self, validation: Validation) -> None:
        """Measure the AUC of the vectors as they are now, and keep them if it is the best."""
        if _is_large(self.table.values):
            give_back_memory()
        sides = self.model.embed(self.table)
        self.last_auc = validation.auc(sides)
        if self.best_auc is None or self.last_auc > self.best_auc:
            self.best_auc, self.best, self.best_step = self.last_auc, sides, self.step
            self.validations_since_best = 0
        else:
            self.validations_since_best += 1

    @property
    def finished(self) -> bool:
        """Whether all steps of this part are done, or going on with it promises nothing."""
        tired = self.validations_since_best >= self.settings.patience
        return self.step >= self.end or (not self.settling and (tired or self.is_hopeless))

    @property
    def is_hopeless(self) -> bool:
        """Whether half of a trial is over and the best trial before was better until there."""
        if self.kept is None or self.best_auc is None or 2 * self.step < self.end:
            return False
        return self.best_auc < self.kept.history.best_until(self.step)

    def better(self) -> TrainingState:
        """Return the better of this trial and the best before it."""
        if self.kept is None or (self.best_auc or 0.0) > (self.kept.best_auc or 0.0):
            return self
        return self.kept

    def keep_better(self) -> TrainingState:
        """Return the better of this trial and the best before it, and forget the other."""
        best = self.better()
        best.kept = None
        return best

    def put_aside(self) -> None:
        """Let the disk hold a large table and its optimiser, while another trial needs the memory.

        `take_back` undoes it, which must be done before training goes on.
        """
        if not _is_large(self.table.values):
            return
        for name, tensor in self._row_tensors().items():
            self._aside[name] = ArrayOnDisk(tensor.numpy())
            tensor.data = tensor.new_empty(0)
        if self.best:
            self.best = waiting(self.best)

    def take_back(self) -> None:
        """Bring into memory what was put aside; nothing, if nothing was."""
        for name, tensor in self._row_tensors().items():
            if name in self._aside:
                tensor.data = torch.from_numpy(self._aside.pop(name).read())

    def settle(self) -> None:
        """Begin the last part of the training, as long as it took to the best AUC."""
        settings = self.settings
        useful = self.step if self.best_auc is None else self.best_step
        length = round(useful * settings.settle / (1 - settings.settle))
        self.watched_until, self.end = self.step, min(self.step + length, settings.steps)
        self.place = Place(self.place.round_number + 1)
        self.best = None

    def result(self) -> Sides:
        """Return the best sides of all nodes: the newest where nothing was validated."""
        return self.best or self.model.embed(self.table)

    def trained(self) -> Trained:
        """Return what is kept of the training; large sides are kept on disk."""
        return Trained(
            sides=waiting(self.result()),
            steps=self.step,
            auc=self.best_auc,
            window=self.window,
            output_l2=self.output_l2,
            history=self.history,
            watched=self.watched,
        )

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        state = {"identity": self.identity, "progress": self._progress()}
        save_checkpoint(path, self._tensors(), state)

    def _progress(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "place": list(self.place),
            "last_auc": self.last_auc,
            "best_auc": self.best_auc,
            "validations_since_best": self.validations_since_best,
            "watched_until": self.watched_until,
            "end": self.end,
            "best_step": self.best_step,
            "window": self.window,
            "output_l2": self.output_l2,
            "trial": self.trial,
            "kept": None if self.kept is None else self.kept._progress(),
            "history": asdict(self.history),
            "done": [_numbers_of(member) for member in self.done],
        }

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint of the same settings, seed and graph."""
        tensors, saved = load_checkpoint(path)
        self._require_same(saved["identity"], path)
        self._restore(tensors, saved["progress"])

    def _require_same(self, identity: dict[str, Any], path: Path) -> None:
        for name, value in self.identity.items():
            if identity.get(name) != value:
                raise ValueError(
                    f"{path}: cannot resume, the checkpoint was made with another {name}; "
                    "use the same, or fit without --resume"
                )

    def _restore(self, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        if progress["kept"] is not None:
            self.kept = self._twin()
            self.kept._restore(_take(tensors, "kept."), progress["kept"])
        best = _take(tensors, "best.")
        self.best = Sides(**best) if best else None
        self.watched = tensors.pop("watched", None)
        for name, tensor in self._tensors().items():
            if not name.startswith(("best.", "kept.", "done", "watched")):
                tensor.copy_(tensors[name])
        self.step, self.place = progress["step"], Place(*progress["place"])
        self.last_auc, self.best_auc = progress["last_auc"], progress["best_auc"]
        self.validations_since_best = progress["validations_since_best"]
        self.history = History(**progress["history"])
        self.watched_until, self.end = progress["watched_until"], progress["end"]
        self.window, self.output_l2 = progress["window"], progress["output_l2"]
        self.trial = progress["trial"]
        self.best_step = progress["best_step"]
        self.done = [
            _member(_take(tensors, f"done{i}."), numbers)
            for i, numbers in enumerate(progress["done"])
        ]

    def _twin(self) -> TrainingState:
        """Return another state of the same shape, to be restored."""
        table = NodeTable(self.table.values.clone(), self.table.weights)
        return TrainingState(deepcopy(self.model), table, self.settings, self.identity, self.window)

    def _row_tensors(self) -> dict[str, Tensor]:
        """Return what has numbers for every node: the table, and its optimiser's state."""
        state = self.table_optimiser.state().items()
        return {"table": self.table.values} | {f"table.{name}": value for name, value in state}

    def _tensors(self) -> dict[str, Tensor]:
        self.take_back()
        tensors = self._row_tensors()
        for name, parameter in self.model.named_parameters():
            tensors[f"model.{name}"] = parameter.data
            for key, value in self.optimisers[name].state().items():
                tensors[f"model.{name}.{key}"] = value
        if self.best:
            tensors |= {f"best.{name}": tensor for name, tensor in self.best.tensors()}
        if self.watched is not None:
            tensors["watched"] = self.watched
        if self.kept:
            tensors |= {f"kept.{name}": tensor for name, tensor in self.kept._tensors().items()}
        for i, member in enumerate(self.done):
            tensors |= {f"done{i}.{name}": tensor for name, tensor in member.tensors()}
        return tensors


def waiting(sides: Sides) -> Sides:
    """Return sides that are not needed for a while: large ones are on disk."""
    if not _is_large(sides.target):
        return sides
    source, target = (
        torch.from_numpy(ArrayOnDisk(side.numpy()).mapped())
        for side in (sides.source, sides.target)
    )
    return replace(sides, source=source, target=target)


def give_back_memory() -> None:
    """Let the system have what was freed, which the C library keeps: a few hundred MB of steps."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim:
            trim(0)


def _is_large(rows: Tensor) -> bool:
    return rows.device.type == "cpu" and len(rows) > _SMALL_TABLE


def _numbers_of(member: Trained) -> dict[str, Any]:
    return {
        "steps": member.steps,
        "auc": member.auc,
        "window": member.window,
        "output_l2": member.output_l2,
        "history": asdict(member.history),
    }


def _member(tensors: dict[str, Tensor], numbers: dict[str, Any]) -> Trained:
    watched, history = tensors.pop("watched", None), History(**numbers["history"])
    return Trained(Sides(**tensors), **{**numbers, "history": history}, watched=watched)


def _take(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Take the tensors whose names begin so out of a dictionary; names lose the prefix."""
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors.pop(name) for name in names}
