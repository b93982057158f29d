"""The one training loop."""

from __future__ import annotations

import math
import time

import torch

from arcvec.model.objective import Objective
from arcvec.sampling.batches import BatchStream
from arcvec.training.hooks import Hooks, Interrupted, Progress
from arcvec.training.settings import TrainSettings
from arcvec.training.state import TrainingState
from arcvec.training.validation import Validation


def train(
    state: TrainingState,
    stream: BatchStream,
    objective: Objective,
    *,
    validation: Validation | None = None,
    hooks: Hooks | None = None,
) -> None:
    """Train `state` in place to the end of its part: all steps, or no better AUC any more.

    Raises:
        FloatingPointError: the loss of a step is not finite.
        Interrupted: the hooks asked for it.
    """
    settings, hooks, meter = state.settings, hooks or Hooks(), _Meter()
    if state.finished:
        return
    for batch in stream.start_at(state.place):
        nodes = torch.from_numpy(batch.nodes).to(state.device, torch.int64)
        rows = state.table.read(nodes)
        sides = state.model(rows, anchor_only=settings.anchor_only)
        loss = objective.loss(sides, batch, state.output_l2)
        loss.backward()  # type: ignore[no-untyped-call]
        _require_finite(loss.item(), state.step + 1)
        state.history.recent_losses.append(loss.item())
        anchors = torch.from_numpy(batch.anchors) if settings.anchor_only else None
        rate = learning_rate(settings, state.step, state.watched_until, state.end)
        state.apply_gradients(nodes, rows, rate, anchors)
        state.step, state.place = state.step + 1, batch.next
        if state.step % settings.evaluate_every == 0 or state.step == state.end:
            if validation:
                state.validate(validation)
            state.history.record(state.step, state.last_auc if validation else None)
        if hooks.report:
            hooks.report(
                Progress(
                    step=state.step,
                    steps=state.end if state.settling else settings.steps,
                    loss=loss.item(),
                    pairs_per_second=meter.rate(batch.counts.pairs),
                    validation_auc=state.last_auc,
                    best_auc=state.best_auc,
                    trial=state.trial,
                )
            )
        if hooks.end_at:
            state.end = hooks.end_at(state.step, state.end)
        stopping = hooks.should_stop is not None and hooks.should_stop()
        if hooks.checkpoint and (stopping or state.step % settings.checkpoint_every == 0):
            state.save(hooks.checkpoint)
        # Asked to stop with the very last step, it is done instead; at the end of a part it stops.
        if stopping and not (state.finished and (state.settling or not settings.settle)):
            raise Interrupted(state.step, hooks.checkpoint)
        if state.finished:
            return


def learning_rate(
    settings: TrainSettings, step: int, watched_until: int | None = None, end: int | None = None
) -> float:
    """Return the learning rate of a step, counted from 0.

    Args:
        watched_until: first step of the part that settles; None before that part.
        end: the step after the last one of its part.
    """
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
