"""A fit in a given time: a sketch, then ever longer fits, as far as the time goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from arcvec.training.edge_projection import EdgeProjection, require_edges
from arcvec.training.sketch import SpectralSketch

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.graph import Graph
    from arcvec.training.hooks import Hooks

# Importing torch takes more than one of these, and the start of a training most of the rest.
_MIN_SECONDS_TO_TRAIN = 3.0
# Parts of all steps that short trainings take.
_SHARES_OF_STEPS = (1 / 8, 1 / 2)
# Part of the time that is left for writing the vectors of all nodes.
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

    They are those of the longest of `stages` that ended in time; a sketch if none did.

    Raises:
        ValueError: the graph has no edge between two different nodes.
    """
    from arcvec.training.hooks import Hooks, Interrupted

    require_edges(graph)
    deadline = clock() + seconds * (1 - _SHARE_OF_THE_END)
    result = SpectralSketch(dim=method.dim, seed=method.seed).fit(graph)
    if seconds < _MIN_SECONDS_TO_TRAIN:
        return result
    hooks, asked_to_stop = hooks or Hooks(), False

    def should_stop() -> bool:
        nonlocal asked_to_stop
        asked_to_stop |= bool(hooks.should_stop and hooks.should_stop())
        return asked_to_stop or clock() > deadline

    for stage in stages(method):
        try:
            result = stage.fit(graph, replace(hooks, should_stop=should_stop))
        except Interrupted:
            if asked_to_stop:
                raise
            break
    return result


def stages(method: EdgeProjection) -> list[EdgeProjection]:
    """Return ever longer forms of a method, itself the last.

    To recommend, it is the order alone, first with nothing held out and so without a choice of
    settings. For pairs, it is one short training on all edges.
    """
    if method.goal == "ranking":
        alone = method.ranking.model_copy(update={"likelihood_share": 0.0})
        return [_in_short(method, 1.0), method.model_copy(update={"ranking": alone}), method]
    return [*(_in_short(method, share) for share in _SHARES_OF_STEPS), method]


def _in_short(method: EdgeProjection, share: float) -> EdgeProjection:
    """Return the method without held-out edges, trials and members, and a share of its steps."""
    training = method.training.on_all_edges()
    changes = {
        "members": 1,
        "training": training.model_copy(update={"steps": max(1, round(share * training.steps))}),
    }
    return method.model_copy(update=changes)
