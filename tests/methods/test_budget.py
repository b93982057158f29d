import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.methods.budget import fit_within, mean_of, quick_fit, shortened
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.profiles import LandmarkProfiles
from arcvec.methods.sketch import SpectralSketch
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import WalkSettings
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from tests.methods.test_edge_projection import planted_graph

METHOD = EdgeProjection(
    dim=8, training=TrainSettings(steps=12, batch_pairs=500, evaluate_every=2, patience=2)
)
LONGER = METHOD.model_copy(update={"training": METHOD.training.model_copy(update={"steps": 200})})


LOOKS = (LandmarkProfiles, SpectralSketch)


def same(left, right):
    return np.asarray(left.source).tobytes() == np.asarray(right.source).tobytes()


def fit_in_steps(steps, graph, method=METHOD):
    """A fit with time for so many, where a step takes a second."""
    done = []
    seconds = steps / 0.95 + 0.5
    fitted = fit_within(seconds, method, graph, Hooks(report=done.append), clock=lambda: len(done))
    return fitted, len(done)


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
    looks = (method(dim=8, seed=METHOD.seed).fit(graph) for method in LOOKS)
    assert same(fitted, mean_of(*looks, 0.1))
    assert fitted.settings["method"] == "landmark-profiles"
    assert fitted.settings["joined_with"] == "spectral-sketch"


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


def test_undirected_it_is_the_mean_with_profiles():
    graph = planted_graph(60, directed=False)
    fitted, steps = fit_in_steps(120, graph, LONGER)
    assert fitted.settings["steps_done"] == steps == 120
    assert fitted.settings["joined_with"] == "landmark-profiles"


@pytest.mark.parametrize("worth", [1.0, 0.1])
def test_a_mean_is_one_of_scores(worth):
    graph = planted_graph(60, directed=False)
    results = [method(dim=8).fit(graph) for method in LOOKS]
    first, second, mean = (
        result.score_all_targets(np.arange(graph.num_nodes))
        for result in (*results, mean_of(*results, worth))
    )
    wanted = (first / first.std() + worth * second / second.std()) / 2
    # The nearest that 8 numbers come to 16.
    sizes = np.linalg.svd(wanted, compute_uv=False)
    assert np.linalg.norm(mean - wanted) == pytest.approx(np.linalg.norm(sizes[8:]), rel=1e-3)


def test_two_sides_stay():
    graph = planted_graph(60, directed=False)
    trained = METHOD.model_copy(update={"model": ModelSettings(kind="asymmetric")}).fit(graph)
    assert mean_of(trained, LandmarkProfiles(dim=8).fit(graph), 1.0) is trained


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
