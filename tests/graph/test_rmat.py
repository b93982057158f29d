import numba
import numpy as np
import pytest

from arcvec.graph.rmat import rmat_edges


def test_sizes_and_types():
    sources, targets = rmat_edges(8, 4, seed=0)
    for ends in (sources, targets):
        assert ends.shape == (4 * 256,)
        assert ends.dtype == np.int32
        assert ends.min() >= 0
        assert ends.max() < 256


def test_a_graph_of_one_node_has_loops_only():
    sources, targets = rmat_edges(0, 3, seed=0)
    assert sources.tolist() == targets.tolist() == [0, 0, 0]


def test_the_seed_decides_the_edges():
    first, again, other = (rmat_edges(8, 4, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first[0] != other[0]).any()


def test_edges_do_not_depend_on_threads():
    before = numba.get_num_threads()
    if before == 1:
        pytest.skip("one thread only: nothing to compare")
    whole = rmat_edges(8, 4, seed=1)
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(whole, rmat_edges(8, 4, seed=1))
    finally:
        numba.set_num_threads(before)


def test_degrees_are_uneven_on_both_sides():
    """Of 2^12 nodes the best has (.57 + .19)^12 of all edges, 150 times the mean."""
    for ends in rmat_edges(12, 16, seed=0):
        degrees = np.sort(np.bincount(ends, minlength=4096))[::-1]
        assert 0.76**12 * 0.9 < degrees[0] / ends.size < 0.76**12 * 1.1
        assert (degrees == 0).mean() > 0.2


def test_parts_of_the_edges_in_each_quarter():
    """With one level a cell is a quarter; loops and crossings survive the renaming."""
    sources, targets = rmat_edges(1, 100_000, seed=0)
    counts = np.bincount(2 * sources + targets, minlength=4) / sources.size
    np.testing.assert_allclose(np.sort(counts), [0.05, 0.19, 0.19, 0.57], atol=0.005)


def test_a_small_number_does_not_mean_a_hub():
    sources, _ = rmat_edges(12, 16, seed=0)
    degrees = np.bincount(sources, minlength=4096)
    assert 0.4 < degrees[:2048].sum() / degrees.sum() < 0.6
