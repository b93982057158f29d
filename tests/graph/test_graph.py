"""The graph itself, on graphs with obvious answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames


def edge_list(graph):
    return list(zip(*(ids.tolist() for ids in graph.edges()), strict=True))


def test_counts_of_obvious_graphs(path_graph, star_graph, two_cliques, isolated_node, empty_graph):
    graphs = (path_graph, star_graph, two_cliques, isolated_node, empty_graph)
    assert [graph.num_nodes for graph in graphs] == [5, 6, 8, 3, 0]
    assert [graph.num_edges for graph in graphs] == [4, 5, 12, 1, 0]


def test_degrees(star_graph, two_cliques, isolated_node):
    assert star_graph.out_degrees.tolist() == [5, 0, 0, 0, 0, 0]
    assert star_graph.in_degrees.tolist() == [0, 1, 1, 1, 1, 1]
    assert two_cliques.out_degrees.tolist() == two_cliques.in_degrees.tolist() == [3] * 8
    assert isolated_node.in_degrees.tolist() == [0, 1, 0]


def test_types(two_cliques):
    assert (two_cliques.indptr.dtype, two_cliques.indices.dtype) == (np.int64, np.int32)
    weighted = Graph.from_edges([0], [1], weights=[2])
    assert weighted.weights.dtype == np.float32


def test_repeats_merge_and_weights_add_up():
    graph = Graph.from_edges([1, 0, 1], [0, 1, 0], weights=[1, 2, 0.5])
    assert edge_list(graph) == [(0, 1), (1, 0)]
    assert graph.edge_weights().tolist() == [2, 1.5]
    undirected = Graph.from_edges([1, 0, 1], [0, 1, 0], weights=[1, 2, 0.5], directed=False)
    assert undirected.weights.tolist() == [3.5, 3.5]
    assert undirected.edge_weights().tolist() == [3.5]


def test_self_loops_stand_once_in_their_row():
    graph = Graph.from_edges([0, 0, 1], [0, 1, 1], directed=False)
    assert graph.indices.tolist() == [0, 1, 0, 1]
    assert (graph.num_self_loops, graph.num_edges) == (2, 3)
    assert edge_list(graph) == [(0, 0), (0, 1), (1, 1)]


def test_has_edges(path_graph, two_cliques):
    sources, targets = np.array([0, 1, 4, 0]), np.array([1, 0, 0, 4])
    assert path_graph.has_edges(sources, targets).tolist() == [True, False, False, False]
    assert two_cliques.has_edges(sources, targets).tolist() == [True, True, False, False]


def test_reciprocity(directed_cycle, two_cliques, empty_graph):
    assert directed_cycle.reciprocity == 0
    assert two_cliques.reciprocity == 1
    assert empty_graph.reciprocity == 1
    assert Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 2]).reciprocity == pytest.approx(2 / 3)


def test_return_probability(directed_cycle, two_cliques):
    assert directed_cycle.return_probability == 0
    assert two_cliques.return_probability == 1
    graph = Graph.from_edges([0, 1, 0, 0, 0, 0, 0, 0], [1, 0, 2, 3, 4, 5, 6, 7])
    assert graph.reciprocity == 0.25
    assert graph.return_probability == pytest.approx(1 / 3)


def test_reciprocity_leaves_out_self_loops():
    graph = Graph.from_edges([0, 1, 1, 2, 2], [1, 0, 2, 2, 3])
    assert graph.reciprocity == 0.5
    assert graph.is_returned.tolist() == [True, True, False, True, False]
    assert Graph.from_edges([1], [1]).reciprocity == 1


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_ids_of_any_kind(kind):
    sources, targets = np.array([[2, 0, 2], [1, 1, 1]], dtype=kind)
    graph = Graph.from_edges(sources, targets, directed=False)
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)
    assert graph.indices.tolist() == [1, 0, 2, 1]


def test_transposed(directed_cycle, two_cliques):
    assert edge_list(directed_cycle.transposed) == [(0, 7)] + [(i + 1, i) for i in range(7)]
    assert directed_cycle.transposed.transposed.fingerprint == directed_cycle.fingerprint
    assert two_cliques.transposed is two_cliques
    weighted = Graph.from_edges([0, 1], [1, 2], weights=[1, 2]).transposed
    assert (edge_list(weighted), weighted.weights.tolist()) == ([(1, 0), (2, 1)], [1, 2])


def test_with_transposed(directed_cycle):
    reverse = Graph.from_edges(*directed_cycle.edges()[::-1])
    graph = directed_cycle.with_transposed(reverse)
    assert graph.transposed is reverse
    assert directed_cycle.transposed is not reverse
    assert graph.fingerprint == directed_cycle.fingerprint
    assert repr(graph) == repr(directed_cycle)


@pytest.mark.parametrize("directed", [True, False])
def test_edges_by_their_position(directed):
    ends = np.random.default_rng(0).integers(20, size=(2, 90))
    weights = 1.0 + ends.sum(axis=0)
    graph = Graph.from_edges(*ends, nodes=22, directed=directed, weights=weights)
    positions = np.random.default_rng(1).permutation(graph.num_edges)
    expected = np.stack(graph.edges())[:, positions]
    np.testing.assert_array_equal(graph.edges_at(positions.astype(np.uint32)), expected)
    _, entries = graph.entries_at(positions)
    np.testing.assert_array_equal(graph.weights[entries], graph.edge_weights()[positions])

    left, kept = positions[:30], np.sort(positions[30:])
    part = graph.without_edges_at(left)
    rebuilt = Graph.from_edges(
        *graph.edges_at(kept), nodes=22, directed=directed, weights=graph.edge_weights()[kept]
    )
    assert part.fingerprint == rebuilt.fingerprint
    assert graph.without_edges_at(positions).num_edges == 0
    assert graph.without_edges_at(positions[:0]).fingerprint == graph.fingerprint


def test_over_other_nodes_keeps_names_and_weights():
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], nodes=["c", "a", "x"], weights=[2.0, 3.0, 4.0])
    over = graph.over(NodeNames.from_strings("abc"))
    assert [ends.tolist() for ends in over.edges()] == [[2], [0]]
    assert over.edge_weights().tolist() == [2.0]
    assert graph.over(graph.nodes) is graph


def test_subgraph_renumbers(path_graph):
    part = path_graph.subgraph(np.array([3, 2, 0]))
    assert list(part.nodes) == ["3", "2", "0"]
    assert edge_list(part) == [(1, 0)]
    assert path_graph.subgraph(np.array([], dtype=int)).num_nodes == 0


def test_fingerprint_sees_structure_names_weights_and_direction(path_graph):
    sources, targets = path_graph.edges()
    others = [
        Graph.from_edges(sources, targets, directed=False),
        Graph.from_edges(sources, targets, weights=np.ones(4)),
        Graph.from_edges(sources, targets, nodes="abcde"),
        Graph.from_edges(sources, targets, nodes=6),
    ]
    prints = {graph.fingerprint for graph in [path_graph, *others]}
    assert len(prints) == 5
    assert Graph.from_edges(sources[::-1], targets[::-1]).fingerprint == path_graph.fingerprint


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (([0, 1], [1]), {}, r"as many sources as targets"),
        (([0], [3]), {"nodes": 3}, "node ids from 0 to 2, got 3"),
        (([-1], [0]), {}, "got -1"),
        (([0], [1]), {"weights": [0]}, "positive, finite weights, got 0.0 at edge 0"),
        (([0, 1], [1, 0]), {"weights": [1, np.inf]}, "got inf at edge 1"),
        (([0], [1]), {"weights": [1, 2]}, "expected 1 weights, one per edge"),
    ],
)
def test_faults(edges, options, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(*edges, **options)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30),
    st.booleans(),
)
def test_edges_are_the_set_that_went_in(pairs, directed):
    sources, targets = zip(*pairs, strict=True) if pairs else ((), ())
    graph = Graph.from_edges(sources, targets, nodes=7, directed=directed)
    expected = {(s, t) if directed else (min(s, t), max(s, t)) for s, t in pairs}
    assert edge_list(graph) == sorted(expected)
    assert graph.num_edges == len(expected)
    assert graph.out_degrees.sum() == graph.in_degrees.sum() == graph.indices.size
