import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.training.budget import fit_within, stages
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from arcvec.training.sketch import SpectralSketch
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
    done, seconds = [], (steps + 0.5) / 0.95
    hooks = Hooks(should_stop=lambda: done.append(1))
    return fit_within(seconds, method, graph, hooks, clock=lambda: len(done)), len(done)


@pytest.mark.parametrize("goal", ["pairs", "ranking"])
def test_with_time_enough_it_is_the_whole_fit(goal):
    graph, method = planted_graph(60), METHOD.model_copy(update={"goal": goal})
    assert same(fit_within(1e6, method, graph), method.fit(graph))


@pytest.mark.parametrize("directed", [True, False])
def test_without_time_nothing_is_trained(directed):
    graph = planted_graph(60, directed=directed)
    fitted = fit_within(0.0, METHOD, graph)
    assert same(fitted, SpectralSketch(dim=8, seed=METHOD.seed).fit(graph))
    assert fitted.settings["steps_done"] == 0


def test_too_little_time_for_a_training_leaves_the_sketch():
    graph = planted_graph(60)
    fitted, steps = fit_in_steps(4, graph, LONGER)
    assert steps == 5
    assert same(fitted, SpectralSketch(dim=8, seed=METHOD.seed).fit(graph))


@pytest.mark.parametrize(("seconds", "done"), [(30, 25), (130, 100)])
def test_in_between_it_is_the_longest_training_that_ended(seconds, done):
    fitted, steps = fit_in_steps(seconds, planted_graph(60), LONGER)
    assert fitted.settings["steps_done"] == done
    assert steps == seconds + 1
    assert fitted.settings["validation_auc"] is None  # all edges are trained on


def test_to_recommend_it_begins_with_the_order_alone():
    method = LONGER.model_copy(update={"goal": "ranking"})
    sweeps = method.ranking.sweeps[0]
    fitted, _ = fit_in_steps(sweeps + 10, planted_graph(60), method)
    assert fitted.settings["steps_done"] == sweeps
    assert same(fitted, stages(method)[0].fit(planted_graph(60)))
    fitted, _ = fit_in_steps(150, planted_graph(60), method)
    assert same(fitted, stages(method)[1].fit(planted_graph(60)))


def test_a_stop_that_is_asked_for_is_one():
    steps = iter(range(1, 100))
    with pytest.raises(Interrupted) as stop:
        fit_within(1e6, LONGER, planted_graph(60), Hooks(should_stop=lambda: next(steps) == 2))
    assert stop.value.step == 2


def test_a_graph_of_self_loops_is_refused():
    with pytest.raises(ValueError, match="nothing to learn from"):
        fit_within(1.0, METHOD, Graph.from_edges([0, 1], [0, 1]))
