import networkx as nx
import numpy as np
import pytest

from arcvec.kernels.edges import grow_forest
from tests.kernels.twins import slow_forest


def spanning_forest(sources, targets, order, num_nodes, block=10**6):
    """Mark the edges of the forest that is grown in an order, some edges at a time."""
    parents, sizes = np.arange(num_nodes, dtype=np.int32), np.ones(num_nodes, dtype=np.int32)
    kept = np.zeros(len(sources), dtype=bool)
    for start in range(0, len(order), block):
        tried = order[start : start + block]
        kept[tried] = grow_forest(parents, sizes, sources[tried], targets[tried])
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_against_plain_python(seed):
    generator = np.random.default_rng(seed)
    sources, targets = generator.integers(40, size=(2, 70))
    order = generator.permutation(70)
    expected = slow_forest(sources, targets, order, 40)
    for block in (70, 16, 1):
        kept = spanning_forest(sources, targets, order, 40, block)
        assert kept.tolist() == expected


def test_forest_spans_what_the_graph_spans():
    generator = np.random.default_rng(9)
    sources, targets = generator.integers(100, size=(2, 120))
    kept = spanning_forest(sources, targets, np.arange(120), 100)
    whole, forest = nx.Graph(), nx.Graph()
    whole.add_nodes_from(range(100))
    forest.add_nodes_from(range(100))
    whole.add_edges_from(zip(sources, targets, strict=True))
    forest.add_edges_from(zip(sources[kept], targets[kept], strict=True))
    assert nx.is_forest(forest)
    assert nx.number_connected_components(forest) == nx.number_connected_components(whole)


def test_first_edges_win_and_loops_never_do():
    sources, targets = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1])
    kept = spanning_forest(sources, targets, np.array([0, 2, 1, 3]), 3)
    assert kept.tolist() == [False, False, True, True]


def test_no_edges():
    nothing = np.empty(0, dtype=np.int64)
    assert spanning_forest(nothing, nothing, nothing, 3).size == 0
