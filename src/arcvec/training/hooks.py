"""How the outside watches and steers a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Progress:
    """What the loop reports after a step.

    Attributes:
        validation_auc: of the newest validation; None before the first.
        trial: how often the training was begun anew, each time with a stronger L2 penalty.
        member, members: how many members of an ensemble were trained before this one, and of how
            many.
    """

    step: int
    steps: int
    loss: float
    pairs_per_second: float
    validation_auc: float | None
    best_auc: float | None
    trial: int = 0
    member: int = 0
    members: int = 1


@dataclass(frozen=True)
class Hooks:
    """How the outside watches and steers a training.

    Attributes:
        report: called after every step.
        should_stop: asked after every step; true ends the training with `Interrupted`.
        checkpoint: where the state is kept while training; None keeps none.
        resume: start from that checkpoint.
        end_at: asked after every step, with its number and the last one planned, which to end with.
    """

    report: Callable[[Progress], None] | None = None
    should_stop: Callable[[], bool] | None = None
    checkpoint: Path | None = None
    resume: bool = False
    end_at: Callable[[int, int], int] | None = None


class Interrupted(Exception):
    """Training was asked to stop; its checkpoint, if it keeps one, is written."""

    def __init__(self, step: int, checkpoint: Path | None) -> None:
        super().__init__(f"training stopped after step {step}")
        self.step = step
        self.checkpoint = checkpoint
