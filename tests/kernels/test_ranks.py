import numpy as np

from arcvec.graph.graph import Graph
from arcvec.kernels.topk import rank_targets


def slow_rank(row, source, target, filtered):
    others = [
        score for i, score in enumerate(row) if i not in filtered and i not in (source, target)
    ]
    greater = sum(score > row[target] for score in others)
    equal = sum(score == row[target] for score in others)
    return 1 + greater + equal / 2


def test_against_plain_python_with_ties():
    generator = np.random.default_rng(0)
    scores = generator.integers(5, size=(20, 40)).astype(np.float32)
    sources = generator.permutation(40)[:20]
    known = Graph.from_edges(*generator.integers(40, size=(2, 200)), nodes=40)
    targets_of = [generator.permutation(40)[: generator.integers(1, 6)] for _ in sources]
    first = np.cumsum([0, *map(len, targets_of)])
    expected = []
    for i, source in enumerate(sources):
        row_known = set(known.indices[known.indptr[source] : known.indptr[source + 1]].tolist())
        filtered = row_known | set(targets_of[i].tolist())
        expected += [slow_rank(scores[i], source, target, filtered) for target in targets_of[i]]
    ranks = rank_targets(
        scores, sources, first, np.concatenate(targets_of), known.indptr, known.indices
    )
    assert ranks.dtype == np.float64
    assert ranks.tolist() == expected


def test_nan_score_has_no_rank():
    scores = np.array([[0.0, np.nan, 1.0]], dtype=np.float32)
    known = Graph.from_edges([], [], nodes=3)
    ranks = rank_targets(
        scores, np.array([0]), np.array([0, 1]), np.array([1]), known.indptr, known.indices
    )
    assert np.isnan(ranks).all()
