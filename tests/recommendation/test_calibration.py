"""Probabilities that come true, on graphs whose probabilities are known."""

import json

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation.calibration import (
    calibrate,
    load_calibration,
    reliability,
    save_calibration,
)

NUM_NODES = 600


def planted(seed=0, directed=True):
    """Embeddings, and a graph in which an edge is there with probability sigmoid(2 score - 4)."""
    generator = np.random.default_rng(seed)
    source, target = generator.normal(size=(2, NUM_NODES, 2)).astype(np.float32)
    nodes = NodeNames.numbered(NUM_NODES)
    embeddings = EdgeEmbeddings(source, target, nodes, directed=directed)
    scores = embeddings.score_all_targets(np.arange(NUM_NODES))
    truth = 1 / (1 + np.exp(4 - 2 * scores))
    np.fill_diagonal(truth, 0)
    if not directed:
        truth = np.triu(truth)
    edges = np.nonzero(generator.random(truth.shape) < truth)
    graph = Graph.from_edges(*edges, nodes=nodes, directed=directed)
    return embeddings, graph, truth


@pytest.mark.parametrize("directed", [True, False])
def test_density_odds_are_the_planted_probabilities(directed):
    embeddings, graph, truth = planted(directed=directed)
    made = calibrate(embeddings, graph)
    assert made.slope == pytest.approx(2, rel=0.05)
    pairs = np.nonzero(truth)
    found = made.probabilities(embeddings.score(*pairs), "density")
    np.testing.assert_allclose(found, truth[pairs], atol=0.03)
    assert found.sum() == pytest.approx(graph.num_edges, rel=0.05)


def test_even_odds_come_true_among_as_many_non_edges():
    embeddings, graph, _ = planted()
    made = calibrate(embeddings, graph)
    assert made.error < 0.02
    assert made.log_loss < 0.6
    assert sum(bin.count for bin in made.bins) == pytest.approx(2 * made.num_edges, rel=0.1)
    for bin in made.bins:
        assert bin.low <= bin.probability <= bin.high
        if bin.count > 1000:
            assert bin.edges == pytest.approx(bin.probability, abs=0.04)


def test_only_the_given_edges_count_and_nodes_are_matched_by_name():
    embeddings, graph, _ = planted()
    order = np.random.default_rng(1).permutation(NUM_NODES)
    other = Graph.from_edges(
        *(np.argsort(order)[ends] for ends in graph.edges()),
        nodes=[*(str(i) for i in order), "stranger"],
    )
    first, second = calibrate(embeddings, graph), calibrate(embeddings, other)
    assert second.slope == pytest.approx(first.slope, rel=0.05)
    edges = np.stack(graph.edges(), axis=1)[:4000]
    assert calibrate(embeddings, graph, edges).num_edges == pytest.approx(2000, rel=0.1)


def test_scores_that_tell_nothing():
    embeddings, graph, _ = planted()
    blind = EdgeEmbeddings(np.zeros_like(embeddings.source), embeddings.target, embeddings.nodes)
    made = calibrate(blind, graph)
    np.testing.assert_allclose(made.probabilities(np.zeros(3, dtype=np.float32)), 0.5, atol=0.02)
    assert made.log_loss == pytest.approx(np.log(2), abs=0.01)


def test_scores_that_tell_all_stay_finite(two_cliques):
    side = np.array([[1, 0]] * 4 + [[0, 1]] * 4, dtype=np.float32)
    embeddings = EdgeEmbeddings(side, side, two_cliques.nodes, directed=False)
    made = calibrate(embeddings, two_cliques)
    assert np.isfinite([made.slope, made.intercept, made.log_loss]).all()
    apart, together = made.probabilities(np.array([0, 1], dtype=np.float32))
    assert apart < 0.5 < together


def test_reliability_at_the_ends():
    bins = reliability(np.array([0.0, 1.0, 1.0]), np.array([False, True, True]))
    assert [(bin.low, bin.edges, bin.count) for bin in bins] == [(0.0, 0.0, 1), (0.9, 1.0, 2)]


def test_too_few_edges(path_graph):
    vectors = np.ones((5, 2), dtype=np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, path_graph.nodes)
    with pytest.raises(ValueError, match=r"expected at least 10 edges .* got 4 and 4"):
        calibrate(embeddings, path_graph)


def test_edges_of_the_training_are_noted(caplog):
    caplog.set_level("INFO")
    embeddings, graph, _ = planted()
    settings = {"graph_fingerprint": graph.fingerprint}
    learned = EdgeEmbeddings(embeddings.source, embeddings.target, graph.nodes, settings=settings)
    calibrate(learned, graph, np.stack(graph.edges(), axis=1))
    assert not caplog.text
    calibrate(learned, graph)
    assert "have learned from these very edges" in caplog.text


def test_saved_beside_the_vectors_it_is_for(tmp_path):
    embeddings, graph, _ = planted()
    embeddings.save(tmp_path / "result")
    with pytest.raises(FileNotFoundError, match="make it with: arcvec calibrate"):
        load_calibration(tmp_path / "result", embeddings)
    made = calibrate(embeddings, graph)
    path = save_calibration(made, tmp_path / "result")
    assert json.loads(path.read_text())["format"] == "arcvec-calibration"
    assert load_calibration(tmp_path / "result", embeddings) == made
    other, _, _ = planted(seed=1)
    with pytest.raises(ValueError, match="made for other vectors"):
        load_calibration(tmp_path / "result", other)
    assert {path.name for path in (tmp_path / "result").iterdir()} == {
        *("source.npy", "target.npy", "nodes.txt", "settings.json", "calibration.json"),
        "checksums.txt",
    }
