import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.kernels.edges import sum_common_neighbours, sum_common_neighbours_of_all


@pytest.fixture
def graph():
    sources, targets = np.random.default_rng(1).integers(30, size=(2, 200))
    return Graph.from_edges(sources, targets, nodes=32)


def slow_sum(graph, node_weights, source, target):
    row = {u: set(graph.indices[graph.indptr[u] : graph.indptr[u + 1]]) for u in (source, target)}
    total = np.float32(0)
    for shared in sorted(row[source] & row[target]):
        total += node_weights[shared]
    return total


def test_both_kernels_against_sets(graph):
    node_weights = np.random.default_rng(2).random(32, dtype=np.float32)
    expected = np.array(
        [[slow_sum(graph, node_weights, u, v) for v in range(32)] for u in range(32)]
    )
    sources, targets = np.indices((32, 32)).reshape(2, -1)
    pairs = sum_common_neighbours(graph.indptr, graph.indices, node_weights, sources, targets)
    assert pairs.dtype == np.float32
    np.testing.assert_array_equal(pairs.reshape(32, 32), expected)
    back = graph.transposed
    blocks = sum_common_neighbours_of_all(
        graph.indptr, graph.indices, back.indptr, back.indices, node_weights, np.arange(32)
    )
    np.testing.assert_array_equal(blocks, expected)
