import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.sampling.settings import WalkSettings
from arcvec.training.budget import fit_within, quick_fit, shortened
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.quick import LandmarkProfiles, SpectralSketch
from arcvec.training.settings import TrainSettings
from tests.training.test_edge_projection import planted_graph

METHOD = EdgeProjection(
    goal="pairs",
    dim=8,
    training=TrainSettings(steps=12, batch_pairs=500, evaluate_every=2, patience=2),
)
LONGER = METHOD.model_copy(update={"training": METHOD.training.model_copy(update={"steps": 200})})


def same(left, right):
    return np.asarray(left.source).tobytes() == np.asarray(right.source).tobytes()


def fit_in_steps(steps, graph, method=METHOD):
    """A fit with time for so many, where a step takes a second."""
    done, seconds = [], steps / 0.95 + 0.5
    hooks = Hooks(should_stop=lambda: done.append(1))
    return fit_within(seconds, method, graph, hooks, clock=lambda: len(done)), len(done)


def test_with_time_enough_it_is_the_whole_fit():
    graph = planted_graph(60)
    reports = []
    fitted = fit_within(1e6, METHOD, graph, Hooks(report=reports.append))
    assert same(fitted, METHOD.fit(graph))
    assert reports[-1].step < len(reports)  # first some steps to see how fast they are


def test_without_time_nothing_is_trained():
    graph = planted_graph(60)
    fitted = fit_within(0.0, METHOD, graph)
    assert same(fitted, SpectralSketch(dim=8, seed=METHOD.seed).fit(graph))
    assert fitted.settings["steps_done"] == 0


def test_undirected_there_are_profiles():
    graph = planted_graph(60, directed=False)
    fitted = fit_within(0.0, METHOD, graph)
    assert same(fitted, LandmarkProfiles(dim=8, seed=METHOD.seed).fit(graph))
    assert fitted.settings["method"] == "landmark-profiles"


def test_after_too_few_steps_nothing_is_trained():
    graph = planted_graph(60)
    fitted, steps = fit_in_steps(3, graph)
    assert steps < 5
    assert same(fitted, SpectralSketch(dim=8, seed=METHOD.seed).fit(graph))
    graph = planted_graph(60, directed=False)
    method = LONGER.model_copy(update={"dim": 32, "members": 1})
    fitted, steps = fit_in_steps(20, graph, method)
    assert steps == 20
    assert same(fitted, quick_fit(graph, 32, METHOD.seed))


def test_in_between_it_ends_with_the_time():
    """Where twelve steps take longer than there is."""
    fitted, steps = fit_in_steps(8, planted_graph(60))
    assert fitted.settings["steps_done"] == steps == 8
    assert fitted.settings["validation_auc"] is None  # all edges are trained on


def cliques(size, number):
    """Each one linked to the next by an edge."""
    inside = [(i, j) for i in range(size) for j in range(i)]
    edges = [(size * k + i, size * k + j) for k in range(number) for i, j in inside]
    edges += [(size * k, size * k + size) for k in range(number - 1)]
    return Graph.from_edges(*zip(*edges, strict=True), directed=False)


def test_the_window_is_short_where_neighbours_are_shared():
    path = Graph.from_edges(np.arange(99), np.arange(1, 100), directed=False)
    pair = Graph.from_edges([0], [1], directed=False)
    windows = [shortened(METHOD, graph).walks.window for graph in (cliques(5, 20), path, pair)]
    assert windows == [(2,), (5,), (5,)]
    one = METHOD.model_copy(update={"walks": WalkSettings(window=7)})
    assert shortened(one, cliques(5, 20)).walks.window == (7,)


def test_a_stop_that_is_asked_for_is_one():
    steps = iter(range(1, 100))
    with pytest.raises(Interrupted) as stop:
        fit_within(1e6, METHOD, planted_graph(60), Hooks(should_stop=lambda: next(steps) == 2))
    assert stop.value.step == 2


def test_a_graph_of_self_loops_is_refused():
    with pytest.raises(ValueError, match="nothing to learn from"):
        fit_within(1.0, METHOD, Graph.from_edges([0, 1], [0, 1]))
