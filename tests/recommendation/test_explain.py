"""Where an edge stands, and the known edges most like it."""

import dataclasses
import json

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation.exact import recommend
from arcvec.recommendation.explain import KnownEdge, explain

NUM_NODES = 31


NAMES = NodeNames.from_strings(f"n{i}" for i in range(NUM_NODES))
WEIGHTS = np.array([4, -1, 0.25, 1], dtype=np.float32)


def small_integers():
    """Vectors of both sides: scores are exact in float32 and full of ties."""
    sides = np.round(np.random.default_rng(0).normal(size=(2, NUM_NODES, 4)))
    return sides.astype(np.float32)


@pytest.fixture(params=["directed", "undirected", "one vector"])
def embeddings(request):
    source, target = small_integers()
    if request.param == "one vector":
        return EdgeEmbeddings.one_vector(target, WEIGHTS, NAMES, directed=False)
    return EdgeEmbeddings(source, target, NAMES, directed=request.param == "directed")


@pytest.fixture
def known(embeddings):
    sources, targets = np.random.default_rng(1).integers(NUM_NODES, size=(2, 200))
    return Graph.from_edges(sources, targets, nodes=embeddings.nodes, directed=embeddings.directed)


def test_by_hand():
    source = np.array([[1, 0], [1, 1], [0, 2], [3, 4], [0, 0]], dtype=np.float32)
    target = np.array([[9, 9], [5, 0], [4, 1], [1, 0], [7, 7]], dtype=np.float32)
    embeddings = EdgeEmbeddings(source, target, NodeNames.from_strings("abcde"))
    edges = ["ad", "ae", "bc", "cc", "dc", "ec"]
    graph = Graph.from_edges(
        *np.array([["abcde".index(n) for n in e] for e in edges]).T, nodes="abcde"
    )
    found = explain(embeddings, "a", "c", graph=graph, k=2)
    # Scores of a: b 5, c 4, d 1, e 7; a -> d and a -> e are known, a itself never a candidate.
    assert (found.score, found.rank, found.num_candidates, found.num_left_out) == (4.0, 2, 2, 2)
    assert (found.percentile, found.known) == (0, False)
    half = pytest.approx(np.sqrt(0.5))
    assert found.similar_sources == (
        KnownEdge("b", "c", half, 5.0),
        KnownEdge("d", "c", pytest.approx(0.6), 16.0),
    )
    assert found.similar_targets == (
        KnownEdge("a", "d", pytest.approx(4 / np.sqrt(17)), 1.0),
        KnownEdge("a", "e", pytest.approx(5 / np.sqrt(34)), 7.0),
    )
    alone = explain(embeddings, "a", "c")
    assert (alone.rank, alone.num_candidates, alone.num_left_out) == (3, 4, 0)
    assert alone.percentile == pytest.approx(100 / 3)
    assert (alone.known, alone.similar_sources, alone.similar_targets) == (None, (), ())


@pytest.mark.parametrize("with_graph", [False, True])
def test_rank_is_the_place_in_the_recommendations(embeddings, known, with_graph):
    graph = known if with_graph else None
    for source in ("n0", "n7", "n30"):
        names, scores = recommend(embeddings, [source], k=NUM_NODES, exclude=graph)
        ranked = [name for name in names[0] if name]
        for place, target in enumerate(ranked, start=1):
            found = explain(embeddings, source, target, graph=graph)
            assert found.rank == place
            assert found.num_candidates == len(ranked)
            assert found.score == scores[0, place - 1]
            assert found.known is (False if with_graph else None)
        assert found.percentile == 0
        assert explain(embeddings, source, ranked[0], graph=graph).percentile == 100


def test_a_known_target_is_ranked_among_the_new_ones(embeddings, known):
    source = int(np.argmax(known.out_degrees))
    targets = set(known.indices[known.indptr[source] : known.indptr[source + 1]]) - {source}
    target = max(targets)
    found = explain(embeddings, f"n{source}", f"n{target}", graph=known)
    without = known.edges()
    kept = [(u, v) for u, v in zip(*without, strict=True) if {u, v} != {source, target} or u == v]
    other = Graph.from_edges(
        *zip(*kept, strict=True), nodes=embeddings.nodes, directed=embeddings.directed
    )
    new = explain(embeddings, f"n{source}", f"n{target}", graph=other)
    assert (found.known, new.known) == (True, False)
    assert (found.rank, found.num_candidates) == (new.rank, new.num_candidates)
    assert found.num_left_out == len(targets) - 1


