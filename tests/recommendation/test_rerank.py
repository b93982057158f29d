"""The second stage: what it gains, that it cannot gain from nothing, and how it is kept."""

import json
from dataclasses import replace

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges
from arcvec.recommendation import rerank_fit
from arcvec.recommendation.exact import recommend, top_k
from arcvec.recommendation.rerank import FILE, Reranker, load_reranker, save_model
from arcvec.recommendation.rerank_fit import TwoStages, fit_reranker
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings
from arcvec.training.sketch import SpectralSketch


def communities(directed=True, seed=0, num_nodes=400, size=20):
    """Return a graph in which edges stay in communities of 20, with hubs in each."""
    generator = np.random.default_rng(seed)
    sources = generator.integers(num_nodes, size=6 * num_nodes)
    targets = sources // size * size + (generator.random(sources.size) ** 2 * size).astype(int)
    stray = generator.random(sources.size) < 0.1
    targets[stray] = generator.integers(num_nodes, size=stray.sum())
    kept = sources != targets
    return Graph.from_edges(sources[kept], targets[kept], nodes=num_nodes, directed=directed)


def noise(graph, seed=0):
    """Return vectors that say nothing."""
    vectors = np.random.default_rng(seed).normal(size=(2, graph.num_nodes, 4)).astype(np.float32)
    return EdgeEmbeddings(*vectors, graph.nodes, directed=graph.directed)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def split(request):
    return split_edges(communities(request.param), test_fraction=0.2, seed=3)


def poor_vectors(graph):
    return SpectralSketch(dim=8 if graph.directed else 2).fit(graph)


@pytest.fixture(scope="module")
def reranker(split):
    vectors = poor_vectors(split.train)
    return Reranker(
        vectors, split.train, fit_reranker(vectors, split.train, poor_vectors, num_best=30)
    )


def test_it_ranks_and_tells_pairs_better_than_its_vectors(split, reranker):
    alone, both = (link_prediction(one, split) for one in (reranker.embeddings, reranker))
    assert all(head.is_used for head in reranker.model.heads.values())
    assert both.mrr > alone.mrr
    assert both.auc > alone.auc


def test_fits_are_repeated(split, reranker):
    again = fit_reranker(reranker.embeddings, split.train, poor_vectors, num_best=30)
    assert again == reranker.model


@pytest.mark.parametrize("direction", ["targets", "sources"])
def test_recommendations_pass_the_filters(split, reranker, direction):
    nodes = split.train.nodes
    only, without = np.arange(0, 300), np.arange(0, 300, 7)
    best, scores = top_k(
        *(reranker.embeddings, np.arange(50), 5),
        exclude=split.train,
        only=only,
        without=without,
        direction=direction,
        index=reranker,
    )
    assert np.isin(best, np.setdiff1d(only, without)).all()
    known = split.train if direction == "targets" else split.train.transposed
    assert not known.has_edges(np.repeat(np.arange(50), 5), best.ravel()).any()
    assert not (best == np.arange(50)[:, None]).any()
    assert (np.diff(scores) <= 0).all()
    names, _ = recommend(reranker.embeddings, nodes[:2], 3, exclude=split.train, index=reranker)
    assert names.shape == (2, 3)


def test_recommendations_are_the_order_of_score_all_targets(split, reranker):
    ids = np.arange(30)
    best, _ = top_k(reranker.embeddings, ids, 10, exclude=split.train, index=reranker)
    scores = reranker.score_all_targets(ids)
    scores[ids, ids] = -np.inf
    for node in ids:
        scores[node, split.train.indices[slice(*split.train.indptr[node : node + 2])]] = -np.inf
        assert np.array_equal(scores[node, best[node]], np.sort(scores[node])[::-1][:10])


def test_more_than_all_candidates_can_be_asked_for(split, reranker):
    best, scores = top_k(
        reranker.embeddings, np.array([0]), 400, exclude=split.train, index=reranker
    )
    expected, _ = top_k(reranker.embeddings, np.array([0]), 400, exclude=split.train)
    assert set(best[0]) == set(expected[0])
    assert np.array_equal(best < 0, scores == -np.inf)


