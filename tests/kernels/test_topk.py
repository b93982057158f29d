import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.kernels.topk import keep_best
from tests.kernels.twins import slow_best


def run_tiles(queries, nodes, vectors, candidates, known, k, width):
    """Feed candidates in tiles of some width, two tiles at a time."""
    best_scores = np.full((len(nodes), k), -np.inf, dtype=np.float32)
    best_ids = np.full((len(nodes), k), -1, dtype=np.int32)
    for start in range(0, len(candidates), 2 * width):
        some = candidates[start : start + 2 * width]
        padded = np.full((2 * width, vectors.shape[1]), 1e9, dtype=np.float32)
        padded[: len(some)] = vectors[some]
        tiles = np.ascontiguousarray(padded.reshape(2, width, -1).transpose(0, 2, 1))
        keep_best(queries, nodes, tiles, some, known.indptr, known.indices, best_scores, best_ids)
    return best_scores, best_ids


@pytest.mark.parametrize("k", [1, 3, 10, 45])
@pytest.mark.parametrize("width", [7, 300])
@pytest.mark.parametrize("dim", [4, 12])
@pytest.mark.parametrize("num_queries", [1, 66, 200])
def test_against_sorting_with_many_ties(k, width, dim, num_queries):
    generator = np.random.default_rng(k)
    # Small integers: products are exact, and full of ties.
    source, target = generator.integers(-1, 2, size=(2, 200, dim)).astype(np.float32)
    sources, targets = generator.integers(200, size=(2, 3000))
    known = Graph.from_edges(sources, targets, nodes=200)
    nodes = generator.permutation(200)[:num_queries]
    candidates = np.sort(generator.permutation(200)[:150]).astype(np.int32)
    scores, ids = run_tiles(source[nodes], nodes, target, candidates, known, k, width)
    known_edges = set(zip(sources.tolist(), targets.tolist(), strict=True))
    for i, node in enumerate(nodes.tolist()):
        expected = slow_best(source[node], node, target, candidates, known_edges, k)
        pairs = zip(scores[i].tolist(), ids[i].tolist(), strict=True)
        assert sorted((-score, j) for score, j in pairs if j >= 0) == expected


def test_nan_and_missing_candidates_leave_padding():
    vectors = np.zeros((3, 4), dtype=np.float32)
    vectors[:, 0] = 1, np.nan, 2
    empty = Graph.from_edges([], [], nodes=3)
    query = np.array([[1, 0, 0, 0]], dtype=np.float32)
    everyone = np.arange(3, dtype=np.int32)
    best_scores, best_ids = run_tiles(query, np.array([2]), vectors, everyone, empty, 3, 5)
    assert sorted(best_ids[0].tolist()) == [-1, -1, 0]
    assert sorted(best_scores[0].tolist()) == [-np.inf, -np.inf, 1.0]
