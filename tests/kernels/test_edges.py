import numpy as np

from arcvec.graph.graph import Graph
from arcvec.kernels.edges import entries_of_edges, find_edge


def test_every_pair_against_a_set():
    generator = np.random.default_rng(0)
    sources, targets = generator.integers(25, size=(2, 120))
    graph = Graph.from_edges(sources, targets, nodes=27)  # the last two rows are empty
    edges = set(zip(sources.tolist(), targets.tolist(), strict=True))
    for u in range(27):
        for v in range(27):
            position = find_edge(graph.indptr, graph.indices, u, v)
            assert (position >= 0) == ((u, v) in edges)
            if position >= 0:
                assert graph.indices[position] == v
                assert graph.indptr[u] <= position < graph.indptr[u + 1]


def test_many_pairs_at_once():
    graph = Graph.from_edges([0, 0, 2], [1, 2, 0])
    found = entries_of_edges(
        graph.indptr, graph.indices, np.array([0, 1, 2, 2]), np.array([2, 0, 0, 2])
    )
    assert found.tolist() == [1, -1, 2, -1]
    nothing = np.empty(0, dtype=np.int32)
    assert entries_of_edges(graph.indptr, graph.indices, nothing, nothing).size == 0


def test_sources_of_entries():
    """Rows without entries, first, last and in between, are nobody's source."""
    graph = Graph.from_edges([1, 1, 4, 5, 5], [0, 2, 3, 1, 6], nodes=8)
    entries = np.array([4, 0, 3, 1, 2, 2])
    assert graph.sources_of(entries).tolist() == [5, 1, 5, 1, 4, 4]
    assert graph.sources_of(np.arange(5)).tolist() == graph.row_of_entry.tolist()


def loose_graph(**options) -> Graph:
    """Edges both ways and one way, self-loops, and rows without entries."""
    generator = np.random.default_rng(2)
    return Graph.from_edges(*generator.integers(30, size=(2, 250)), nodes=33, **options)


def test_entries_of_edges():
    graph = loose_graph()
    entries = entries_of_edges(graph.indptr, graph.indices, *graph.edges())
    assert entries.tolist() == list(range(graph.indices.size))
    isolated = np.array([32])
    assert entries_of_edges(graph.indptr, graph.indices, isolated, isolated).tolist() == [-1]


def test_counts_in_rows():
    graph = loose_graph(directed=False)
    rows = [graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in range(33)]
    expected = [int((row >= i).sum()) for i, row in enumerate(rows)]
    assert np.diff(graph.edge_starts).tolist() == expected


def test_returned_edges_against_a_set():
    graph = loose_graph()
    edges = list(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    expected = [(target, source) in set(edges) for source, target in edges]
    assert graph.is_returned.tolist() == expected
    assert {True, False} == set(expected)


def test_transposed_against_a_sort():
    graph = loose_graph(weights=np.random.default_rng(3).random(250) + 1)
    reverse = graph.transposed
    expected = Graph.from_edges(graph.indices, graph.row_of_entry, nodes=33, weights=graph.weights)
    dtypes = reverse.indptr.dtype, reverse.indices.dtype, reverse.weights.dtype
    assert dtypes == (np.int64, np.int32, np.float32)
    assert reverse.indptr.tolist() == expected.indptr.tolist()
    assert reverse.indices.tolist() == expected.indices.tolist()
    assert reverse.weights.tolist() == expected.weights.tolist()
    without = loose_graph().transposed
    assert without.indices.tolist() == expected.indices.tolist()
    assert without.weights is None