def brute_force(embeddings, known, u, v, side):
    """Every known edge that shares one end with u -> v, most similar other end first."""
    edges = {
        (i, j)
        for i in range(NUM_NODES)
        for j in known.indices[known.indptr[i] :][: known.out_degrees[i]]
    }
    vectors = embeddings.vectors(side).astype(np.float64)
    if embeddings.weights is not None:
        vectors = embeddings.target * np.sqrt(np.abs(WEIGHTS))
    rows = []
    for i, j in sorted(edges):
        other, mine, shared = (i, u, j == v) if side == "source" else (j, v, i == u)
        if shared and other not in (u, v):
            norms = np.linalg.norm(vectors[other]) * np.linalg.norm(vectors[mine])
            cosine = vectors[other] @ vectors[mine] / norms if norms else 0.0
            rows.append((i, j, cosine, embeddings.score(np.array([i]), np.array([j]))[0]))
    return sorted(rows, key=lambda row: -round(row[2], 6))


@pytest.mark.parametrize("side", ["source", "target"])
def test_similar_edges_against_brute_force(embeddings, known, side):
    for u, v in ((0, 5), (9, 2), (30, 29)):
        found = explain(embeddings, f"n{u}", f"n{v}", graph=known, k=4)
        edges = found.similar_sources if side == "source" else found.similar_targets
        expected = brute_force(embeddings, known, u, v, side)
        assert len(edges) == min(4, len(expected))
        assert len(expected) > 1
        everyone = {(f"n{i}", f"n{j}"): (cosine, score) for i, j, cosine, score in expected}
        for edge, (*_, cosine, _) in zip(edges, expected, strict=False):
            assert edge.similarity == pytest.approx(cosine, abs=1e-5)  # ties in any order
            own = everyone[edge.source, edge.target]
            assert (edge.similarity, edge.score) == pytest.approx(own, abs=1e-5)


def same_scores(embeddings):
    """Give embeddings with the same scores, but other coordinates."""
    if embeddings.weights is not None:
        scale = np.array([2, 0.5, 4, 1], dtype=np.float32)
        return EdgeEmbeddings.one_vector(
            embeddings.target * scale, WEIGHTS / scale**2, NAMES, directed=embeddings.directed
        )
    turned, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))
    return dataclasses.replace(
        embeddings,
        source=(embeddings.source @ turned).astype(np.float32),
        target=(embeddings.target @ turned).astype(np.float32),
    )


def test_other_coordinates_of_the_same_scores_change_nothing(embeddings, known):
    other = same_scores(embeddings)
    first, second = (explain(e, "n3", "n4", graph=known, k=50) for e in (embeddings, other))
    assert second.score == pytest.approx(first.score, abs=1e-4)
    for edges, again in (
        (first.similar_sources, second.similar_sources),
        (first.similar_targets, second.similar_targets),
    ):
        before = {(e.source, e.target): e.similarity for e in edges}
        after = {(e.source, e.target): e.similarity for e in again}
        assert after == pytest.approx(before, abs=1e-4)


def test_one_vector_explains_both_directions_alike():
    embeddings = EdgeEmbeddings.one_vector(small_integers()[1], WEIGHTS, NAMES, directed=False)
    sources, targets = np.random.default_rng(1).integers(NUM_NODES, size=(2, 200))
    graph = Graph.from_edges(sources, targets, nodes=NAMES, directed=False)
    there = explain(embeddings, "n3", "n4", graph=graph, k=50)
    back = explain(embeddings, "n4", "n3", graph=graph, k=50)
    assert there.score == back.score
    assert there.similar_sources
    assert {(edge.source, edge.similarity) for edge in there.similar_sources} == {
        (edge.target, edge.similarity) for edge in back.similar_targets
    }


def test_a_graph_is_matched_by_name(embeddings, known):
    order = np.random.default_rng(4).permutation(NUM_NODES)
    shuffled = known.subgraph(order)
    assert explain(embeddings, "n3", "n4", graph=shuffled) == explain(
        embeddings, "n3", "n4", graph=known
    )


def test_becomes_json(embeddings, known):
    values = json.loads(json.dumps(explain(embeddings, "n3", "n4", graph=known, k=1).as_dict()))
    assert values["source"] == "n3"
    assert set(values["similar_sources"][0]) == {"source", "target", "similarity", "score"}


def test_two_nodes():
    vectors = np.ones((2, 2), dtype=np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("ab"))
    found = explain(embeddings, "a", "b")
    assert (found.rank, found.num_candidates, found.percentile) == (1, 1, 100)


def test_bad_arguments_are_refused(embeddings):
    with pytest.raises(ValueError, match="expected two different nodes, got 'n1' twice"):
        explain(embeddings, "n1", "n1")
    with pytest.raises(ValueError, match="expected k of at least 1, got 0"):
        explain(embeddings, "n1", "n2", k=0)
    with pytest.raises(KeyError, match="unknown node 'nobody'"):
        explain(embeddings, "n1", "nobody")
