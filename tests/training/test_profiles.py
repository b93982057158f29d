import numpy as np
import pytest

from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.training.quick import LandmarkProfiles


def random_graph(num_nodes=40, num_edges=90, **settings):
    generator = np.random.default_rng(0)
    ends = generator.integers(num_nodes, size=(2, num_edges))
    return Graph.from_edges(*ends, directed=False, nodes=num_nodes + 1, **settings)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_profiles(weighted):
    weights = np.arange(1.0, 91.0, dtype=np.float32) if weighted else None
    graph = random_graph(weights=weights)
    matrix = np.zeros((41, 41))
    matrix[graph.row_of_entry, graph.indices] = 1 if graph.weights is None else graph.weights
    degrees = np.maximum(matrix.sum(axis=1), 1e-9)
    walk = matrix / np.sqrt(np.outer(degrees, degrees))
    profiles = np.log1p(41 * sum(np.linalg.matrix_power(walk, steps) for steps in range(1, 11)))
    left, values, _ = np.linalg.svd(profiles)
    vectors = left * values**0.625
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9) ** 0.5
    fitted = LandmarkProfiles(dim=41).fit(graph)  # landmarks: all nodes
    everyone = np.arange(41)
    np.testing.assert_allclose(
        fitted.score_all_targets(everyone), vectors @ vectors.T, atol=2e-3, rtol=2e-3
    )


def test_a_node_without_edges_scores_zero():
    fitted = LandmarkProfiles(dim=8).fit(random_graph())
    assert not fitted.score(np.full(41, 40), np.arange(41)).any()


def test_few_landmarks_tell_near_from_far():
    """On a long path, where singular vectors of the graph are waves over all of it."""
    path = Graph.from_edges(np.arange(299), np.arange(1, 300), directed=False)
    fitted = LandmarkProfiles(dim=32, landmarks=100, seed=3).fit(path)
    near = np.stack([np.arange(297), np.arange(297) + 3])
    far = np.stack([np.arange(280), np.arange(280) + 20])
    assert roc_auc(fitted.score(*near), fitted.score(*far)) > 0.95


def test_seeds_choose_the_landmarks():
    graph = random_graph()
    first, again, other = (
        LandmarkProfiles(dim=4, landmarks=9, seed=s).fit(graph) for s in (1, 1, 2)
    )
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(first.target, other.target)


def test_directed_graphs_are_refused():
    with pytest.raises(ValueError, match="expected an undirected graph"):
        LandmarkProfiles().fit(Graph.from_edges([0], [1]))
