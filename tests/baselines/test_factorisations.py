"""Methods that factorise a matrix, against that matrix made dense."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from arcvec.baselines.factorisations import (
    HOPE,
    STRAP,
    NetMF,
    NormalisedSVD,
    deepwalk_matrix,
    leading_eigenpairs,
    leading_singular_vectors,
    walk_ends,
)
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import undirected_adjacency
from arcvec.training.spectral import spectral_rows


@pytest.fixture
def graph():
    sources, targets = np.random.default_rng(4).integers(30, size=(2, 160))
    return Graph.from_edges(sources, targets, nodes=32)


def dense(graph):
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    matrix[graph.row_of_entry, graph.indices] = 1
    return matrix


def truncated(matrix, rank, power=1.0):
    left, values, right = np.linalg.svd(matrix)
    return (left[:, :rank] * values[:rank] ** power) @ right[:rank]


def test_svd_of_the_normalised_adjacency(graph):
    matrix = dense(graph)
    rows, columns = matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0)
    normalised = matrix / np.sqrt(np.maximum(rows, 1) * np.maximum(columns, 1))
    scores = NormalisedSVD(dim=10).fit(graph).score_all_targets(np.arange(32))
    np.testing.assert_allclose(scores, truncated(normalised, 5, 3), atol=1e-5)


def test_hope_against_the_inverse(graph):
    matrix = dense(graph)
    beta = 0.5 / np.linalg.norm(matrix, 2)
    proximity = np.linalg.inv(np.eye(32) - beta * matrix) @ (beta * matrix)
    scores = HOPE(dim=10, decay=0.5).fit(graph).score_all_targets(np.arange(32))
    np.testing.assert_allclose(scores, truncated(proximity, 5), atol=1e-5)


def ends_by_series(matrix, stop):
    """Personalised PageRank, the sum over k of (1 - stop)^k P^k, as an inverse."""
    sums = matrix.sum(axis=1, keepdims=True)
    step = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0) * (1 - stop)
    return np.linalg.inv(np.eye(len(matrix)) - step) * np.where(sums[:, 0] > 0, stop, 1.0)


def test_walk_ends_against_the_inverse(graph):
    ends = walk_ends(csr_array(dense(graph)), 0.3, 1e-10).toarray()
    np.testing.assert_allclose(ends, ends_by_series(dense(graph), 0.3), atol=1e-8)
    np.testing.assert_allclose(ends.sum(axis=1), 1, atol=1e-7)


def test_walk_ends_err_low_by_little(graph):
    exact = ends_by_series(dense(graph), 0.5)
    ends = walk_ends(csr_array(dense(graph)), 0.5, 1e-4).toarray()
    assert (ends <= exact + 1e-12).all()
    assert (exact - ends).max() < 1e-2


def test_strap_against_both_pageranks(graph):
    smallest = 1e-6
    chances = ends_by_series(dense(graph), 0.5) + ends_by_series(dense(graph).T, 0.5).T
    expected = truncated(np.log(np.maximum(chances / (smallest / 2), 1)), 5)
    scores = STRAP(dim=10, smallest=smallest).fit(graph).score_all_targets(np.arange(32))
    np.testing.assert_allclose(scores, expected, atol=0.05 * np.abs(expected).max())
    assert np.corrcoef(scores.ravel(), expected.ravel())[0, 1] > 0.999


def test_netmf_against_the_formula(graph):
    matrix = np.maximum(dense(graph), dense(graph).T)
    degrees = matrix.sum(axis=1)
    step = matrix / np.maximum(degrees, 1)[:, None]
    powers = sum(np.linalg.matrix_power(step, k) for k in (1, 2, 3))
    expected = degrees.sum() / (3 * 2) * powers / np.maximum(degrees, 1)
    expected = np.log(np.maximum(expected, 1))
    ours = deepwalk_matrix(undirected_adjacency(graph), 3, 2.0)
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    values, vectors = np.linalg.eigh(expected)
    kept = np.argsort(-np.abs(values))[:6]
    assert (values[kept] < 0).any()
    scores = NetMF(dim=6, window=3, negatives=2.0).fit(graph).score_all_targets(np.arange(32))
    low_rank = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    np.testing.assert_allclose(scores, low_rank, atol=1e-4)


def test_netmf_refuses_too_many_nodes(graph):
    with pytest.raises(ValueError, match=r"at most 31 nodes, got 32: NetMF factorises a dense"):
        NetMF(max_nodes=31).fit(graph)


def test_eigenvalues_by_sign_or_size():
    matrix = np.diag([1.0, -3.0, 2.0])
    assert leading_eigenpairs(matrix, 2, seed=0)[0].tolist() == [2, 1]
    assert leading_eigenpairs(matrix, 2, seed=0, largest="absolute")[0].tolist() == [-3, 2]


def test_iterative_solver_agrees_with_the_dense_one():
    sources, targets = np.random.default_rng(1).integers(400, size=(2, 3000))
    graph = Graph.from_edges(sources, targets, nodes=400)
    expected = np.linalg.svd(dense(graph), compute_uv=False)[:3]
    left, values, right = leading_singular_vectors(dense(graph), 3, seed=0)
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    np.testing.assert_allclose(dense(graph) @ right, left * values, atol=1e-8)
    empty = leading_singular_vectors(np.zeros((400, 400)), 3, seed=0)
    assert not any(part.any() for part in empty)
    assert [part.shape for part in empty] == [(400, 3), (3,), (400, 3)]


@pytest.mark.parametrize("directed", [True, False])
def test_spectral_rows_tell_communities_apart(directed):
    """Nodes of two groups that link within: near their own, far from the others."""
    rng = np.random.default_rng(0)
    group = np.arange(200) % 2
    sources, targets = rng.integers(200, size=(2, 4000))
    kept = group[sources] == group[targets]
    graph = Graph.from_edges(sources[kept], targets[kept], directed=directed, nodes=200)
    rows = spectral_rows(graph, 16, seed=0)
    assert rows.shape == (200, 16)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, spectral_rows(graph, 16, seed=0))
    likeness = rows @ rows.T
    same = group[:, None] == group
    np.fill_diagonal(same, False)
    assert likeness[same].mean() > likeness[group[:, None] != group].mean() + 0.1


def test_spectral_rows_know_degrees():
    star = Graph.from_edges([0] * 9, range(1, 10))
    rows = spectral_rows(star, 12, seed=0)
    assert rows[0, -1] > rows[1:, -1].max()  # out-degrees
    assert rows[0, -2] < rows[1:, -2].min()  # in-degrees


@pytest.mark.parametrize(("nodes", "columns"), [(3, 100), (40, 1), (40, 2), (40, 3)])
def test_spectral_rows_of_any_size(nodes, columns):
    graph = Graph.from_edges([0, 1], [1, 2], nodes=nodes)
    rows = spectral_rows(graph, columns, seed=5)
    assert rows.shape == (nodes, columns)
    assert np.isfinite(rows).all()
