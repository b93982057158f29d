import numpy as np
import pytest
from scipy.sparse import csr_array

from arcvec.graph.graph import Graph
from arcvec.graph.rmat import rmat_edges
from arcvec.methods import spectral
from arcvec.methods.spectral import spectral_rows
from arcvec.methods.subspace import leading_subspace


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
def test_large_graphs_start_where_small_ones_do(monkeypatch, directed):
    """The two solvers differ no more than one of them with two seeds."""
    graph = Graph.from_edges(*rmat_edges(9, 16, seed=0), nodes=512, directed=directed)
    small, again = (spectral_rows(graph, 14, seed=seed) for seed in (0, 1))
    monkeypatch.setattr(spectral, "_COPIED_NODES", 100)
    large = spectral_rows(graph, 14, seed=0)
    assert large.shape == (512, 14)
    assert large.dtype == np.float32
    sides = 2 if directed else 1
    assert np.array_equal(small[:, -sides:], large[:, -sides:])  # of degrees
    assert likeness(small, large) > likeness(small, again) - 0.02


def likeness(one, other) -> float:
    """The correlation of the products of all nodes."""
    products = [(rows.astype(np.float64) @ rows.T).ravel() for rows in (one, other)]
    return np.corrcoef(*products)[0, 1]
