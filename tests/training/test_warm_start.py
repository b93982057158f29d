import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.model.settings import ModelSettings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from arcvec.training.warm_start import WarmStart
from tests.training.test_edge_projection import planted_graph

# One step that is too small to move anything.
STANDING = TrainSettings(steps=1, settle=0.0, learning_rates=(1e-9,), batch_pairs=500)
SHORT = TrainSettings(steps=40, batch_pairs=500)


def grown(graph: Graph) -> Graph:
    """Return the graph with its nodes in another order and two more, which link to the first."""
    sources, targets = graph.edges()
    names = list(graph.nodes)
    order = np.random.default_rng(0).permutation(len(names))
    place = np.argsort(order)
    new = len(names) + np.array([0, 1])
    return Graph.from_edges(
        np.concatenate([place[sources], new]),
        np.concatenate([place[targets], place[[0, 0]]]),
        nodes=[*(names[i] for i in order), "new", "newer"],
        directed=graph.directed,
    )


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_known_nodes_begin_where_they_were(directed, members):
    graph = planted_graph(80, directed=directed)
    earlier = EdgeProjection(goal="pairs", dim=12, members=2, training=SHORT).fit(graph)
    larger = grown(graph)
    method = EdgeProjection(goal="pairs", dim=12, members=members, training=STANDING)
    later = method.fit(larger, start=earlier)
    pairs = np.random.default_rng(1).integers(80, size=(2, 50))
    names = [[graph.nodes[i] for i in side] for side in pairs.tolist()]
    before = earlier.score(*pairs)
    after = later.score(*map(later.nodes.ids, names))
    np.testing.assert_allclose(after, before, atol=2e-3 * np.abs(before).max())
    # New ones begin as the average of the known.
    average = np.asarray(earlier.target).mean(axis=0)
    for row in later.target[later.nodes.ids(["new", "newer"])]:
        np.testing.assert_allclose(row, average, atol=0.05)
    assert later.settings["from"]["known_nodes"] == 80
    assert later.settings["from"]["new_nodes"] == 2
    assert later.settings["from"]["graph_fingerprint"] == graph.fingerprint


def test_one_training_with_a_falling_rate_and_nothing_held_out():
    graph = planted_graph(80)
    method = EdgeProjection(goal="pairs", dim=8, training=SHORT)
    earlier = method.fit(graph)
    later = method.fit(graph, start=earlier)
    assert later.settings["steps_done"] == 40
    assert later.settings["validation_auc"] is None
    assert later.settings["output_l2"] == earlier.settings["output_l2"]
    again = method.fit(graph, start=earlier)
    assert again.source.tobytes() == later.source.tobytes()
    third = method.fit(graph, start=later)
    assert third.settings["from"]["from"] == later.settings["from"]


def test_interrupted_and_resumed_is_the_same(tmp_path):
    graph = planted_graph(80)
    method = EdgeProjection(goal="pairs", dim=8, members=2, training=SHORT)
    earlier = method.fit(graph)
    whole = method.fit(graph, start=earlier)
    steps = iter(range(100))
    checkpoint = tmp_path / "fit.checkpoint"
    with pytest.raises(Interrupted):
        method.fit(graph, Hooks(None, lambda: next(steps) == 5, checkpoint), start=earlier)
    again = Hooks(checkpoint=checkpoint, resume=True)
    for other in (None, whole):
        with pytest.raises(ValueError, match="made with another from"):
            method.fit(graph, again, start=other)
    assert method.fit(graph, again, start=earlier).source.tobytes() == whole.source.tobytes()


def test_a_penalty_that_is_not_chosen_by_trials_is_the_one_given():
    embeddings = _embeddings(["a", "b"], settings={"output_l2": 0.1})
    graph = Graph.from_edges([0], [1], nodes=["a", "b"])
    warm = WarmStart.of(embeddings, graph, ModelSettings(), 4)
    assert warm.training(TrainSettings()).output_l2 == 0.1
    assert warm.training(TrainSettings(stronger_l2=(), output_l2=0.5)).output_l2 == 0.5


@pytest.mark.parametrize(
    ("earlier", "dim", "kind", "message"),
    [
        ({}, 8, "auto", "expected an earlier result of dim 8, got 4; pass --dim 4"),
        ({"directed": False}, 4, "auto", "expected an earlier result of a graph that is directed"),
        ({}, 4, "tied", "expected an earlier result with one vector for both sides"),
        ({"names": ["x", "y"]}, 4, "auto", "the graph has 'a', the result 'x'"),
    ],
)
def test_what_does_not_fit_is_refused(earlier, dim, kind, message):
    names = earlier.pop("names", ["a", "b"])
    method = EdgeProjection(goal="pairs", dim=dim, model=ModelSettings(kind=kind))
    with pytest.raises(ValueError, match=message):
        method.fit(
            Graph.from_edges([0], [1], nodes=["a", "b"]), start=_embeddings(names, **earlier)
        )


def _embeddings(names, directed=True, settings=None):
    vectors = np.arange(4, dtype=np.float32).reshape(2, 2)
    nodes = NodeNames.from_strings(names)
    return EdgeEmbeddings(vectors, vectors, nodes, directed, settings or {})
