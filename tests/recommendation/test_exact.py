import numba
import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation import exact
from arcvec.recommendation.exact import (
    Candidates,
    LaidOut,
    recommend,
    top_k,
    top_k_blocks,
    with_popularity,
)

NUM_NODES = 57


@pytest.fixture(params=["directed", "undirected", "one vector"])
def embeddings(request):
    source, target = np.random.default_rng(0).normal(size=(2, NUM_NODES, 3)).astype(np.float32)
    nodes = NodeNames.from_strings(f"n{i}" for i in range(NUM_NODES))
    if request.param == "undirected":
        return EdgeEmbeddings(source, target, nodes, directed=False)
    # Small integers: scores are exact in float32 and full of ties.
    source, target = np.round(source), np.round(target)
    if request.param == "one vector":
        return EdgeEmbeddings.one_vector(source, [1, -2, 3], nodes, directed=False)
    return EdgeEmbeddings(source, target, nodes)


@pytest.fixture
def known(embeddings):
    sources, targets = np.random.default_rng(1).integers(NUM_NODES, size=(2, 400))
    return Graph.from_edges(sources, targets, nodes=embeddings.nodes)


def brute_force(embeddings, ids, k, known, direction, offered=None):
    everyone = np.arange(NUM_NODES)
    answers = []
    for query in ids:
        pair = (np.full(NUM_NODES, query), everyone)
        sources, targets = pair if direction == "targets" else pair[::-1]
        scores = embeddings.score(sources, targets)
        allowed = everyone != query
        if offered is not None:
            allowed &= np.isin(everyone, offered)
        if known is not None:
            allowed &= ~known.has_edges(sources, targets)
        order = sorted(everyone[allowed], key=lambda v: (-scores[v], v))[:k]
        padding = k - len(order)
        answers.append([*order, *([-1] * padding)])
    return np.array(answers)


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("k", [1, 10, 80])
@pytest.mark.parametrize("columns", [7, 1 << 16, None], ids=["blocks", "one block", "laid out"])
def test_against_brute_force(monkeypatch, embeddings, known, direction, k, columns):
    index = LaidOut.of(embeddings) if columns is None else None
    monkeypatch.setattr(exact, "COLUMNS", columns)
    monkeypatch.setattr(exact, "ROWS", 10)
    ids = np.array([5, 0, 56, 5, *range(10, 30)])
    for exclude in (None, known):
        found, scores = top_k(embeddings, ids, k, exclude=exclude, direction=direction, index=index)
        assert found.dtype == np.int32
        assert scores.dtype == np.float32
        expected = brute_force(embeddings, ids, k, exclude, direction)
        np.testing.assert_array_equal(found, expected)
        assert np.isneginf(scores[found < 0]).all()
        rows, columns = np.nonzero(found >= 0)
        pair = (ids[rows], found[rows, columns])
        ends = pair if direction == "targets" else pair[::-1]
        np.testing.assert_allclose(scores[rows, columns], embeddings.score(*ends), atol=1e-5)


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("num_only", [NUM_NODES, 20, 3])
def test_filtered_against_brute_force(monkeypatch, embeddings, known, direction, num_only):
    monkeypatch.setattr(exact, "COLUMNS", 7)
    monkeypatch.setattr(exact, "ROWS", 10)
    generator = np.random.default_rng(num_only)
    only = generator.permutation(NUM_NODES)[:num_only]
    without = generator.permutation(NUM_NODES)[:15]
    ids = np.arange(NUM_NODES)
    filters = {"only": only, "without": without}
    for names in ([], ["only"], ["without"], ["only", "without"]):
        offered = np.arange(NUM_NODES)
        if "only" in names:
            offered = np.intersect1d(offered, only)
        if "without" in names:
            offered = np.setdiff1d(offered, without)
        chosen = {name: filters[name] for name in names}
        expected = brute_force(embeddings, ids, 6, known, direction, offered)
        chosen |= {"exclude": known, "direction": direction}
        for index in (None, LaidOut.of(embeddings)):
            found, _ = top_k(embeddings, ids, 6, index=index, **chosen)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("popularity", [1, 0.5, 0])
def test_popularity_against_brute_force(embeddings, known, direction, popularity):
    pairs = np.divmod(np.arange(NUM_NODES**2), NUM_NODES)
    scores = embeddings.score(*pairs).reshape(NUM_NODES, NUM_NODES)
    scores = scores if direction == "targets" else scores.T
    adjusted = scores - (1 - popularity) * scores.mean(axis=0, dtype=np.float64)
    adjusted[np.diag_indices(NUM_NODES)] = -np.inf
    rows = known if direction == "targets" else known.transposed
    adjusted[rows.edges()] = -np.inf
    ids, filters = np.arange(NUM_NODES), {"exclude": known, "direction": direction}
    for index in (None, LaidOut.of(embeddings)):
        found, best = top_k(embeddings, ids, 9, popularity=popularity, index=index, **filters)
        np.testing.assert_allclose(best, -np.sort(-adjusted)[:, :9], atol=1e-5)
        np.testing.assert_allclose(np.take_along_axis(adjusted, found, 1), best, atol=1e-5)
        if popularity == 1:
            unchanged = top_k(embeddings, ids, 9, index=index, **filters)
            assert [found.tobytes(), best.tobytes()] == [part.tobytes() for part in unchanged]


