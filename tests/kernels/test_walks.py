from collections import Counter

import numba
import numpy as np
import pytest
from scipy.stats import chisquare

from arcvec.graph.graph import Graph
from arcvec.kernels.walks import (
    alternating_walks,
    cumulative_weights,
    first_order_walks,
    second_order_walks,
)
from tests.kernels.twins import rows_of, slow_second_order_walk, slow_walk

NO_WEIGHTS = np.empty(0)


@pytest.fixture
def random_graph():
    """Forty nodes, sinks among them, edges from light to heavy."""
    generator = np.random.default_rng(0)
    sources, targets = generator.integers(30, size=200), generator.integers(40, size=200)
    weights = generator.integers(1, 50, size=200)
    return Graph.from_edges(sources, targets, nodes=40, weights=weights)


def unweighted(graph):
    return Graph(graph.indptr, graph.indices, graph.nodes, graph.directed)


def test_golden_walks():
    """Five nodes; a change of the generator or of the order of draws shows here."""
    graph = Graph.from_edges([0, 0, 1, 1, 2, 3, 3], [1, 2, 2, 3, 0, 0, 4])
    starts = np.arange(5, dtype=np.int32)
    walks = first_order_walks(graph.indptr, graph.indices, NO_WEIGHTS, starts, 6, 42, 0)
    assert walks.tolist() == GOLDEN


GOLDEN = [
    [0, 1, 3, 0, 2, 0],
    [1, 2, 0, 2, 0, 2],
    [2, 0, 2, 0, 1, 2],
    [3, 4, -1, -1, -1, -1],
    [4, -1, -1, -1, -1, -1],
]


@pytest.mark.parametrize("weighted", [False, True])
def test_first_order_against_plain_python(random_graph, weighted):
    graph = random_graph if weighted else unweighted(random_graph)
    cumulative = cumulative_weights(graph.indptr, graph.weights) if weighted else NO_WEIGHTS
    starts = np.arange(40, dtype=np.int32)
    walks = first_order_walks(graph.indptr, graph.indices, cumulative, starts, 8, 7, 100)
    rows = rows_of(graph)
    expected = [slow_walk([rows], start, 8, 7, 100 + start) for start in range(40)]
    assert walks.tolist() == expected
    assert (walks == -1).any(), "no walk met a sink"


@pytest.mark.parametrize("weighted", [False, True])
def test_alternating_against_plain_python(random_graph, weighted):
    graph = random_graph if weighted else unweighted(random_graph)
    back = graph.transposed
    sides = [
        (g.indptr, g.indices, cumulative_weights(g.indptr, g.weights) if weighted else NO_WEIGHTS)
        for g in (graph, back)
    ]
    starts = np.arange(40, dtype=np.int32)
    walks = alternating_walks(*sides[0], *sides[1], starts, 9, 3, 0)
    step_maps = [rows_of(graph), rows_of(back)]
    assert walks.tolist() == [slow_walk(step_maps, start, 9, 3, start) for start in range(40)]
    # Only the first step can fail: a target always leads back to the source it came from.
    assert set((walks == -1).sum(axis=1)) == {0, 8}


# The last pair forbids most proposals, so that rows are scanned.
@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (0.1, 0.5), (4.0, 0.25), (1.0, 3.0), (1e4, 1e-3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_second_order_against_plain_python(random_graph, weighted, p, q):
    graph = random_graph if weighted else unweighted(random_graph)
    cumulative = cumulative_weights(graph.indptr, graph.weights) if weighted else NO_WEIGHTS
    starts = np.tile(np.arange(40, dtype=np.int32), 3)
    walks = second_order_walks(graph.indptr, graph.indices, cumulative, starts, 12, p, q, 7, 100)
    rows = rows_of(graph)
    expected = [
        slow_second_order_walk(rows, start, 12, p, q, 7, 100 + number)
        for number, start in enumerate(starts.tolist())
    ]
    assert walks.tolist() == expected


# Walks go in groups in lock step, and leave them where they end: groups that are full, that are
# not, and that nobody is left in.
@pytest.mark.parametrize("num_walks", [0, 1, 63, 64, 65, 200])
def test_walks_do_not_depend_on_those_beside_them(random_graph, num_walks):
    graph = unweighted(random_graph)
    out = (graph.indptr, graph.indices, NO_WEIGHTS)
    back = (graph.transposed.indptr, graph.transposed.indices, NO_WEIGHTS)
    starts = (np.arange(num_walks) * 7 % 40).astype(np.int32)

    def check(walk):
        whole = walk(starts, 0)
        alone = [walk(starts[i : i + 1], i)[0] for i in range(num_walks)]
        np.testing.assert_array_equal(whole, np.reshape(alone, (num_walks, 6)))

    check(lambda starts, first: first_order_walks(*out, starts, 6, 1, first))
    check(lambda starts, first: alternating_walks(*out, *back, starts, 6, 1, first))
    check(lambda starts, first: second_order_walks(*out, starts, 6, 0.5, 2.0, 1, first))


@pytest.mark.parametrize("length", [1, 2])
def test_walks_of_one_or_two_nodes(random_graph, length):
    graph = unweighted(random_graph)
    out = (graph.indptr, graph.indices, NO_WEIGHTS)
    starts = np.arange(40, dtype=np.int32)
    for walks in (
        first_order_walks(*out, starts, length, 1, 0),
        second_order_walks(*out, starts, length, 0.5, 2.0, 1, 0),
    ):
        assert walks.shape == (40, length)
        np.testing.assert_array_equal(walks[:, 0], starts)


def test_cumulative_weights_restart_in_every_row(random_graph):
    sums = cumulative_weights(random_graph.indptr, random_graph.weights)
    for node, (_, weights) in rows_of(random_graph).items():
        row = sums[random_graph.indptr[node] : random_graph.indptr[node + 1]]
        np.testing.assert_allclose(row, np.cumsum(weights))


def test_weighted_steps_follow_the_weights():
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], weights=[1, 2, 7])
    cumulative = cumulative_weights(graph.indptr, graph.weights)
    starts = np.zeros(20_000, dtype=np.int32)
    walks = first_order_walks(graph.indptr, graph.indices, cumulative, starts, 2, 0, 0)
    counts = np.bincount(walks[:, 1], minlength=4)[1:]
    assert chisquare(counts, np.array([0.1, 0.2, 0.7]) * 20_000).pvalue > 1e-3


