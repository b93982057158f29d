import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.kernels.topk import keep_best


def run_tiles(scores, queries, known, k, width):
    best_scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
    best_ids = np.full((len(queries), k), -1, dtype=np.int32)
    for start in range(0, scores.shape[1], width):
        tile = np.ascontiguousarray(scores[:, start : start + width])
        candidates = np.arange(start, start + tile.shape[1], dtype=np.int32)
        keep_best(tile, candidates, queries, known.indptr, known.indices, best_scores, best_ids)
    return best_scores, best_ids


def slow_best(row, query, known, k):
    allowed = [
        (-score, i)
        for i, score in enumerate(row.tolist())
        if i != query and (query, i) not in known
    ]
    return sorted(allowed)[:k]


@pytest.mark.parametrize("k", [1, 3, 10, 45])
@pytest.mark.parametrize("width", [7, 50])
def test_against_sorting_with_many_ties(k, width):
    generator = np.random.default_rng(k)
    scores = generator.integers(6, size=(50, 50)).astype(np.float32)
    sources, targets = generator.integers(50, size=(2, 200))
    known = Graph.from_edges(sources, targets, nodes=50)
    queries = generator.permutation(50)
    best_scores, best_ids = run_tiles(scores, queries, known, k, width)
    known_edges = set(zip(sources.tolist(), targets.tolist(), strict=True))
    for i, query in enumerate(queries.tolist()):
        expected = slow_best(scores[i], query, known_edges, k)
        found = sorted(
            (-s, j)
            for s, j in zip(best_scores[i].tolist(), best_ids[i].tolist(), strict=True)
            if j >= 0
        )
        assert found == expected


def test_nan_and_missing_candidates_leave_padding():
    scores = np.array([[1.0, np.nan, 2.0]], dtype=np.float32)
    empty = Graph.from_edges([], [], nodes=3)
    best_scores, best_ids = run_tiles(scores, np.array([2]), empty, 3, 3)
    assert sorted(best_ids[0].tolist()) == [-1, -1, 0]
    assert sorted(best_scores[0].tolist()) == [-np.inf, -np.inf, 1.0]
