"""Katz and three-paths: both count paths."""

import math

import numpy as np
import pytest

from arcvec.baselines import neighbours
from arcvec.baselines.neighbours import Katz, ThreePaths
from arcvec.graph.graph import Graph


def dense(graph):
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    matrix[graph.row_of_entry, graph.indices] = 1
    return matrix


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    sources, targets = np.random.default_rng(4).integers(40, size=(2, 120))
    return Graph.from_edges(sources, targets, nodes=42, directed=request.param)


def test_katz_against_dense_powers(graph, monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK_SIZE", 1)
    matrix = dense(graph)
    powers = [np.linalg.matrix_power(matrix, k) for k in (1, 2, 3, 4)]
    expected = sum(0.1**k * power for k, power in enumerate(powers))
    pairs = np.random.default_rng(0).integers(42, size=(2, 500))
    scorer = Katz(hops=4, beta=0.1).fit(graph)
    np.testing.assert_allclose(scorer.score(*pairs), expected[tuple(pairs)], rtol=1e-5)
    everyone = scorer.score_all_targets(np.arange(42))
    np.testing.assert_allclose(everyone, expected, rtol=1e-5)


def test_three_paths_by_hand():
    """From 0 to 4: by 2, which has two sources, and by 3, which has three; 1 has three targets."""
    graph = Graph.from_edges([0, 0, 1, 1, 1, 5], [2, 3, 2, 3, 4, 3])
    score = ThreePaths().fit(graph).score(np.array([0, 0]), np.array([4, 5]))
    assert score[0] == pytest.approx(1 / math.sqrt(2 * 3) + 1 / math.sqrt(3 * 3))
    assert score[1] == 0


def test_three_paths_against_loops(graph):
    matrix = dense(graph)
    into, out = matrix.sum(axis=0), matrix.sum(axis=1)
    expected = np.zeros_like(matrix)
    for source, first in zip(*matrix.nonzero(), strict=True):
        for second in matrix[:, first].nonzero()[0]:
            weight = 1 / math.sqrt(into[first] * out[second])
            expected[source, matrix[second].nonzero()[0]] += weight
    everyone = ThreePaths().fit(graph).score_all_targets(np.arange(42))
    np.testing.assert_allclose(everyone, expected, rtol=1e-5)


def test_weights_count():
    graph = Graph.from_edges([0, 1], [1, 2], weights=[2.0, 3.0])
    score = Katz(hops=2, beta=0.5).fit(graph).score(np.array([0, 0]), np.array([1, 2]))
    assert score.tolist() == [2.0, 3.0]
