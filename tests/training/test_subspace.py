import numpy as np
import pytest
from scipy.sparse import csr_array

from arcvec.graph.graph import Graph
from arcvec.training.spectral import leading_subspace, spectral_rows
from benchmarks.rmat import rmat_edges


def test_leading_vectors_against_a_dense_solver():
    dense = np.random.default_rng(0).random((60, 60)).astype(np.float32)
    dense *= dense > 0.8
    left, values, right = leading_subspace(csr_array(dense), 5, 30, np.random.default_rng(1))
    assert left.shape == right.shape == (60, 5)
    u, s, vt = np.linalg.svd(dense)
    assert values == pytest.approx(s[:5], rel=1e-4)
    assert (left * values) @ right.T == pytest.approx((u[:, :5] * s[:5]) @ vt[:5], abs=1e-3)


def test_no_more_vectors_than_directions():
    """A matrix of rank 1 has one; the others are 0, not noise."""
    ones = csr_array(np.ones((40, 40), dtype=np.float32))
    left, values, right = leading_subspace(ones, 3, 4, np.random.default_rng(0))
    assert values == pytest.approx([40, 0, 0], abs=1e-3)
    assert np.abs(right[:, 1:]).max() == 0
    assert np.isfinite(left).all()


@pytest.mark.parametrize("directed", [True, False])
def test_rows_of_two_seeds_stand_alike(directed):
    graph = Graph.from_edges(*rmat_edges(9, 16, seed=0), nodes=512, directed=directed)
    one, other = (spectral_rows(graph, 14, seed=seed) for seed in (0, 1))
    assert one.shape == (512, 14)
    assert one.dtype == np.float32
    sides = 2 if directed else 1
    assert np.array_equal(one[:, -sides:], other[:, -sides:])  # of degrees
    assert likeness(one, other) > 0.9


@pytest.mark.parametrize("num_nodes", [2, 3, 11])
def test_graphs_of_fewer_nodes_than_columns(num_nodes):
    graph = Graph.from_edges(range(num_nodes - 1), range(1, num_nodes))
    rows = spectral_rows(graph, 64, seed=0)
    assert rows.shape == (num_nodes, 64)
    assert np.isfinite(rows).all()


def likeness(one, other) -> float:
    """The correlation of the products of all nodes."""
    products = [(rows.astype(np.float64) @ rows.T).ravel() for rows in (one, other)]
    return np.corrcoef(*products)[0, 1]
