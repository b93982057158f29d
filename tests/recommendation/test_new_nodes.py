"""New nodes find their place; known ones keep theirs to the last bit."""

import json
from dataclasses import replace

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation import new_nodes
from arcvec.recommendation.new_nodes import add_nodes
from arcvec.training.edge_projection import EdgeProjection

NUM_NODES, NUM_NEW = 400, 40


def planted(kind, seed=0):
    """Vectors of all nodes, and a graph with an edge wherever their score is high."""
    generator = np.random.default_rng(seed)
    source, target = generator.normal(size=(2, NUM_NODES, 4)).astype(np.float32) * 1.5
    nodes = NodeNames.from_strings(f"n{i}" for i in range(NUM_NODES))
    embeddings = {
        "directed": lambda: EdgeEmbeddings(source, target, nodes),
        "undirected": lambda: EdgeEmbeddings(source, target, nodes, directed=False),
        "one vector": lambda: EdgeEmbeddings.one_vector(
            source, [1, 1, 1, -1], nodes, directed=False
        ),
        "directed one vector": lambda: EdgeEmbeddings.one_vector(source, [1, 1, 1, -1], nodes),
    }[kind]()
    scores = embeddings.score_all_targets(np.arange(NUM_NODES))
    noise = generator.normal(size=scores.shape)
    high = scores + (noise if embeddings.directed else noise + noise.T) > 4
    np.fill_diagonal(high, False)
    graph = Graph.from_edges(*np.nonzero(high), nodes=nodes, directed=embeddings.directed)
    return embeddings, graph


def first_nodes(embeddings, count):
    nodes = NodeNames.from_strings(embeddings.nodes[:count])
    if embeddings.weights is not None:
        return EdgeEmbeddings.one_vector(
            embeddings.target[:count], embeddings.weights, nodes, directed=embeddings.directed
        )
    source, target = embeddings.source[:count], embeddings.target[:count]
    return EdgeEmbeddings(source, target, nodes, embeddings.directed)


def auc(embeddings, pairs, is_edge):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(is_edge, embeddings.score(*pairs))


@pytest.mark.parametrize("kind", ["directed", "undirected", "one vector", "directed one vector"])
def test_added_nodes_score_nearly_as_the_planted_ones(kind):
    embeddings, graph = planted(kind)
    known = NUM_NODES - NUM_NEW
    small = first_nodes(embeddings, known)
    sources, targets = graph.edges()
    touching = (sources >= known) | (targets >= known)
    shown = touching & (np.random.default_rng(1).random(sources.size) < 0.5)
    edges = Graph.from_edges(
        sources[shown], targets[shown], nodes=graph.nodes, directed=graph.directed
    )
    larger = add_nodes(small, edges)
    assert list(larger.nodes[:known]) == list(small.nodes)
    assert set(larger.nodes) == set(embeddings.nodes)
    ids = larger.nodes.ids(embeddings.nodes)
    everyone = np.array([(u, v) for u in range(NUM_NODES) for v in range(NUM_NODES) if u != v]).T
    new = (everyone >= known).any(axis=0) & ~edges.has_edges(*everyone)
    pairs = everyone[:, new]
    is_edge = graph.has_edges(*pairs)
    reached, possible = auc(larger, ids[pairs], is_edge), auc(embeddings, pairs, is_edge)
    assert reached > 0.85
    assert reached > possible - 0.08


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", ["directed", "one vector"])
def test_known_rows_keep_their_bytes(tmp_path, kind, dtype):
    embeddings, _ = planted(kind)
    embeddings.save(tmp_path / "result", float16=dtype == np.float16)
    loaded = EdgeEmbeddings.load(tmp_path / "result")
    edges = Graph.from_edges([0, 1, 0], [1, 2, 3], nodes=["new", "n5", "other new", "n7"])
    larger = add_nodes(loaded, edges)
    assert larger.nodes[NUM_NODES:] == ["new", "other new"]
    larger.save(tmp_path / "larger", float16=larger.target.dtype == np.float16)
    again = EdgeEmbeddings.load(tmp_path / "larger")
    assert again.directed == embeddings.directed
    for name in ("source", "target") if kind == "directed" else ("vectors",):
        before, after = (np.load(tmp_path / f / f"{name}.npy") for f in ("result", "larger"))
        assert before.dtype == after.dtype == dtype
        assert after[:NUM_NODES].tobytes() == before.tobytes()
        assert np.isfinite(after).all()
    assert (
        (tmp_path / "larger/nodes.txt")
        .read_bytes()
        .startswith((tmp_path / "result/nodes.txt").read_bytes())
    )
    settings = json.loads((tmp_path / "larger/settings.json").read_text())
    assert settings["added"] == [{"num_nodes": 2, "num_edges": 3}]
    np.testing.assert_array_equal(
        again.score(np.arange(9), np.arange(9)[::-1]),
        loaded.score(np.arange(9), np.arange(9)[::-1]),
    )


