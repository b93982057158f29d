import math

import networkx as nx
import numpy as np
import pytest

from arcvec.baselines.paths import AdamicAdar, CommonNeighbours, Jaccard, ResourceAllocation
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split


def count_common(graph, pairs):
    return [(u, v, len(list(nx.common_neighbors(graph, u, v)))) for u, v in pairs]


@pytest.mark.parametrize(
    ("method", "reference"),
    [
        (CommonNeighbours(), count_common),
        (Jaccard(), nx.jaccard_coefficient),
        (AdamicAdar(), nx.adamic_adar_index),
        (ResourceAllocation(), nx.resource_allocation_index),
    ],
    ids=["common", "jaccard", "adamic-adar", "resource-allocation"],
)
def test_undirected_against_networkx(method, reference):
    theirs = nx.gnm_random_graph(40, 150, seed=1)
    edges = np.array(theirs.edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], nodes=40, directed=False)
    pairs = np.array(list(nx.non_edges(theirs)) + list(theirs.edges))
    expected = [score for _, _, score in reference(theirs, pairs.tolist())]
    scores = method.fit(graph).score(pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def slow_scores(rows, source, target):
    shared, union = rows[source] & rows[target], rows[source] | rows[target]
    rarity = sum(1 / math.log(max(len(rows[node]), 2)) for node in shared)
    return len(shared), len(shared) / len(union) if union else 0.0, rarity


def test_directed_against_sets():
    sources, targets = np.random.default_rng(3).integers(25, size=(2, 90))
    graph = Graph.from_edges(sources, targets, nodes=30)
    rows = [set(graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()) for u in range(30)]
    assert min(map(len, rows)) == 0
    pairs = np.indices((30, 30)).reshape(2, -1)
    expected = np.array([slow_scores(rows, u, v) for u, v in pairs.T])
    for i, method in enumerate([CommonNeighbours(), Jaccard(), AdamicAdar()]):
        np.testing.assert_allclose(method.fit(graph).score(*pairs), expected[:, i], rtol=1e-5)


def test_shared_node_without_targets_counts_as_with_two():
    graph = Graph.from_edges([0, 1, 0, 1, 3, 3], [2, 2, 3, 3, 0, 1])
    score = AdamicAdar().fit(graph).score(np.array([0]), np.array([1]))
    assert score[0] == pytest.approx(1 / math.log(2) + 1 / math.log(2))


def test_few_targets_by_the_formula_as_it_stands():
    """Two sources share node 2, which has no target, or node 3, which has one."""
    graph = Graph.from_edges([0, 1, 4, 5, 3], [2, 2, 3, 3, 0])
    scores = AdamicAdar(few="as they are").fit(graph).score(np.array([0, 4]), np.array([1, 5]))
    assert -0.1 < scores[0] < 0
    assert scores[1] > 1e5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wiki-vote", (0.580, 0.579, 0.562)),
        ("soc-epinions", (0.649, 0.649, 0.647)),
        ("ca-HepTh", (0.765, 0.765, 0.765)),
        ("ppi", (0.777, 0.766, 0.779)),
    ],
)
def test_table_1_of_the_paper(shared_data, name, expected):
    split = read_split(shared_data(f"splits/{name}"))
    negatives = split.test_negatives
    if split.directed_negatives is not None:
        negatives = split.directed_negatives
    methods = (CommonNeighbours(), Jaccard(), AdamicAdar(few="as they are"))
    for method, auc in zip(methods, expected, strict=True):
        scorer = method.fit(split.train)
        positive = scorer.score(split.test[:, 0], split.test[:, 1])
        negative = scorer.score(negatives[:, 0], negatives[:, 1])
        assert roc_auc(positive, negative) == pytest.approx(auc, abs=0.001)
