"""The features of candidates against sums over paths that are listed one by one."""

from itertools import product

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.recommendation.exact import Candidates
from arcvec.recommendation.rerank import NAMES, PairFeatures


def random_graph(directed, seed=0, num_nodes=12, num_edges=40):
    edges = np.random.default_rng(seed).integers(num_nodes, size=(num_edges, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Graph.from_edges(*edges.T, nodes=num_nodes, directed=directed)


def embeddings_of(graph, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(2, graph.num_nodes, 3)).astype(np.float32)
    return EdgeEmbeddings(*vectors, graph.nodes, directed=graph.directed)


def slow_features(graph, embeddings, u, v):
    """Return the features of u -> v by loops over all nodes."""
    nodes = range(graph.num_nodes)
    edge = {
        (a, b) for a, b in zip(graph.row_of_entry.tolist(), graph.indices.tolist(), strict=True)
    }
    either = edge | {(b, a) for a, b in edge}
    out = [sum((a, b) in edge for b in nodes) for a in nodes]
    into = [sum((b, a) in edge for b in nodes) for a in nodes]
    degree = [sum((a, b) in either for b in nodes) for a in nodes]
    three = even = walks = 0.0
    for x, y in product(nodes, nodes):
        if {(u, x), (y, x), (y, v)} <= edge:
            three += (into[x] * out[y]) ** -0.5
            even += 1 / (into[x] * out[y])
    reached = {u: 1.0}
    for step in range(4):
        left = {a: value / (degree[a] if step else 1) for a, value in reached.items()}
        reached = {b: sum(left.get(a, 0) for a in nodes if (a, b) in either) for b in nodes}
        walks += 0.85**step * reached[v]
    score = embeddings.score(np.array([u]), np.array([v]))[0]
    degrees = np.log1p([into[v], out[v], into[u], out[u]])
    return [three, even, walks, (v, u) in edge, score, *degrees]


@pytest.mark.parametrize("directed", [True, False])
def test_features_of_pairs(directed):
    graph = random_graph(directed)
    embeddings = embeddings_of(graph)
    u, v = np.divmod(np.arange(144), 12)
    shuffled = np.random.default_rng(1).permutation(144)
    found = PairFeatures.of(embeddings, graph, "targets").of_pairs(u[shuffled], v[shuffled])
    slow = [slow_features(graph, embeddings, u[i], v[i]) for i in shuffled]
    assert found.shape == (144, len(NAMES))
    assert found == pytest.approx(np.array(slow), rel=1e-5, abs=1e-6)


def test_sources_are_the_targets_of_the_reversed_graph():
    graph = random_graph(True)
    embeddings = embeddings_of(graph)
    back = EdgeEmbeddings(embeddings.target, embeddings.source, graph.nodes)
    pairs = np.arange(12), np.arange(12)[::-1].copy()
    ours = PairFeatures.of(embeddings, graph, "sources").of_pairs(*pairs)
    assert np.array_equal(ours, PairFeatures.of(back, graph.transposed, "targets").of_pairs(*pairs))


def test_candidates_are_added_once_and_never_known_ones():
    graph = random_graph(True)
    features = PairFeatures.of(embeddings_of(graph), graph, "targets")
    candidates = Candidates.of(graph.nodes, "targets", exclude=graph, without=np.array([5]))
    ids, proposed = np.arange(12), np.full((12, 1), -1, dtype=np.int32)
    proposed[0] = np.flatnonzero(~graph.has_edges(np.zeros(12, int), np.arange(12)))[1]
    [(rows, chosen, found)] = features.blocks(ids, proposed, 4, candidates)
    assert chosen[rows].shape == (12, 9)
    assert chosen[0, 0] == proposed[0, 0]
    for node, row in enumerate(chosen):
        there = row[row >= 0]
        assert len(set(there)) == there.size
        assert not {node, 5} & set(there)
        assert not graph.has_edges(np.full(there.size, node), there).any()
        expected = features.of_pairs(np.full(there.size, node), there)
        assert np.array_equal(found[node, : there.size], expected)
        # The best by three paths that may be chosen are there.
        everyone = np.setdiff1d(np.flatnonzero(candidates.allowed), [node, *proposed[node]])
        everyone = everyone[~graph.has_edges(np.full(everyone.size, node), everyone)]
        sums = features.of_pairs(np.full(everyone.size, node), everyone)[:, 0]
        best = everyone[np.argsort(-sums, kind="stable")[:4]][np.sort(-sums)[:4] < 0]
        assert set(best) <= set(there)


def test_an_empty_graph_and_one_node():
    graph = Graph.from_edges([], [], nodes=1)
    features = PairFeatures.of(embeddings_of(graph), graph, "targets")
    found = features.of_pairs(np.array([0]), np.array([0]))
    assert np.isfinite(found).all()
    assert features.of_pairs(np.empty(0, int), np.empty(0, int)).shape == (0, len(NAMES))
