"""The nodes that short walks reach, against a plain-Python twin."""

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.kernels.nearby import nearest_by_walks


def shares_of_walks(graph, source, num_steps, continuation, tolerance):
    """Return how often walks from a source come to each other node, as shares of all."""
    sums, reached, weight = np.zeros(graph.num_nodes), {source: 1.0}, 1.0
    weights = np.ones(graph.indices.size) if graph.weights is None else graph.weights
    for _ in range(num_steps):
        following = {}
        for node, value in reached.items():
            row = slice(graph.indptr[node], graph.indptr[node + 1])
            share = value / weights[row].sum() if weights[row].size else 0.0
            if share < tolerance:
                continue
            for target, edge in zip(graph.indices[row].tolist(), weights[row], strict=True):
                following[target] = following.get(target, 0.0) + share * edge
        reached = following
        for node, value in reached.items():
            sums[node] += weight * value
        weight *= continuation
    sums[source] = 0
    return sums


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("tolerance", "k"), [(0.0, 40), (0.02, 40), (0.0, 5)])
def test_nearest_nodes_are_those_of_the_twin(weighted, tolerance, k):
    generator = np.random.default_rng(0)
    sources, targets = generator.integers(40, size=(2, 90))
    weights = generator.random(90) + 0.5 if weighted else None
    graph = Graph.from_edges(sources, targets, nodes=41, weights=weights)
    values = np.empty(0, np.float32) if graph.weights is None else graph.weights
    ones = np.ones(graph.indices.size) if graph.weights is None else graph.weights
    strengths = np.bincount(graph.row_of_entry, ones, minlength=41)
    everyone = np.arange(41, dtype=np.int32)
    settings = (3, 0.85, tolerance, k)
    found, shares = nearest_by_walks(
        graph.indptr, graph.indices, values, strengths, everyone, settings
    )
    for source in everyone:
        expected = shares_of_walks(graph, source, *settings[:3])
        count = min(k, np.count_nonzero(expected))
        assert (found[source, count:] == -1).all()
        kept = found[source, :count]
        best = np.sort(expected)[::-1][:count]
        np.testing.assert_allclose(np.sort(expected[kept])[::-1], best, rtol=1e-5)
        if count:
            np.testing.assert_allclose(shares[source, :count], best / best.sum(), rtol=1e-5)
