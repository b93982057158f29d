"""Katz, three paths, item cosine and PageRank: all add up paths."""

import math

import numba
import numpy as np
import pytest

from arcvec.baselines.paths import ItemCosine, Katz, PageRank, ThreePaths, ThreePathsOverDegree
from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, normalise


def dense(graph):
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    matrix[graph.row_of_entry, graph.indices] = 1
    return matrix


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    sources, targets = np.random.default_rng(4).integers(40, size=(2, 120))
    return Graph.from_edges(sources, targets, nodes=42, directed=request.param)


def test_katz_against_dense_powers(graph):
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


def three_paths(matrix, exponent):
    into, out = matrix.sum(axis=0), matrix.sum(axis=1)
    scores = np.zeros_like(matrix)
    for source, first in zip(*matrix.nonzero(), strict=True):
        for second in matrix[:, first].nonzero()[0]:
            for target in matrix[second].nonzero()[0]:
                ends = out[source] * into[target]
                scores[source, target] += (into[first] * out[second]) ** -0.5 * ends**-exponent
    return scores


def item_cosine(matrix):
    sources = [set(column.nonzero()[0]) for column in matrix.T]
    scores = np.zeros_like(matrix)
    for source, target in np.ndindex(matrix.shape):
        for known in matrix[source].nonzero()[0]:
            shared = len(sources[known] & sources[target])
            if shared:
                norm = math.sqrt(len(sources[known]) * len(sources[target]))
                scores[source, target] += shared / norm
    return scores


def pagerank(matrix, steps, continuation):
    """Walkers along out-edges, as many from each source as it has edges, step by step."""
    scores = np.zeros_like(matrix)
    for source in range(len(matrix)):
        present = np.zeros(len(matrix))
        present[source] = matrix[source].sum()
        for step in range(steps):
            arrived = np.zeros(len(matrix))
            for node in present.nonzero()[0]:
                targets = matrix[node].nonzero()[0]
                arrived[targets] += present[node] / max(1, len(targets))
            present = arrived
            scores[source] += continuation**step * present
    return scores


def twins(graph):
    matrix = dense(graph)
    either = np.maximum(matrix, matrix.T)
    cosines = item_cosine(matrix)
    return {
        ThreePaths(): three_paths(matrix, 0),
        ThreePathsOverDegree(): three_paths(matrix, 0.25),
        ItemCosine(): cosines if graph.directed else (cosines + cosines.T) / 2,
        PageRank(): pagerank(either, 4, 0.85),
        PageRank(direction="followed", steps=3): pagerank(matrix, 3, 0.85),
    }


def test_against_loops(graph):
    pairs = np.indices((42, 42)).reshape(2, -1)
    for method, expected in twins(graph).items():
        scorer = method.fit(graph)
        everyone = scorer.score_all_targets(np.arange(42))
        np.testing.assert_allclose(everyone, expected, rtol=1e-5, atol=1e-7)
        one_by_one = scorer.score(*pairs).reshape(42, 42)
        np.testing.assert_allclose(one_by_one, expected, rtol=1e-5, atol=1e-7)


def test_same_scores_on_one_thread_and_two(graph):
    pairs = np.indices((42, 42)).reshape(2, -1)
    scorer = PageRank().fit(graph)
    threads = numba.get_num_threads()
    expected = scorer.score(*pairs), scorer.score_all_targets(np.arange(42))
    numba.set_num_threads(1)
    try:
        again = scorer.score(*pairs), scorer.score_all_targets(np.arange(42))
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(again[0], expected[0])
    np.testing.assert_array_equal(again[1], expected[1])


def test_memory_mapped_graph(graph, tmp_path):
    save_graph(graph, tmp_path / "graph")
    scores = ThreePaths().fit(load_graph(tmp_path / "graph")).score_all_targets(np.arange(42))
    np.testing.assert_array_equal(scores, ThreePaths().fit(graph).score_all_targets(np.arange(42)))


def test_weights_count():
    graph = Graph.from_edges([0, 1], [1, 2], weights=[2.0, 3.0])
    score = Katz(hops=2, beta=0.5).fit(graph).score(np.array([0, 0]), np.array([1, 2]))
    assert score.tolist() == [2.0, 3.0]


def test_weights_of_three_paths(graph):
    weights = np.random.default_rng(5).uniform(0.5, 2, graph.num_edges)
    weighted = Graph.from_edges(*graph.edges(), nodes=42, directed=graph.directed, weights=weights)
    matrix = adjacency(weighted).toarray()
    expected = matrix @ normalise(adjacency(weighted)).toarray().T @ matrix
    everyone = ThreePaths().fit(weighted).score_all_targets(np.arange(42))
    np.testing.assert_allclose(everyone, expected, rtol=1e-5)


def test_weights_too_small_to_multiply():
    """Two paths of weight 1e-38 ** 9, which is 0 in float64, meet in one node."""
    ends = np.arange(9)
    sources, targets = np.r_[ends, 0, 10, 8], np.r_[ends + 1, 10, 2, 11]
    graph = Graph.from_edges(sources, targets, weights=np.full(12, 1e-37))
    assert Katz(hops=12, beta=1).fit(graph).score_all_targets(np.arange(12))[0, 9] == 0
