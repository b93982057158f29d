import numpy as np

from arcvec.graph.graph import Graph
from arcvec.kernels.heaps import best_first, empty_heaps
from arcvec.kernels.topk import rank_targets


def slow_ranks(row, order, target, candidates):
    """Return the mean rank over all orders of equal scores, and the one in `order`."""
    greater = sum(row[node] > row[target] for node in candidates)
    equal = [node for node in candidates if row[node] == row[target]]
    before = sum(order[node] < order[target] for node in equal)
    return [1 + greater + len(equal) / 2, 1 + greater + before]


def test_against_plain_python_with_ties():
    generator = np.random.default_rng(0)
    scores = generator.integers(5, size=(20, 40)).astype(np.float32)
    sources = generator.permutation(40)[:20]
    known = Graph.from_edges(*generator.integers(40, size=(2, 200)), nodes=40)
    targets_of = [generator.permutation(40)[: generator.integers(1, 6)] for _ in sources]
    first = np.cumsum([0, *map(len, targets_of)])
    order = generator.permutation(40).astype(np.int32)
    expected, expected_best = [], []
    for row, source, targets in zip(scores, sources, targets_of, strict=True):
        known_targets = known.indices[known.indptr[source] : known.indptr[source + 1]]
        candidates = set(range(40)) - {source, *known_targets.tolist(), *targets.tolist()}
        expected += [slow_ranks(row, order, target, candidates) for target in targets]
        keys = list(zip(-row, order, strict=True))
        together = sorted(candidates | set(targets.tolist()), key=keys.__getitem__)
        expected_best.append(order[together[:7]].tolist())
    best = empty_heaps(20, 7)
    ranks = rank_targets(
        *(scores, sources, first, np.concatenate(targets_of), known.indptr, known.indices),
        *(order, best),
    )
    assert ranks.dtype == np.float64
    assert ranks.tolist() == expected
    assert best_first(*best, k=7)[0].tolist() == expected_best


def test_nan_score_has_no_rank():
    scores = np.array([[0.0, np.nan, 1.0]], dtype=np.float32)
    known = Graph.from_edges([], [], nodes=3)
    best = empty_heaps(1, 3)
    ranks = rank_targets(
        *(scores, np.array([0]), np.array([0, 1]), np.array([1]), known.indptr, known.indices),
        *(np.arange(3, dtype=np.int32), best),
    )
    assert np.isnan(ranks).all()
    assert best_first(*best, k=3)[0].tolist() == [[2, -1, -1]]
