import networkx as nx
import numpy as np
import pytest

from arcvec.baselines.dense import DNGR, mutual_information
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph


def reference_information(adjacency, steps, continuation):
    """The authors' matrices, in numpy, dense."""

    def scaled(matrix):
        matrix = matrix - np.diag(np.diag(matrix))
        sums = matrix.sum(axis=1, keepdims=True)
        return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)

    step, identity = scaled(adjacency), np.eye(len(adjacency))
    present, visits = identity, np.zeros_like(adjacency)
    for _ in range(steps):
        present = continuation * present @ step + (1 - continuation) * identity
        visits = visits + present
    visits = scaled(visits)
    chance = visits.sum(axis=1, keepdims=True) * visits.sum(axis=0) / visits.sum()
    ratio = np.divide(visits, chance, out=np.ones_like(visits), where=visits > 0)
    return np.maximum(0, np.log(ratio))


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_mutual_information_against_dense_matrices(directed):
    sources, targets = np.random.default_rng(0).integers(20, size=(2, 50))
    graph = Graph.from_edges(sources, targets, nodes=22, directed=directed)
    adjacency = np.zeros((22, 22))
    adjacency[graph.row_of_entry, graph.indices] = 1
    expected = reference_information(adjacency, 4, 0.9)
    np.testing.assert_allclose(mutual_information(graph, 4, 0.9), expected, atol=1e-5)


def test_finds_communities():
    theirs = nx.planted_partition_graph(3, 30, 0.4, 0.01, seed=0)
    edges = np.array(theirs.edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], nodes=90, directed=False)
    method = DNGR(dim=8, hidden=(32,), epochs=60, batch_nodes=10)
    scores = method.fit(graph).score_all_targets(np.arange(90))
    group = np.arange(90) // 30
    same = group[:, None] == group
    assert roc_auc(scores[same], scores[~same]) > 0.9


def test_too_many_nodes_are_refused(path_graph):
    with pytest.raises(ValueError, match=r"at most 4 nodes, got 5: DNGR stores .* raise max_nodes"):
        DNGR(max_nodes=4).fit(path_graph)