# p so large that returning is all but forbidden makes most rows fall back to the exact scan.
@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (0.1, 0.5), (4.0, 0.25), (1000.0, 0.01)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_second_order_steps_follow_p_and_q(p, q, weighted, directed):
    """Directed, some nodes can be gone back to and others cannot."""
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (2, 4), (0, 5), (2, 5), (5, 4)]
    edges += [(1, 0), (4, 2), (5, 0), (5, 3)]
    weights = range(1, 14) if weighted else None
    graph = Graph.from_edges(*zip(*edges, strict=True), directed=directed, weights=weights)
    cumulative = cumulative_weights(graph.indptr, graph.weights) if weighted else NO_WEIGHTS
    starts = np.zeros(60_000, dtype=np.int32)
    walks = second_order_walks(graph.indptr, graph.indices, cumulative, starts, 4, p, q, 5, 0)
    rows = rows_of(graph)
    seen = Counter(map(tuple, walks[:, 1:].tolist()))
    for previous, node in {(a, b) for a, b, _ in seen}:
        targets, row_weights = rows[node]
        bias = [
            1 / p if t == previous else 1.0 if t in rows[previous][0] else 1 / q for t in targets
        ]
        mass = np.array(bias) * (np.array(row_weights) if weighted else 1.0)
        counts = np.array([seen[previous, node, t] for t in targets])
        if counts.sum() > 500 and len(targets) > 1:
            expected = mass / mass.sum() * counts.sum()
            assert chisquare(counts, expected).pvalue > 1e-4, (previous, node)


def test_second_order_walks_keep_to_the_edges(random_graph):
    graph = unweighted(random_graph)
    starts = np.arange(40, dtype=np.int32)
    walks = second_order_walks(graph.indptr, graph.indices, NO_WEIGHTS, starts, 10, 0.3, 3.0, 1, 0)
    steps = np.stack([walks[:, :-1].ravel(), walks[:, 1:].ravel()])
    steps = steps[:, (steps >= 0).all(axis=0)]
    assert steps.shape[1] > 50
    assert graph.has_edges(*steps).all()


def test_walks_do_not_depend_on_threads_or_chunks(random_graph):
    graph = random_graph
    cumulative = cumulative_weights(graph.indptr, graph.weights)
    starts = np.tile(np.arange(40, dtype=np.int32), 25)

    def walk(threads):
        numba.set_num_threads(threads)
        args = (graph.indptr, graph.indices, cumulative)
        whole = second_order_walks(*args, starts, 20, 0.5, 2.0, 9, 0)
        parts = [
            second_order_walks(*args, starts[cut], 20, 0.5, 2.0, 9, cut.start)
            for cut in (slice(0, 333), slice(333, 1000))
        ]
        return whole, np.concatenate(parts)

    before = numba.get_num_threads()
    if before == 1:
        pytest.skip("one thread only: nothing to compare")
    try:
        results = [walk(threads) for threads in (1, 2, before)]
    finally:
        numba.set_num_threads(before)
    for whole, parts in results:
        np.testing.assert_array_equal(whole, results[0][0])
        np.testing.assert_array_equal(parts, results[0][0])
