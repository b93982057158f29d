"""How the outside watches and steers a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Progress:
    """What the loop reports after a step.

    Attributes:
        loss: None while the order is learned, which has none to watch.
        validation_auc: of the newest validation; None before the first.
        member: number of this member of an ensemble, from 0 on.
    """

    step: int
    steps: int
    loss: float | None
    pairs_per_second: float
    validation_auc: float | None
    best_auc: float | None
    member: int = 0
    members: int = 1


@dataclass(frozen=True)
class Hooks:
    """How the outside watches and steers a training.

    Attributes:
        report: called after every step.
        should_stop: called in every step; true ends the training after it, with `Interrupted`.
        checkpoint: where the state is kept while training; None keeps none.
        resume: start from that checkpoint.
    """

    report: Callable[[Progress], None] | None = None
    should_stop: Callable[[], bool] | None = None
    checkpoint: Path | None = None
    resume: bool = False

    def of_member(self, member: int, members: int) -> Hooks:
        """Return the hooks of one member, whose reports carry its number."""
        if (report := self.report) is None:
            return self
        return replace(self, report=lambda p: report(replace(p, member=member, members=members)))


class Interrupted(Exception):
    """Training was asked to stop; its checkpoint, if it keeps one, is written."""

    def __init__(self, step: int, checkpoint: Path | None) -> None:
        super().__init__(f"training stopped after step {step}")
        self.step, self.checkpoint = step, checkpoint
