import numpy as np
import pytest

from arcvec.graph.graph import Graph
from benchmarks.rmat import BOTH_FIRST, SOURCE_SECOND, TARGET_SECOND, rmat_edges


def test_shape_range_and_seed():
    sources, targets = rmat_edges(scale=6, edges_per_node=3, seed=0)
    assert sources.shape == targets.shape == (3 * 64,)
    assert sources.dtype == targets.dtype == np.int32
    for ids in (sources, targets):
        assert 0 <= ids.min() <= ids.max() < 64
    assert np.array_equal(rmat_edges(6, 3, seed=0), (sources, targets))
    assert not np.array_equal(rmat_edges(6, 3, seed=1), (sources, targets))


def test_quarters_have_their_chances():
    # Of two nodes there are four cells; which node is which is shuffled.
    sources, targets = rmat_edges(scale=1, edges_per_node=20_000, seed=3)
    shares = np.bincount(2 * sources + targets, minlength=4) / sources.size
    expected = [BOTH_FIRST, TARGET_SECOND, SOURCE_SECOND]
    expected.append(1 - sum(expected))
    # 40,000 draws: a standard deviation of .0025 at most.
    assert any(np.allclose(shares, quarters, atol=0.01) for quarters in (expected, expected[::-1]))


def test_few_nodes_have_many_edges():
    sources, targets = rmat_edges(scale=12, edges_per_node=16, seed=0)
    graph = Graph.from_edges(sources, targets, nodes=1 << 12)
    for degrees in (graph.out_degrees, graph.in_degrees):
        top = np.sort(degrees)[-41:]  # one node in a hundred
        assert top.sum() > 0.1 * graph.num_edges
        assert (degrees == 0).any()


@pytest.mark.parametrize("scale", [0, 31])
def test_sizes_that_ids_cannot_have_are_refused(scale):
    with pytest.raises(ValueError, match=f"scale from 1 to 30, got {scale}"):
        rmat_edges(scale, 16, seed=0)
