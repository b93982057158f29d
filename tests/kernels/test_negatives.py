import numpy as np
import pytest
from scipy.stats import chisquare

from arcvec.graph.graph import Graph
from arcvec.kernels.negatives import compact_ids, draw_negatives, edges_in_block, fixed_negatives


@pytest.fixture
def graph():
    sources, targets = np.random.default_rng(0).integers(50, size=(2, 400))
    return Graph.from_edges(sources, targets, nodes=50)


def non_neighbours(graph, node):
    targets = graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()
    return set(range(graph.num_nodes)) - set(targets) - {node}


# 5 is drawn by rejection, 30 by looking at all, 60 is more than there are.
@pytest.mark.parametrize("set_size", [5, 30, 60])
def test_fixed_negatives_are_distinct_non_neighbours(graph, set_size):
    negatives = fixed_negatives(
        graph.indptr, graph.indices, np.arange(graph.num_nodes), set_size, 3, True
    )
    for node in range(50):
        drawn = negatives[node][negatives[node] >= 0].tolist()
        allowed = non_neighbours(graph, node)
        assert len(drawn) == min(set_size, len(allowed))
        assert len(set(drawn)) == len(drawn)
        assert set(drawn) <= allowed


@pytest.mark.parametrize("num_nodes", [40, 8])
def test_fixed_negatives_are_uniform(num_nodes):
    graph = Graph.from_edges([0, 0], [1, 2], nodes=num_nodes)
    draws = [
        fixed_negatives(graph.indptr, graph.indices, np.arange(graph.num_nodes), 3, seed, True)[0]
        for seed in range(3000)
    ]
    counts = np.bincount(np.concatenate(draws), minlength=num_nodes)
    assert counts[:3].sum() == 0
    assert chisquare(counts[3:]).pvalue > 1e-3


def test_draws_are_without_replacement_and_uniform():
    fixed = np.array([[10, 11, 12, 13, 14, 15], [20, 21, 22, -1, -1, -1]], dtype=np.int32)
    sources = np.tile(np.array([0, 1], dtype=np.int32), 5000)
    drawn = draw_negatives(fixed, sources, 4, 1, True)
    first, second = drawn[::2], drawn[1::2]
    assert (np.sort(first, axis=1)[:, 1:] > np.sort(first, axis=1)[:, :-1]).all()
    assert chisquare(np.bincount(first.ravel() - 10)).pvalue > 1e-3
    # A set smaller than what is asked for is given whole.
    assert (np.sort(second, axis=1) == [-1, 20, 21, 22]).all()


# 50 draws of a node with 40 non-neighbours, by rejection; of one with 5, from all of them.
@pytest.mark.parametrize("degree", [9, 44])
def test_negatives_with_replacement(degree):
    graph = Graph.from_edges([0] * degree, range(1, degree + 1), nodes=50)
    fixed = fixed_negatives(graph.indptr, graph.indices, np.arange(graph.num_nodes), 5000, 1, False)
    counts = np.bincount(fixed[0], minlength=50)
    assert counts[: degree + 1].sum() == 0
    assert chisquare(counts[degree + 1 :]).pvalue > 1e-3
    sources = np.zeros(2000, dtype=np.int32)
    drawn = draw_negatives(np.array([[7, 8, -1]], dtype=np.int32), sources, 4, 1, False)
    assert chisquare(np.bincount(drawn.ravel())[7:]).pvalue > 1e-3


def test_a_node_joined_to_all_has_no_negatives():
    graph = Graph.from_edges([0, 0], [1, 2], nodes=3)
    fixed = fixed_negatives(graph.indptr, graph.indices, np.arange(graph.num_nodes), 4, 1, False)
    assert (fixed[0] == -1).all()
    assert (draw_negatives(fixed, np.zeros(3, dtype=np.int32), 2, 1, False) == -1).all()


def test_edges_in_block_against_plain_python(graph):
    scratch = np.full(50, -1, dtype=np.int32)
    sources = np.array([3, 17, 8, 40], dtype=np.int32)
    targets = np.array([8, 1, 2, 3, 30, 44, 45, 46, 10], dtype=np.int32)
    rows, columns = edges_in_block(graph.indptr, graph.indices, sources, targets, scratch)
    expected = {
        (i, j)
        for i, source in enumerate(sources)
        for j, target in enumerate(targets)
        if target not in non_neighbours(graph, source)
    }
    assert len(rows) == len(expected)
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == expected
    assert (scratch == -1).all()


def test_compact_ids_numbers_in_order_of_appearance():
    scratch = np.full(10, -1, dtype=np.int32)
    distinct, numbers = compact_ids(np.array([7, 3, 7, -1, 0, 3]), scratch)
    assert distinct.tolist() == [7, 3, 0]
    assert numbers.tolist() == [0, 1, 0, -1, 2, 1]
    assert (scratch == -1).all()
