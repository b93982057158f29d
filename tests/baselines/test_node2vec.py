import sys

import networkx as nx
import numpy as np
import pytest

from arcvec.baselines.node2vec import Node2Vec, edge_weights
from arcvec.evaluation.curves import roc_auc
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split


def communities():
    """Undirected: four groups of 25, dense inside."""
    theirs = nx.planted_partition_graph(4, 25, 0.4, 0.01, seed=0)
    edges = np.array(theirs.edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], nodes=100, directed=False)


def test_finds_communities():
    pytest.importorskip("gensim")
    scorer = Node2Vec(dim=8, epochs=3).fit(communities())
    scores = scorer.score_all_targets(np.arange(100))
    group = np.arange(100) // 25
    same = group[:, None] == group
    assert roc_auc(scores[same], scores[~same]) > 0.95


def test_weights_are_those_of_logistic_regression():
    """Scores are the regression's own decision, up to the intercept."""
    pytest.importorskip("gensim")
    from sklearn.linear_model import LogisticRegression

    graph = communities()
    scorer = Node2Vec(dim=4, seed=5).fit(graph)
    method = Node2Vec(dim=4, seed=5)
    vectors = method._skip_gram(graph)
    np.testing.assert_array_equal(vectors, method._skip_gram(graph))
    sources, targets = np.indices((100, 100)).reshape(2, -1)
    edges = graph.has_edges(sources, targets)
    coefficients = edge_weights(graph, vectors, seed=5)
    np.testing.assert_array_equal(scorer.weights, coefficients)
    scores = (vectors[sources] * vectors[targets]) @ coefficients
    np.testing.assert_allclose(scorer.score(sources, targets), scores, rtol=1e-3, atol=1e-4)
    everything = LogisticRegression(class_weight="balanced").fit(
        vectors[sources] * vectors[targets], edges
    )
    theirs = everything.decision_function(vectors[sources] * vectors[targets])
    assert np.corrcoef(scores, theirs)[0, 1] > 0.9


def test_direction_is_a_choice(path_graph):
    pytest.importorskip("gensim")
    followed = Node2Vec(dim=4, direction="followed")._skip_gram(path_graph)
    ignored = Node2Vec(dim=4, direction="ignored")._skip_gram(path_graph)
    assert np.abs(followed - ignored).max() > 0


def test_missing_gensim_names_the_extra(monkeypatch, two_cliques):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"pip install 'arcvec\[baselines\]'"):
        Node2Vec().fit(two_cliques)


@pytest.mark.parametrize(("dim", "auc"), [(8, 0.643), (128, 0.643)])
def test_table_1_of_the_paper(shared_data, dim, auc):
    """Walks along out-edges give the paper's numbers; the undirected version about .55."""
    pytest.importorskip("gensim")
    split = read_split(shared_data("splits/wiki-vote"))
    scorer = Node2Vec(dim=dim).fit(split.train)
    assert link_prediction(scorer, split, ranking=False).auc == pytest.approx(auc, abs=0.01)