def test_same_every_time_and_in_turn():
    embeddings, graph = planted("directed")
    edges = Graph.from_edges([0, 0], [1, 2], nodes=["new", "n5", "n6"])
    first, second = (add_nodes(embeddings, edges, graph=graph) for _ in range(2))
    assert first.source.tobytes() == second.source.tobytes()
    more = add_nodes(first, Graph.from_edges([0], [1], nodes=["newer", "new"]), graph=graph)
    assert more.nodes[NUM_NODES:] == ["new", "newer"]
    assert len(more.settings["added"]) == 2


def test_direction_is_learned_from_one_way_edges():
    embeddings, graph = planted("directed")
    followed = np.argsort(-embeddings.target[:, 0])[:12]
    names = ["new", *(f"n{i}" for i in followed)]
    edges = Graph.from_edges([0] * 12, range(1, 13), nodes=names)
    larger = add_nodes(embeddings, edges, graph=graph)
    out = larger.score(np.full(12, NUM_NODES), followed)
    back = larger.score(followed, np.full(12, NUM_NODES))
    assert out.mean() > back.mean() + 1


def test_reversed_edges_weigh_the_same_in_training_and_for_new_nodes():
    """By default both label them with `return_probability`."""
    embeddings, graph = planted("directed")
    edges = Graph.from_edges([0, 0], [1, 2], nodes=["new", "n5", "n6"])

    def added(label):
        settings = {"settings": {"negatives": {"reversed_label": label}}}
        known = replace(embeddings, settings=settings)
        return add_nodes(known, edges, graph=graph).source[-1]

    def trained(label):
        training = {"steps": 3, "batch_pairs": 500, "validation_fraction": 0}
        negatives = {"reversed_label": label}
        given = {"training": training, "negatives": negatives}
        return EdgeProjection(goal="pairs", dim=4, **given).fit(graph).source

    for fitted in (added, trained):
        by_default, expected = fitted(None), fitted(graph.return_probability)
        np.testing.assert_array_equal(by_default, expected)
        assert not np.array_equal(by_default, fitted(graph.reciprocity))


def test_edges_among_known_nodes_change_nothing(caplog):
    caplog.set_level("INFO")
    embeddings, _ = planted("directed")
    names = ["new", "n5", "n6", "n7"]
    with_known = Graph.from_edges([0, 2], [1, 3], nodes=names)
    larger = add_nodes(embeddings, with_known)
    assert "1 edges between known nodes are passed over" in caplog.text
    alone = add_nodes(embeddings, Graph.from_edges([0], [1], nodes=names[:2]))
    np.testing.assert_allclose(larger.source[-1], alone.source[-1], atol=1e-4)


def test_no_new_node_is_an_error():
    embeddings, graph = planted("directed")
    with pytest.raises(ValueError, match="expected edges of new nodes, got 400 nodes"):
        add_nodes(embeddings, graph)


@pytest.mark.parametrize("directed", [True, False])
def test_inputs_of_paired_columns_give_the_score(directed):
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    nodes = NodeNames.from_strings("abcdef")
    embeddings = EdgeEmbeddings.one_vector(
        vectors, [1, -1, 0, 2], nodes, columns=[0, 1, 3, 2], directed=directed
    )
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes=nodes, directed=directed)
    likelihood = new_nodes._Likelihood(embeddings, graph, graph, 0)
    for node in range(6):
        row, others = vectors[node], np.arange(6)
        out, into = (likelihood.inputs(vectors, of_sources=some) @ row for some in (True, False))
        same = np.full(6, node)
        np.testing.assert_allclose(out, embeddings.score(same, others), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(into, embeddings.score(others, same), rtol=1e-4, atol=1e-5)
