"""The one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from arcvec.model.objective import Objective
from arcvec.sampling.batches import BatchStream
from arcvec.training.settings import TrainSettings
from arcvec.training.state import TrainingState
from arcvec.training.validation import Validation


@dataclass(frozen=True)
class Progress:
    """What the loop reports after a step.

    Attributes:
        validation_auc: of the newest validation; None before the first.
    """

    step: int
    steps: int
    loss: float
    pairs_per_second: float
    validation_auc: float | None
    best_auc: float | None


@dataclass(frozen=True)
class Hooks:
    """How the outside watches and steers a training.

    Attributes:
        report: called after every step.
        should_stop: asked after every step; true ends the training with `Interrupted`.
        checkpoint: where the state is kept while training; None keeps none.
        resume: start from that checkpoint.
    """

    report: Callable[[Progress], None] | None = None
    should_stop: Callable[[], bool] | None = None
    checkpoint: Path | None = None
    resume: bool = False


class Interrupted(Exception):
    """Training was asked to stop; its checkpoint, if it keeps one, is written."""

    def __init__(self, step: int, checkpoint: Path | None) -> None:
        super().__init__(f"training stopped after step {step}")
        self.step = step
        self.checkpoint = checkpoint


def train(
    state: TrainingState,
    stream: BatchStream,
    objective: Objective,
    settings: TrainSettings,
    *,
    validation: Validation | None = None,
    hooks: Hooks | None = None,
) -> None:
    """Train `state` in place until its steps are done or the validation AUC stops rising.

    Raises:
        FloatingPointError: the loss of a step is not finite.
        Interrupted: the hooks asked for it.
    """
    hooks = hooks or Hooks()
    meter = _Meter()
    if state.finished(settings):
        return
    for batch in stream.start_at(state.place):
        nodes = torch.from_numpy(batch.nodes).to(state.device, torch.int64)
        rows = state.table.read(nodes)
        sides = state.model(rows, anchor_only=settings.anchor_only)
        loss = objective.loss(sides, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        _require_finite(loss.item(), state.step + 1)
        state.history.recent_losses.append(loss.item())
        anchors = torch.from_numpy(batch.anchors) if settings.anchor_only else None
        state.apply_gradients(nodes, rows, learning_rate(settings, state.step), anchors)
        state.step, state.place = state.step + 1, batch.next
        if state.step % settings.evaluate_every == 0 or state.step == settings.steps:
            if validation:
                state.validate(validation)
            state.history.record(state.step, state.last_auc)
        if hooks.report:
            rate = meter.rate(batch.sources.size)
            hooks.report(
                Progress(
                    state.step, settings.steps, loss.item(), rate, state.last_auc, state.best_auc
                )
            )
        stopping = hooks.should_stop is not None and hooks.should_stop()
        if hooks.checkpoint and (stopping or state.step % settings.checkpoint_every == 0):
            state.save(hooks.checkpoint)
        if state.finished(settings):
            return
        if stopping:
            raise Interrupted(state.step, hooks.checkpoint)


def learning_rate(settings: TrainSettings, step: int) -> float:
    """Return the learning rate of a step, counted from 0."""
    done = step / settings.steps
    stage = settings.learning_rates[int(done * len(settings.learning_rates))]
    return stage * (0.5 + 0.5 * math.cos(math.pi * done) if settings.decay == "cosine" else 1.0)


def _require_finite(loss: float, step: int) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} at step {step}; lower the learning rate "
            "(--training.learning-rates) or raise --training.output-l2"
        )


class _Meter:
    """Pairs per second, over the steps since it was made."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.pairs = 0

    def rate(self, pairs: int) -> float:
        self.pairs += pairs
        return self.pairs / (time.perf_counter() - self.started)