def test_terms_add_up(reranker):
    head = reranker.model.heads["targets"]
    terms = reranker.terms(3, 9)
    found = reranker._features["targets"].of_pairs(np.array([3]), np.array([9]))
    assert sum(terms.values()) == pytest.approx(head.score(found)[0], rel=1e-4, abs=1e-4)


def test_permuted_labels_give_no_gain(split, monkeypatch):
    """Leakage: held-out edges that are replaced by random pairs cannot be found better."""
    held = rerank_fit._hold_out

    def permuted(graph, seed):
        seen, edges = held(graph, seed)
        targets = np.random.default_rng(9).permutation(graph.num_nodes)[edges[:, 1]]
        return seen, np.stack([edges[:, 0], targets.astype(np.int32)], axis=1)

    monkeypatch.setattr(rerank_fit, "_hold_out", permuted)
    vectors = noise(split.train)
    model = fit_reranker(vectors, split.train, lambda graph: vectors, num_best=30)
    head = model.heads["targets"]
    assert abs(head.gain) < 3 * head.standard_error + 0.01
    assert head.vectors + head.gain < 0.05


def test_leaked_edges_are_noticed(split):
    """Vectors that have seen the held-out edges look far better on these than they are."""
    vectors = noise(split.train)
    honest = fit_reranker(
        vectors, split.train, lambda graph: SpectralSketch(dim=64).fit(graph), num_best=30
    )
    leaked = fit_reranker(
        vectors, split.train, lambda graph: SpectralSketch(dim=64).fit(split.train), num_best=30
    )
    assert leaked.heads["targets"].vectors > 1.3 * honest.heads["targets"].vectors


def test_a_head_without_gain_is_not_used(split, reranker):
    heads = {name: replace(head, gain=0.0) for name, head in reranker.model.heads.items()}
    unused = replace(reranker, model=replace(reranker.model, heads=heads))
    ids = np.arange(40)
    for asked in ({}, {"direction": "sources"}):
        given = {"exclude": split.train, **asked}
        ours = top_k(unused.embeddings, ids, 5, index=unused, **given)
        for one, other in zip(ours, top_k(unused.embeddings, ids, 5, **given), strict=True):
            assert np.array_equal(one, other)
    vectors = unused.embeddings
    assert np.array_equal(unused.score(ids, ids[::-1]), vectors.score(ids, ids[::-1]))
    assert np.array_equal(unused.score_all_targets(ids), vectors.score_all_targets(ids))
    assert unused.terms(0, 1) == {}


def test_the_file_is_readable_and_belongs_to_its_vectors(tmp_path, split, reranker):
    assert load_reranker(tmp_path, reranker.embeddings, split.train) is None
    path = save_model(reranker.model, tmp_path)
    kept = json.loads(path.read_text())
    assert path.name == FILE
    assert kept["graph"] == split.train.fingerprint
    assert set(kept["heads"]["targets"]["features"]["vectors"]) == {
        *("floor", "mean", "scale", "weight")
    }
    loaded = load_reranker(tmp_path, reranker.embeddings, split.train)
    assert loaded.model == reranker.model
    with pytest.raises(ValueError, match="other vectors"):
        load_reranker(tmp_path, noise(split.train), split.train)


def test_too_few_edges():
    path = Graph.from_edges(np.arange(50), np.arange(1, 51))
    with pytest.raises(ValueError, match="can be held out"):
        fit_reranker(noise(path), path, lambda graph: noise(graph))


def test_both_stages_are_one_method(split):
    training = TrainSettings(steps=5, validation_fraction=0)
    method = TwoStages(dim=4, num_best=30, first=EdgeProjection(training=training))
    scorer = method.fit(split.train)
    assert scorer.embeddings.dim == 4
    assert scorer.settings["method"] == "edge-projection"
    assert link_prediction(scorer, split).mrr > 0.02
