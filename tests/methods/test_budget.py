import numpy as np
import pytest

from arcvec.methods.budget import fit_within
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.sketch import SpectralSketch
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from tests.methods.test_edge_projection import planted_graph

METHOD = EdgeProjection(
    dim=8, training=TrainSettings(steps=12, batch_pairs=500, evaluate_every=2, patience=2)
)


def same(left, right):
    return np.asarray(left.source).tobytes() == np.asarray(right.source).tobytes()


def test_with_time_enough_it_is_the_whole_fit():
    graph = planted_graph(60)
    reports = []
    fitted = fit_within(1e6, METHOD, graph, Hooks(report=reports.append))
    assert same(fitted, METHOD.fit(graph))
    assert reports[-1].step < len(reports)  # first some steps to see how fast they are


def test_without_time_it_is_a_sketch():
    graph = planted_graph(60)
    fitted = fit_within(0.0, METHOD, graph)
    assert same(fitted, SpectralSketch(dim=8, seed=METHOD.seed).fit(graph))
    assert fitted.settings["steps_done"] == 0


def test_with_hardly_any_it_is_one_step_on_all_edges():
    """Where a step takes longer than there is."""
    steps = []
    hooks = Hooks(report=steps.append)
    fitted = fit_within(3.0, METHOD, planted_graph(60), hooks, clock=lambda: 10 * len(steps))
    assert fitted.dim == 8
    assert fitted.settings["steps_done"] == 1
    assert fitted.settings["validation_auc"] is None


def test_in_between_it_ends_with_the_time():
    """Where a step takes a second, and twelve take longer than there is."""
    seconds = []
    hooks = Hooks(report=seconds.append)
    fitted = fit_within(8.5, METHOD, planted_graph(60), hooks, clock=lambda: len(seconds))
    assert fitted.settings["steps_done"] == len(seconds) == 8


def test_a_stop_that_is_asked_for_is_one():
    steps = iter(range(1, 100))
    with pytest.raises(Interrupted) as stop:
        fit_within(1e6, METHOD, planted_graph(60), Hooks(should_stop=lambda: next(steps) == 2))
    assert stop.value.step == 2
