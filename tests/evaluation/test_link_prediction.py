import dataclasses
import json

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.evaluation.ranks import mean_and_error, rank_edges
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import split_edges
from arcvec.parallel.alone import Alone
from arcvec.view.table_text import compare_reports


def ring(num_nodes=40, directed=True):
    """Every node linked to the three after it: no edge has its reverse."""
    sources = np.repeat(np.arange(num_nodes), 3)
    targets = (sources + np.tile([1, 2, 3], num_nodes)) % num_nodes
    return Graph.from_edges(sources, targets, directed=directed)


def oracle(graph) -> EdgeEmbeddings:
    """Scores 1 for every edge of the graph and 0 for all else."""
    matrix = np.zeros((graph.num_nodes, graph.num_nodes), dtype=np.float32)
    matrix[graph.row_of_entry, graph.indices] = 1
    identity = np.eye(graph.num_nodes, dtype=np.float32)
    return EdgeEmbeddings(matrix, identity, graph.nodes, directed=graph.directed)


def random_embeddings(graph, seed=0) -> EdgeEmbeddings:
    source, target = np.random.default_rng(seed).normal(size=(2, graph.num_nodes, 4))
    return EdgeEmbeddings(
        source.astype(np.float32), target.astype(np.float32), graph.nodes, graph.directed
    )


@pytest.mark.parametrize("directed", [True, False])
def test_an_oracle_is_perfect(directed):
    graph = ring(directed=directed)
    report = link_prediction(oracle(graph), split_edges(graph, seed=0))
    assert report.auc == report.auc_random == report.average_precision == report.mrr == 1
    assert report.hits_at_10 == report.hits_at_100 == 1
    assert report.auc_reversed == (1 if directed else None)
    assert report.num_test_edges == report.num_ranked == 60
    assert report.mrr_standard_error is None


def test_a_symmetric_score_cannot_tell_direction():
    split = split_edges(ring(), seed=0)
    both_ways = Graph.from_edges(*ring().edges(), directed=False)
    report = link_prediction(oracle(both_ways), split)
    assert report.auc_random > 0.9  # a random negative may be a reversed edge by chance
    assert report.auc_reversed == 0.5
    assert report.auc < report.auc_random


def test_chance_is_one_half():
    graph = Graph.from_edges(*np.random.default_rng(0).integers(200, size=(2, 3000)))
    report = link_prediction(random_embeddings(graph), split_edges(graph, seed=0))
    assert report.auc == pytest.approx(0.5, abs=0.05)
    assert report.mrr < 0.1


def test_sample_of_ranked_edges():
    split = split_edges(ring(), seed=0)
    scorer = random_embeddings(split.train)
    whole = link_prediction(scorer, split, max_ranked_edges=None)
    sample = link_prediction(scorer, split, max_ranked_edges=30, seed=1)
    assert (whole.num_ranked, sample.num_ranked) == (60, 30)
    ranks = rank_edges(scorer, split.test, split.graph)
    assert whole.mrr == np.mean(1 / ranks)
    assert whole.hits_at_10 == np.mean(ranks <= 10)
    assert abs(whole.mrr - sample.mrr) < 4 * sample.mrr_standard_error
    assert sample == link_prediction(scorer, split, max_ranked_edges=30, seed=1)
    assert sample.mrr != link_prediction(scorer, split, max_ranked_edges=30, seed=2).mrr
    assert sample.auc == whole.auc


def test_standard_errors_are_those_of_a_mean():
    values = np.array([1.0, 0.5, 0.25, 1 / 10.5])
    expected = np.mean(values), np.std(values, ddof=1) / 2
    assert mean_and_error(values, Alone()) == pytest.approx(expected)
    hits = np.array([True, True, False, False])
    assert mean_and_error(hits, Alone()) == pytest.approx((0.5, np.std([1, 1, 0, 0], ddof=1) / 2))


def test_samples_are_within_their_standard_errors():
    """Of 600 test edges, samples of 150: each estimate is near the number of all edges."""
    graph = ring(400)
    split = split_edges(graph, seed=0)
    rng = np.random.default_rng(3)
    good, bad = oracle(graph), rng.normal(size=(400, 400)).astype(np.float32)
    scorer = dataclasses.replace(good, source=good.source + bad)
    whole = link_prediction(scorer, split, max_ranked_edges=None).as_dict()
    for seed in range(5):
        sample = link_prediction(scorer, split, max_ranked_edges=150, seed=seed).as_dict()
        for name in ("mrr", "hits@10", "hits@50", "hits@100"):
            error = sample[f"{name}_standard_error"]
            assert 0 < error < 0.06
            assert abs(sample[name] - whole[name]) < 4 * error
            assert whole[f"{name}_standard_error"] is None


def test_table_has_standard_errors_beside_the_numbers_of_a_sample():
    split = split_edges(ring(), seed=0)
    whole, sample = (
        compare_reports(
            {"ours": link_prediction(random_embeddings(split.train), split, max_ranked_edges=n)}, ""
        )
        for n in (60, 30)
    )
    assert not any("±" in text for text in whole.rows[0])
    shown = dict(zip(sample.header, sample.rows[0], strict=True))
    assert "±" in shown["MRR"]
    assert "±" in shown["hits@10"]
    assert "±" not in shown["AUC"]
    assert "30 of 60 test edges" in sample.notes[-1]


def test_without_ranking():
    split = split_edges(ring(), seed=0)
    report = link_prediction(oracle(ring()), split, ranking=False)
    assert report.mrr is report.hits_at_10 is None
    assert report.num_ranked == 0
    assert report.auc == 1


def test_report_becomes_json():
    split = split_edges(ring(), seed=0)
    numbers = json.loads(json.dumps(link_prediction(oracle(ring()), split).as_dict()))
    assert numbers["hits@10"] == 1.0
    assert {"auc", "auc_random", "auc_reversed", "average_precision", "mrr"} <= set(numbers)


def test_names_change_no_number():
    graph = ring()
    renamed = Graph(
        graph.indptr, graph.indices, NodeNames.from_strings(f"n{i}" for i in range(40)), True
    )
    first, second = (
        link_prediction(random_embeddings(g), split_edges(g, seed=0)) for g in (graph, renamed)
    )
    assert first == second


def test_scorer_must_fit_the_split():
    split = split_edges(ring(), seed=0)
    with pytest.raises(ValueError, match="41 nodes where the split has 40"):
        link_prediction(oracle(ring(41)), split)
    backwards = dataclasses.replace(
        oracle(ring()), nodes=NodeNames.from_strings(reversed(range(40)))
    )
    with pytest.raises(ValueError, match="same nodes in another order"):
        link_prediction(backwards, split)
    others = dataclasses.replace(
        oracle(ring()), nodes=NodeNames.from_strings(f"n{i}" for i in range(40))
    )
    with pytest.raises(ValueError, match="nodes of other names"):
        link_prediction(others, split)


def test_bad_input_is_refused():
    split = split_edges(ring(), seed=0)
    no_test = dataclasses.replace(split, test=split.test[:0])
    with pytest.raises(ValueError, match="with test edges, got none"):
        link_prediction(oracle(ring()), no_test)
    broken = dataclasses.replace(oracle(ring()), source=np.full((40, 40), np.inf, dtype=np.float32))
    with pytest.raises(ValueError, match="expected finite scores"):
        link_prediction(broken, split)
    with pytest.raises(ValueError, match="max_ranked_edges of at least 1, got 0"):
        link_prediction(oracle(ring()), split, max_ranked_edges=0)
