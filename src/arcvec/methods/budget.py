"""A fit in a given time: all of it where there is time enough, else one training that ends then.

Where there is no time for a training either, there is one for a look at the graph; and where a look
tells as much as a short training, the mean of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.methods.edge_projection import EdgeProjection, require_edges
from arcvec.methods.mean_score import one_side, products
from arcvec.methods.profiles import LandmarkProfiles
from arcvec.methods.sketch import SpectralSketch

if TYPE_CHECKING:
    from arcvec.graph.graph import Graph
    from arcvec.training.hooks import Hooks, Progress

# Of which torch takes more than one to import, and the start of a training most of the rest.
_SECONDS_TO_TRAIN = 3.0
# On held-out edges, singular vectors are better than trainings of fewer steps.
_FEWEST_STEPS = 5
# Profiles are better than trainings of fewer than these, at this dim. At a lower one they are worth
# less beside a training, which needs fewer numbers to tell as much.
_STEPS_WORTH_PROFILES, _DIM_OF_PROFILES = 100, 128
# With more nodes, profiles take too much memory, or have too few landmarks.
_MOST_NODES_WITH_PROFILES = 1 << 16
# What singular vectors count beside profiles: chosen on held-out edges, among 0, .1, .25, .5 and 1.
# Alone, profiles lose .0005 on soc-facebook and .0014 on ppi at dim 128.
_WORTH_OF_SINGULAR_VECTORS = 0.1
_PATHS_LOOKED_AT = 20_000
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
    and its learning rate falls to zero when they end. Where they are too few for that, or for more
    than its first steps, vectors are those of `quick_fit`; where these tell as much as a short
    training, the score is a mean of both.

    Args:
        clock: tells the seconds since some moment.

    Raises:
        ValueError: the graph has no edge between two different nodes.
    """
    from arcvec.training.hooks import Hooks, Interrupted

    require_edges(graph)
    deadline = clock() + seconds * (1 - _LEFT_FOR_THE_END)
    if seconds < _SECONDS_TO_TRAIN:
        return quick_fit(graph, method.dim, method.seed)
    profiles = quick_fit(graph, method.dim, method.seed) if _has_profiles(graph) else None
    hooks = hooks or Hooks()
    pace = _Pace(deadline, steps_of_all(method, graph), clock)

    def report(progress: Progress) -> None:
        pace.tick()
        if hooks.report:
            hooks.report(progress)

    def should_stop() -> bool:
        return pace.has_time_for_all() or bool(hooks.should_stop and hooks.should_stop())

    hurried = replace(hooks, report=report, should_stop=should_stop, end_at=pace.end)
    try:
        trained = shortened(method, graph).fit(graph, hurried)
    except Interrupted:
        if not pace.has_time_for_all():
            raise
        return method.fit(graph, hooks)
    worth = min(1.0, method.dim / _DIM_OF_PROFILES)
    fewest = round(_STEPS_WORTH_PROFILES * worth) if profiles else _FEWEST_STEPS
    if trained.settings["steps_done"] < min(fewest, method.training.steps):
        return profiles or quick_fit(graph, method.dim, method.seed)
    return mean_of(trained, profiles, worth) if profiles else trained


def quick_fit(graph: Graph, dim: int, seed: int) -> EdgeEmbeddings:
    """Return vectors that need no training."""
    sketch = SpectralSketch(dim=dim, seed=seed).fit(graph)
    if not _has_profiles(graph):
        return sketch
    profiles = LandmarkProfiles(dim=dim, seed=seed).fit(graph)
    return mean_of(profiles, sketch, _WORTH_OF_SINGULAR_VECTORS)


def _has_profiles(graph: Graph) -> bool:
    return not graph.directed and graph.num_nodes <= _MOST_NODES_WITH_PROFILES


def mean_of(result: EdgeEmbeddings, other: EdgeEmbeddings, worth: float) -> EdgeEmbeddings:
    """Return vectors with a mean of two scores, each as large as it varies.

    On held-out edges that of a short training and of profiles is near the better of both, or above
    it: with 10 s at dim 128, ppi .933 of .931 and .927, ca-HepTh .919 of .913 and .912, ca-AstroPh
    .986 of .979 and .986.

    Args:
        worth: what the other one counts.

    Returns:
        the first one as it is where one of them has two vectors for a node.
    """
    if result.weights is None or other.weights is None:
        return result
    counts = (
        result.weights / _spread(result.target, result.weights),
        other.weights / _spread(other.target, other.weights) * worth,
    )
    vectors, signs = one_side((result.target, other.target), counts, result.dim)
    settings = {**result.settings, "joined_with": other.settings["method"]}
    return EdgeEmbeddings.one_vector(
        vectors, signs, result.nodes, directed=result.directed, settings=settings
    )


def _spread(vectors: NDArray[np.floating], weights: NDArray[np.float32]) -> float:
    """Return the standard deviation of the scores of all pairs of nodes."""
    weighted = products(vectors) / len(vectors) * weights
    means = vectors.mean(axis=0, dtype=np.float64)
    variance = (weighted * weighted.T).sum() - (weights * means * means).sum() ** 2
    return float(np.sqrt(max(variance, 0.0))) or 1.0


def steps_of_all(method: EdgeProjection, graph: Graph) -> int:
    """Return about how many steps the whole method takes: members, and trials of the first."""
    members, _ = method.parts(graph)
    # Trials that are given up half way, or watched only, take together what one member takes.
    return (members + 1) * method.training.of_one_of(members).steps


def shortened(method: EdgeProjection, graph: Graph) -> EdgeProjection:
    """Return the method without all that chooses between trainings or joins several.

    Of several windows, it has the smallest where nodes share many neighbours, else the first: as
    held-out edges choose on soc-facebook and ca-AstroPh, and on the other graphs of the paper.
    """
    windows = method.walks.window
    window = windows[0]
    if len(windows) > 1 and not graph.directed and _shared_neighbours(graph) > 1:
        window = min(windows)
    walks = method.walks.model_copy(update={"window": (window,)})
    changes = {"walks": walks, "training": method.training.on_all_edges()}
    return method.model_copy(update={"members": 1, "member_dim": None, **changes})


def _shared_neighbours(graph: Graph) -> float:
    """Return about how many neighbours of a node are linked to one of them, by the mean degree.

    That is the part of paths u - v - w with an edge u - w, times the mean degree.
    """
    generator = np.random.default_rng(0)
    degrees = graph.out_degrees
    paths = (degrees * (degrees - 1)).astype(np.float64)
    if not paths.any():
        return 0.0
    middles = generator.choice(graph.num_nodes, _PATHS_LOOKED_AT, p=paths / paths.sum())
    first = generator.integers(degrees[middles])
    second = (first + generator.integers(1, degrees[middles])) % degrees[middles]
    ends = (graph.indices[graph.indptr[middles] + place] for place in (first, second))
    return float(graph.has_edges(*ends).mean() * degrees.mean())


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
