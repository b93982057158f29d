"""What every method promises, whatever it computes."""

import numpy as np
import pytest
from pydantic import ValidationError

from arcvec.baselines.by_name import BASELINES
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings

# Small versions of the methods that would take longer than a test should.
SMALL = {
    "eigenmaps": {"dim": 4},
    "node2vec": {"dim": 4, "walks_per_node": 2, "walk_length": 10},
    "dngr": {"dim": 4, "hidden": (8,), "epochs": 2},
    "svd": {"dim": 8},
    "hope": {"dim": 8},
    "strap": {"dim": 8},
    "netmf": {"dim": 4},
    "watch-your-step": {"dim": 8, "steps": 3},
    "ials": {"dim": 8, "iterations": 3},
    "bpr": {"dim": 8, "iterations": 3},
}
EXTRAS = {"node2vec": "gensim", "bpr": "implicit"}
METHODS = {
    **{name: method(**SMALL.get(name, {})) for name, method in BASELINES.items()},
    "edge-projection": EdgeProjection(
        dim=4, seed=0, training=TrainSettings(steps=3, batch_pairs=64)
    ),
}


@pytest.fixture(params=METHODS)
def method(request):
    if request.param in EXTRAS:
        pytest.importorskip(EXTRAS[request.param])
    return METHODS[request.param]


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    """Thirty nodes with edges, self-loops among them, and two isolated nodes."""
    sources, targets = np.random.default_rng(0).integers(30, size=(2, 150))
    names = [f"node-{i}" for i in range(32)]
    return Graph.from_edges(sources, targets, nodes=names, directed=request.param)


def all_pairs(num_nodes):
    return np.indices((num_nodes, num_nodes), dtype=np.int32).reshape(2, -1)


def test_scores_are_finite_float32(method, graph):
    scores = method.fit(graph).score(*all_pairs(32))
    assert scores.dtype == np.float32
    assert scores.shape == (32 * 32,)
    assert np.isfinite(scores).all()
    assert np.unique(scores).size > 1


def test_no_edges_no_scores(method, graph):
    nothing = np.empty(0, dtype=np.int32)
    assert method.fit(graph).score(nothing, nothing).shape == (0,)


def test_all_targets_are_scored_as_edge_by_edge(method, graph):
    scorer = method.fit(graph)
    everyone = scorer.score_all_targets(np.array([3, 31, 3]))
    assert everyone.dtype == np.float32
    expected = scorer.score(*all_pairs(32)).reshape(32, 32)[[3, 31, 3]]
    np.testing.assert_allclose(everyone, expected, rtol=1e-5, atol=1e-6)


def test_fitting_twice_gives_the_same_scores(method, graph):
    pairs = all_pairs(32)
    np.testing.assert_array_equal(method.fit(graph).score(*pairs), method.fit(graph).score(*pairs))


def test_names_change_no_number(method, graph):
    names = NodeNames.from_strings(f"other {31 - i}" for i in range(32))
    renamed = Graph(graph.indptr, graph.indices, names, graph.directed)
    pairs = all_pairs(32)
    np.testing.assert_array_equal(
        method.fit(graph).score(*pairs), method.fit(renamed).score(*pairs)
    )


def test_undirected_scores_are_symmetric(method):
    sources, targets = np.random.default_rng(1).integers(32, size=(2, 150))
    undirected = Graph.from_edges(sources, targets, nodes=32, directed=False)
    scores = method.fit(undirected).score(*all_pairs(32)).reshape(32, 32)
    np.testing.assert_array_equal(scores, scores.T)


def test_unknown_node_is_named(method, graph):
    nodes = method.fit(graph).nodes
    assert nodes.ids(["node-3"]).tolist() == [3]
    with pytest.raises(KeyError, match="unknown node 'node-77'"):
        nodes.ids(["node-77"])


def test_unknown_setting_is_refused(method):
    with pytest.raises(ValidationError):
        type(method)(no_such_setting=1)


def test_graph_without_edges_scores_zero(method):
    if isinstance(method, EdgeProjection):
        pytest.skip("refuses a graph without edges")
    scorer = method.fit(Graph.from_edges([], [], nodes=3))
    assert scorer.score(*all_pairs(3)).tolist() == [0.0] * 9


@pytest.mark.parametrize("name", SMALL)
def test_dim_counts_all_numbers_of_a_node(name, graph):
    pytest.importorskip(EXTRAS.get(name, "arcvec"))
    assert METHODS[name].fit(graph).dim == METHODS[name].dim


@pytest.mark.parametrize("name", sorted({*SMALL, "edge-projection"} - {"eigenmaps"}))
def test_vectors_are_saved_and_come_back(name, graph, tmp_path):
    pytest.importorskip(EXTRAS.get(name, "arcvec"))
    scorer = METHODS[name].fit(graph)
    scorer.save(tmp_path / "result")
    back = EdgeEmbeddings.load(tmp_path / "result")
    pairs = all_pairs(32)
    np.testing.assert_array_equal(back.score(*pairs), scorer.score(*pairs))
    assert back.settings == scorer.settings
    assert (back.dim, back.directed) == (scorer.dim, graph.directed)


def test_source_degree_times_target_degree():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    scores = BASELINES["degree-product"]().fit(graph).score_all_targets(np.arange(3))
    assert scores.tolist() == [[0, 2, 4], [0, 1, 2], [0, 0, 0]]


def test_popularity_is_the_in_degree_of_the_target():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    scores = BASELINES["popularity"]().fit(graph).score_all_targets(np.arange(3))
    assert scores.tolist() == [[0, 1, 2]] * 3
