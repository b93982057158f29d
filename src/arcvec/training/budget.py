"""A fit in a given time: the whole recipe if there is time, else one training that ends with it.

If even that is too slow, fall back to vectors that need no training.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from arcvec.training.edge_projection import EdgeProjection, require_edges
from arcvec.training.quick import has_profiles, quick_fit

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.graph import Graph
    from arcvec.training.hooks import Hooks, Progress

# Importing torch takes more than one of these, and the start of a training most of the rest.
_MIN_SECONDS_TO_TRAIN = 3.0
# Trainings of fewer steps are worse than vectors that need none.
_MIN_STEPS, _MIN_STEPS_BESIDE_PROFILES = 5, 25
_SAMPLED_PATHS = 20_000
# The first steps warm up caches: the speed is that of the ones after them.
_STEPS_TO_WARM_UP, _STEPS_TO_MEASURE = 1, 3
# Part of the time left for the vectors of all nodes, after the last step.
_SHARE_OF_THE_END = 0.05


def fit_within(
    seconds: float,
    method: EdgeProjection,
    graph: Graph,
    hooks: Hooks | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> EdgeEmbeddings:
    """Return vectors of all nodes after about so many seconds, or sooner where all is done.

    If the whole method takes longer, one member is trained on all edges, without trials, and its
    learning rate falls to zero when the time ends. If even that is too slow, fall back to
    `quick_fit`.

    Raises:
        ValueError: the graph has no edge between two different nodes.
    """
    from arcvec.training.hooks import Hooks, Interrupted

    require_edges(graph)
    deadline = clock() + seconds * (1 - _SHARE_OF_THE_END)
    if seconds < _MIN_SECONDS_TO_TRAIN:
        return quick_fit(graph, method.dim, method.seed)
    hooks = hooks or Hooks()
    if method.goal == "ranking":
        return _rank_within(deadline, method, graph, hooks, clock)
    pace = _Pace(deadline, steps_of_all(method, graph), clock)

    def report(progress: Progress) -> None:
        pace.ticks.append(clock())
        if hooks.report:
            hooks.report(progress)

    def should_stop() -> bool:
        return pace.has_time_for_all() or bool(hooks.should_stop and hooks.should_stop())

    hurried = replace(hooks, report=report, should_stop=should_stop, end_at=pace.end)
    try:
        trained = shortened(method, graph).fit(graph, hurried)
    except Interrupted:
        if not pace.decided_for_all:
            raise
        return method.fit(graph, hooks)
    enough = _MIN_STEPS_BESIDE_PROFILES if has_profiles(graph) else _MIN_STEPS
    if trained.settings["steps_done"] < min(enough, method.training.steps):
        return quick_fit(graph, method.dim, method.seed)
    return trained


def _rank_within(
    deadline: float,
    method: EdgeProjection,
    graph: Graph,
    hooks: Hooks,
    clock: Callable[[], float],
) -> EdgeEmbeddings:
    """Return the order alone, then with its settings chosen, then the whole fit, as time allows."""
    from arcvec.training.hooks import Interrupted
    from arcvec.training.order import num_sweeps

    def is_late(seconds: float) -> bool:
        return clock() + seconds > deadline

    started = clock()
    result = shortened(method, graph).fit(graph, hooks)
    seconds_per_sweep = (clock() - started) / num_sweeps(method.ranking, with_trials=False)
    seconds = seconds_per_sweep * num_sweeps(method.ranking, with_trials=True)
    if is_late(seconds):
        return result
    alone = method.ranking.model_copy(update={"likelihood_share": 0.0})
    result = method.model_copy(update={"ranking": alone}).fit(graph, hooks)
    # The order is learned again, then the likelihood: its trials take what one training does.
    pace = _Pace(deadline, 2 * method.training.steps, clock)

    def report(progress: Progress) -> None:
        if progress.loss is not None:
            pace.ticks.append(clock())
        if hooks.report:
            hooks.report(progress)

    def should_stop() -> bool:
        late = pace.is_measured and not pace.has_time_for_all()
        return late or bool(hooks.should_stop and hooks.should_stop())

    if is_late(seconds):
        return result
    try:
        return method.fit(graph, replace(hooks, report=report, should_stop=should_stop))
    except Interrupted:
        if not pace.is_measured or pace.decided_for_all:
            raise
        return result


def steps_of_all(method: EdgeProjection, graph: Graph) -> int:
    """Return about how many steps the whole method takes: members, and trials of the first."""
    members, _ = method.parts(graph)
    # Trials that end half way, or only have the first part, take together what one member takes.
    return (members + 1) * method.training.of_one_of(members).steps


def shortened(method: EdgeProjection, graph: Graph) -> EdgeProjection:
    """Return the method without all that chooses between trainings or joins several.

    Of several windows, it has the smallest where nodes share many neighbours, else the first.
    """
    windows = method.walks.window
    window = windows[0]
    if len(windows) > 1 and not graph.directed and _shared_neighbours(graph) > 1:
        window = min(windows)
    walks = method.walks.model_copy(update={"window": (window,)})
    changes = {"walks": walks, "training": method.training.on_all_edges()}
    return method.model_copy(update={"members": 1, "member_dim": None, **changes})


def _shared_neighbours(graph: Graph) -> float:
    """Return about what part of paths u - v - w has an edge u - w, times the mean degree."""
    generator = np.random.default_rng(0)
    degrees = graph.out_degrees
    paths = (degrees * (degrees - 1)).astype(np.float64)
    if not paths.any():
        return 0.0
    middles = generator.choice(graph.num_nodes, _SAMPLED_PATHS, p=paths / paths.sum())
    first = generator.integers(degrees[middles])
    second = (first + generator.integers(1, degrees[middles])) % degrees[middles]
    ends = (graph.indices[graph.indptr[middles] + offset] for offset in (first, second))
    return float(graph.has_edges(*ends).mean() * degrees.mean())


@dataclass
class _Pace:
    """How fast steps go, when each was done, and with which one the time ends.

    Attributes:
        steps: of the whole method; decided_for_all: whether these end in time.
    """

    deadline: float
    steps: int
    clock: Callable[[], float]
    ticks: list[float] = field(default_factory=list)
    decided_for_all: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether there were enough steps to tell how fast they go."""
        return len(self.ticks) >= _STEPS_TO_WARM_UP + _STEPS_TO_MEASURE

    @property
    def seconds_per_step(self) -> float:
        """Of all steps but the first; 0 before there are enough."""
        measured = len(self.ticks) - _STEPS_TO_WARM_UP
        if measured < _STEPS_TO_MEASURE:
            return 0.0
        return (self.ticks[-1] - self.ticks[_STEPS_TO_WARM_UP - 1]) / measured

    def has_time_for_all(self) -> bool:
        """Return whether the whole method would end in time; decided after the first steps."""
        speed = self.seconds_per_step
        if speed and len(self.ticks) == _STEPS_TO_WARM_UP + _STEPS_TO_MEASURE:
            self.decided_for_all = self.ticks[-1] + self.steps * speed < self.deadline
        return self.decided_for_all

    def end(self, step: int, end: int) -> int:
        """Return the step to end with, so that the time is not exceeded."""
        left, speed = self.deadline - self.clock(), self.seconds_per_step
        if left <= 0:
            return step
        return min(end, step + int(left / speed)) if speed else end
