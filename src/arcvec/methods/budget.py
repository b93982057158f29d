"""A fit in a given time: all of it where there is time enough, else one training that ends then.

Where there is no time for a training either, there is one for a look at the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.sketch import SpectralSketch

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.graph import Graph
    from arcvec.training.hooks import Hooks, Progress

# Of which torch takes more than one to import, and the start of a training most of the rest.
_SECONDS_TO_TRAIN = 3.0
# The first steps warm caches up: speed is what the ones after them say.
_STEPS_TO_WARM_UP, _STEPS_TO_MEASURE = 1, 3
# What making the vectors of all nodes takes after the last step, as part of the time.
_LEFT_FOR_THE_END = 0.05


def fit_within(
    seconds: float,
    method: EdgeProjection,
    graph: Graph,
    hooks: Hooks | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> EdgeEmbeddings:
    """Return vectors of all nodes after about so many seconds, or sooner where all is done.

    Where they are too few for the whole method, one member is trained on all edges, without trials,
    and its learning rate falls to zero when they end. Where they are too few for that, vectors are
    those of `SpectralSketch`.

    Args:
        clock: tells the seconds since some moment.
    """
    from arcvec.training.hooks import Hooks, Interrupted

    if seconds < _SECONDS_TO_TRAIN:
        return SpectralSketch(dim=method.dim, seed=method.seed).fit(graph)
    hooks = hooks or Hooks()
    deadline = clock() + seconds * (1 - _LEFT_FOR_THE_END)
    pace = _Pace(deadline, steps_of_all(method, graph), clock)

    def report(progress: Progress) -> None:
        pace.tick()
        if hooks.report:
            hooks.report(progress)

    def should_stop() -> bool:
        return pace.has_time_for_all() or bool(hooks.should_stop and hooks.should_stop())

    hurried = replace(hooks, report=report, should_stop=should_stop, end_at=pace.end)
    try:
        return shortened(method).fit(graph, hurried)
    except Interrupted:
        if not pace.has_time_for_all():
            raise
    return method.fit(graph, hooks)


def steps_of_all(method: EdgeProjection, graph: Graph) -> int:
    """Return about how many steps the whole method takes: members, and trials of the first."""
    members, _ = method.parts(graph)
    # Trials that are given up half way, or watched only, take together what one member takes.
    return (members + 1) * method.training.of_one_of(members).steps


def shortened(method: EdgeProjection) -> EdgeProjection:
    """Return the method without all that chooses between trainings or joins several."""
    walks = method.walks.model_copy(update={"window": (min(method.walks.window),)})
    changes = {"walks": walks, "training": method.training.on_all_edges()}
    return method.model_copy(update={"members": 1, "member_dim": None, **changes})


@dataclass
class _Pace:
    """How fast steps go, and with which one the time ends.

    Attributes:
        deadline: by the clock.
        steps: of the whole method.
        ticks: when each step was done.
    """

    deadline: float
    steps: int
    clock: Callable[[], float]
    ticks: list[float] = field(default_factory=list)

    def tick(self) -> None:
        """Count a step."""
        self.ticks.append(self.clock())

    @property
    def seconds_per_step(self) -> float | None:
        """Of all steps but the first; None before there are enough."""
        measured = len(self.ticks) - _STEPS_TO_WARM_UP
        if measured < _STEPS_TO_MEASURE:
            return None
        return (self.ticks[-1] - self.ticks[_STEPS_TO_WARM_UP - 1]) / measured

    def has_time_for_all(self) -> bool:
        """Whether the whole method would end in time; asked once, after the first steps."""
        if len(self.ticks) != _STEPS_TO_WARM_UP + _STEPS_TO_MEASURE or not self.seconds_per_step:
            return False
        needed = self.steps * self.seconds_per_step
        return self.ticks[-1] + needed < self.deadline

    def end(self, step: int, end: int) -> int:
        """Return the step to end with, so that the time is not exceeded."""
        left = self.deadline - self.clock()
        if left <= 0:
            return step
        return min(end, step + int(left / self.seconds_per_step)) if self.seconds_per_step else end