def test_without_popularity_all_targets_have_the_same_mean_score(embeddings):
    everyone = np.arange(NUM_NODES)
    scores = with_popularity(embeddings, 0).score_all_targets(everyone)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-5)
    names, best = recommend(embeddings, ["n3"], 5, popularity=0.25)
    found, expected = recommend(with_popularity(embeddings, 0.25), ["n3"], 5)
    assert names.tolist() == found.tolist()
    np.testing.assert_allclose(best, expected, rtol=1e-6)


def test_nothing_may_be_recommended(embeddings):
    nobody = np.empty(0, dtype=np.int64)
    ids, scores = top_k(embeddings, np.arange(4), 3, only=nobody)
    assert (ids == -1).all()
    assert np.isneginf(scores).all()


def test_filters_by_name(embeddings, caplog):
    caplog.set_level("INFO")
    only = ["n3", "n9", "n12", "stranger", "n5"]
    names, scores = recommend(
        embeddings, ["n5"], k=4, only=only, without=["n9", "unheard of", "n1"]
    )
    ids, expected = top_k(embeddings, np.array([5]), 4, only=np.array([3, 12]))
    assert names.tolist() == [[f"n{i}" if i >= 0 else "" for i in row] for row in ids]
    np.testing.assert_array_equal(scores, expected)
    assert "only: 1 of 5 names are no nodes" in caplog.text
    assert "without: 1 of 3 names are no nodes" in caplog.text
    with pytest.raises(ValueError, match=r"only: expected names of nodes, got 2 names .*'x'"):
        recommend(embeddings, ["n5"], only=["x", "y"])
    unfiltered, _ = recommend(embeddings, ["n5"])
    assert recommend(embeddings, ["n5"], without=["x", "y"])[0].tolist() == unfiltered.tolist()


def test_blocks_cover_all_nodes_in_order(monkeypatch, embeddings, known):
    monkeypatch.setattr(exact, "ROWS", 10)
    candidates = Candidates.of(embeddings.nodes, "targets", exclude=known)
    blocks = list(top_k_blocks(embeddings, np.arange(NUM_NODES), 4, candidates))
    assert [len(ids) for ids, _, _ in blocks] == [10, 10, 10, 10, 10, 7]
    found, scores = top_k(embeddings, np.arange(NUM_NODES), 4, exclude=known)
    np.testing.assert_array_equal(np.concatenate([b[1] for b in blocks]), found)
    np.testing.assert_array_equal(np.concatenate([b[2] for b in blocks]), scores)


def test_same_on_any_number_of_threads(embeddings):
    ids = np.arange(NUM_NODES)
    threads = numba.get_num_threads()
    first = top_k(embeddings, ids, 7)
    numba.set_num_threads(1)
    try:
        second = top_k(embeddings, ids, 7)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


def test_names_at_the_border(embeddings, known):
    names, scores = recommend(embeddings, ["n5", "n7"], k=3, exclude=known)
    ids, expected = top_k(embeddings, np.array([5, 7]), 3, exclude=known)
    assert names.tolist() == [[f"n{i}" for i in row] for row in ids]
    np.testing.assert_array_equal(scores, expected)
    with pytest.raises(KeyError, match="unknown node 'nobody'"):
        recommend(embeddings, ["nobody"])


@pytest.mark.parametrize("direction", ["targets", "sources"])
def test_excluded_graph_is_matched_by_name(embeddings, known, direction):
    # The same edges over other ids: nodes turned round, a stranger in front, one node missing.
    order = np.array([i for i in reversed(range(NUM_NODES)) if i != 20])
    kept = known.subgraph(order)
    sources, targets = kept.edges()
    names = ["stranger", *(f"n{i}" for i in order)]
    other = Graph.from_edges(np.append(sources + 1, 0), np.append(targets + 1, 3), nodes=names)
    same = known.subgraph(order).subgraph(np.argsort(order))
    without_20 = Graph.from_edges(
        *(np.flatnonzero(np.arange(NUM_NODES) != 20)[ends] for ends in same.edges()),
        nodes=embeddings.nodes,
    )
    ids = np.arange(NUM_NODES)
    np.testing.assert_array_equal(
        top_k(embeddings, ids, 9, exclude=other, direction=direction)[0],
        top_k(embeddings, ids, 9, exclude=without_20, direction=direction)[0],
    )


def test_padding_has_no_name(embeddings):
    names, scores = recommend(embeddings, ["n1"], k=NUM_NODES + 2)
    assert names[0, -3:].tolist() == ["", "", ""]
    assert np.isfinite(scores[0, :-3]).all()


def test_no_queries(embeddings):
    ids, scores = top_k(embeddings, np.empty(0, dtype=np.int64), 3)
    assert ids.shape == scores.shape == (0, 3)


def test_bad_arguments_are_refused(embeddings):
    with pytest.raises(ValueError, match="expected k of at least 1, got 0"):
        top_k(embeddings, np.array([0]), 0)
    with pytest.raises(ValueError, match='expected direction "targets" or "sources"'):
        top_k(embeddings, np.array([0]), 3, direction="both")
    with pytest.raises(ValueError, match="expected node ids from 0 to 56, got 57"):
        top_k(embeddings, np.array([0]), 3, only=np.array([2, 57]))
    for popularity in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"expected a popularity from 0 .* to 1"):
            recommend(embeddings, ["n1"], popularity=popularity)
