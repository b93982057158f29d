import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation import curves
from arcvec.evaluation import ranks as ranking
from arcvec.evaluation.curves import Areas, roc_auc
from arcvec.evaluation.ranks import rank_edges
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames


def embeddings_of(scores) -> EdgeEmbeddings:
    """Vectors whose inner products are the given matrix of scores, exactly."""
    scores = np.asarray(scores, dtype=np.float32)
    return EdgeEmbeddings(
        scores, np.eye(len(scores), dtype=np.float32), NodeNames.numbered(len(scores))
    )


def test_areas_against_scikit_learn():
    generator = np.random.default_rng(0)
    positive = generator.integers(20, size=300).astype(np.float32) + 3
    negative = generator.integers(20, size=500).astype(np.float32)
    labels = np.repeat([1, 0], [300, 500])
    scores = np.concatenate([positive, negative])
    assert roc_auc(positive, negative) == pytest.approx(roc_auc_score(labels, scores))
    expected = average_precision_score(labels, scores)
    assert Areas.of(positive, negative).average_precision == pytest.approx(expected)


def test_auc_is_the_chance_of_winning():
    positive, negative = np.array([1.0, 3.0, 3.0]), np.array([0.0, 1.0, 3.0, 4.0])
    wins = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert roc_auc(positive, negative) == pytest.approx(np.mean(wins))
    assert roc_auc(negative, positive) == pytest.approx(1 - np.mean(wins))


@pytest.mark.parametrize("block", [1, 7, 499, 500, 1 << 22])
def test_blocks_of_any_size_give_the_same_areas(monkeypatch, block):
    generator = np.random.default_rng(2)
    positive = generator.integers(40, size=300).astype(np.float32) + 3
    negative = generator.integers(40, size=500).astype(np.float32)
    whole = Areas.of(positive, negative)
    monkeypatch.setattr(curves, "BLOCK_NEGATIVES", block)
    assert Areas.of(positive, negative) == whole
    assert Areas.of(generator.permutation(positive), generator.permutation(negative)) == whole


def test_no_area_without_negatives():
    nothing = np.empty(0, dtype=np.float32)
    assert np.isnan(roc_auc(np.ones(3, dtype=np.float32), nothing))
    assert np.isnan(Areas.of(nothing, np.ones(3, dtype=np.float32))).all()


def test_known_ranks():
    # From node 0: scores 9 (itself), 5, 4, 4, 1.
    scorer = embeddings_of(np.tile([9, 5, 4, 4, 1], (5, 1)))
    nothing = Graph.from_edges([], [], nodes=5)
    assert rank_edges(scorer, np.array([[0, 1]]), nothing).tolist() == [1.0]
    assert rank_edges(scorer, np.array([[0, 2]]), nothing).tolist() == [2.5]
    assert rank_edges(scorer, np.array([[0, 4]]), nothing).tolist() == [4.0]
    # Asked for together, the edges of a source do not stand in each other's way.
    assert rank_edges(scorer, np.array([[0, 2], [0, 4]]), nothing).tolist() == [2.5, 3.0]
    known = Graph.from_edges([0, 0, 0], [1, 2, 4], nodes=5)
    assert rank_edges(scorer, np.array([[0, 4]]), known).tolist() == [2.0]


def test_self_loop_is_ranked_like_any_edge():
    scorer = embeddings_of(np.tile([2, 3, 1], (3, 1)))
    nothing = Graph.from_edges([], [], nodes=3)
    assert rank_edges(scorer, np.array([[0, 0]]), nothing).tolist() == [2.0]


def slow_rank(scores, source, target, edges, known):
    filtered = {v for u, v in edges if u == source} | {v for u, v in known if u == source}
    filtered = (filtered | {source}) - {target}
    others = [s for v, s in enumerate(scores[source]) if v not in filtered | {target}]
    own = scores[source][target]
    return 1 + sum(s > own for s in others) + sum(s == own for s in others) / 2


@pytest.mark.parametrize("block_scores", [1, 100, 1 << 24])
def test_ranks_against_plain_python_in_any_blocks(monkeypatch, block_scores):
    monkeypatch.setattr(ranking, "BLOCK_SCORES", block_scores)
    generator = np.random.default_rng(1)
    scores = generator.integers(8, size=(30, 30)).astype(np.float32)
    edges = np.unique(generator.integers(30, size=(60, 2)), axis=0)
    edges = generator.permutation(edges)
    known = Graph.from_edges(*generator.integers(30, size=(2, 90)), nodes=30)
    known_edges = list(zip(*known.edges(), strict=True))
    ranks = rank_edges(embeddings_of(scores), edges, known)
    expected = [slow_rank(scores, u, v, edges.tolist(), known_edges) for u, v in edges]
    assert ranks.tolist() == expected


def test_nan_is_not_a_rank():
    known = Graph.from_edges([], [], nodes=3)
    broken = EdgeEmbeddings(
        np.full((3, 1), np.nan, dtype=np.float32), np.ones((3, 1)), NodeNames.numbered(3)
    )
    with pytest.raises(ValueError, match="got NaN for the edge 1 -> 2"):
        rank_edges(broken, np.array([[1, 2]]), known)
