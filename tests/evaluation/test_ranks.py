"""Numbers by source are those of trec_eval, and those of plain Python where it has none."""

import dataclasses

import numpy as np
import pytest
import pytrec_eval

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.evaluation.ranks import Ranking
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges

KS = (1, 5, 20)
TREC_NAMES = {
    "recall": "recall",
    "precision": "P",
    "ndcg": "ndcg_cut",
    "map": "map_cut",
    "hit_rate": "success",
}


def make_split(directed=True, num_nodes=60):
    """Few nodes have many edges."""
    generator = np.random.default_rng(1)
    edges = (num_nodes * generator.random((2, 900)) ** 2).astype(np.int64)
    return split_edges(
        Graph.from_edges(*edges, nodes=num_nodes, directed=directed),
        test_fraction=0.3,
        validation_fraction=0.1,
        seed=0,
    )


def make_scorer(split, scores):
    identity = np.eye(split.train.num_nodes, dtype=np.float32)
    return EdgeEmbeddings(scores.astype(np.float32), identity, split.train.nodes)


def random_scores(split, seed=0):
    """Scores without ties."""
    num_nodes = split.train.num_nodes
    ranks = np.random.default_rng(seed).permutation(num_nodes * num_nodes)
    return ranks.reshape(num_nodes, num_nodes)


def relevant_targets(split):
    targets: dict[int, list[int]] = {}
    for source, target in split.test.tolist():
        targets.setdefault(source, []).append(target)
    return targets


def candidates_of(split, source, targets):
    """Return all nodes but the source and its known targets; in the whole graph, and not asked."""
    known = split.graph.indices[split.graph.indptr[source] : split.graph.indptr[source + 1]]
    return (set(range(split.train.num_nodes)) - {source} - set(known.tolist())) | set(targets)


@pytest.mark.parametrize("directed", [True, False])
def test_measures_are_those_of_trec_eval(directed):
    split = make_split(directed)
    scores = random_scores(split)
    found = link_prediction(make_scorer(split, scores), split, k=KS).by_source
    relevant = relevant_targets(split)
    cuts = ",".join(map(str, KS))
    evaluator = pytrec_eval.RelevanceEvaluator(
        {str(u): {str(v): 1 for v in targets} for u, targets in relevant.items()},
        {"recip_rank", *(f"{name}.{cuts}" for name in TREC_NAMES.values())},
    )
    run = {
        str(u): {str(v): float(scores[u, v]) for v in candidates_of(split, u, targets)}
        for u, targets in relevant.items()
    }
    by_source = list(evaluator.evaluate(run).values())
    assert len(by_source) == len(relevant) > 30
    names = {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in TREC_NAMES.items() for k in KS}
    for ours, theirs in {"source_mrr": "recip_rank", **names}.items():
        values = np.array([numbers[theirs] for numbers in by_source])
        assert found[ours] == pytest.approx(values.mean()), ours
        error = values.std(ddof=1) / np.sqrt(values.size)
        assert found[f"{ours}_standard_error"] == pytest.approx(error), ours


def test_popularity_and_coverage_by_hand():
    split = make_split()
    scores = random_scores(split) // 50  # ties
    report = link_prediction(make_scorer(split, scores), split, k=KS, seed=4)
    degrees = split.train.in_degrees
    popular = set(np.argsort(degrees, kind="stable")[-6:].tolist())
    order = np.argsort(np.random.default_rng(4).permutation(60))  # of equal scores
    relevant = relevant_targets(split)
    for k in KS:
        lists = []
        for u, targets in relevant.items():
            keys = list(zip(-scores[u], order, strict=True))
            lists.append(sorted(candidates_of(split, u, targets), key=keys.__getitem__)[:k])
        covered = len(set().union(*lists)) / 60
        shares = [np.mean([v in popular for v in some]) for some in lists]
        means = [degrees[some].mean() for some in lists]
        pairs = zip(lists, relevant.values(), strict=True)
        hits = [np.isin(some, targets).sum() for some, targets in pairs]
        assert report.by_source[f"coverage@{k}"] == covered
        assert report.by_source[f"popular_share@{k}"] == pytest.approx(np.mean(shares))
        assert report.by_source[f"popularity@{k}"] == pytest.approx(np.mean(means))
        assert report.by_source[f"precision@{k}"] == pytest.approx(np.mean(hits) / k)
    true = np.mean([degrees[targets].mean() for targets in relevant.values()])
    assert report.by_source["target_popularity"] == pytest.approx(true)
    assert report.num_ranked_sources == len(relevant)


def test_samples_of_edges_are_means_over_sources():
    """Sources of many edges are drawn more often, and count no more than others."""
    split = make_split(num_nodes=300)
    num_edges = np.bincount(split.test[:, 0], minlength=300)
    # The more edges a source has, the worse it is ranked: an unweighted mean would be too low.
    scores = np.random.default_rng(2).random((300, 300))
    scores[tuple(split.test.T)] += 1 / num_edges[split.test[:, 0]]
    scorer = make_scorer(split, scores)
    whole = link_prediction(scorer, split, max_ranked_edges=None)
    size = len(split.test) // 3
    samples = [link_prediction(scorer, split, max_ranked_edges=size, seed=i) for i in range(40)]
    for name in ("recall@10", "ndcg@10", "source_mrr", "target_popularity"):
        found = np.array([sample.by_source[name] for sample in samples])
        errors = [sample.by_source[f"{name}_standard_error"] for sample in samples]
        off = abs(found.mean() - whole.by_source[name])
        assert off < 3 * found.std() / np.sqrt(found.size), name
        assert 0.5 < found.std() / np.mean(errors) < 1.5, name
    assert samples[0].num_ranked == size
    assert samples[0].num_ranked_sources < whole.num_ranked_sources == (num_edges > 0).sum()


def test_ties_are_broken_without_favour():
    """A scorer that knows nothing finds as many targets as chance does, popular ids or not."""
    split = make_split(num_nodes=300)
    nothing = make_scorer(split, np.zeros((300, 300)))
    recalls = [link_prediction(nothing, split, seed=i).by_source["recall@10"] for i in range(50)]
    assert np.mean(recalls) == pytest.approx(10 / 295, rel=0.2)
    same = dataclasses.replace(nothing)
    assert link_prediction(nothing, split) == link_prediction(same, split)


def test_fewer_candidates_than_asked_for():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2], nodes=4)
    scorer = EdgeEmbeddings(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), graph.nodes)
    known = Graph.from_edges([0], [1], nodes=4)
    found = Ranking.of(scorer, np.array([[0, 2]]), known, k=5)
    assert sorted(found.best[0].tolist()) == [-1, -1, -1, 2, 3]
    assert found.mean_of_best(np.array([0, 0, 1, 2]), k=5).tolist() == [1.5]


def test_bad_k_is_refused():
    split = make_split()
    with pytest.raises(ValueError, match="expected k of at least 1, got 0"):
        link_prediction(make_scorer(split, random_scores(split)), split, k=(5, 0))


def test_progress_ends_at_one():
    split, fractions = make_split(), []
    link_prediction(make_scorer(split, random_scores(split)), split, progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
