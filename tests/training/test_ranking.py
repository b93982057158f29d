"""Fits whose goal is the order of targets within each source."""

import numpy as np
import pytest
import torch

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import roc_auc
from arcvec.evaluation.ranks import rank_edges
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.training.average import average
from arcvec.training.degrees import SourceLevel, fit_level
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import RankingSettings, TrainSettings
from arcvec.training.validation import Validation, choose_validation

SHORT = TrainSettings(steps=30, batch_pairs=500, evaluate_every=10, checkpoint_every=7)
RANKING = RankingSettings(sweeps=(4,), nearby_weight=(1.0,), penalty=(2.0, 4.0))


def communities(directed, seed=0):
    """Popular nodes in ten communities of thirty; nine of ten edges stay within one."""
    generator = np.random.default_rng(seed)
    sources = generator.integers(300, size=6000)
    popular = (generator.pareto(1.5, size=6000) * 4).astype(int) % 30
    homes = np.where(generator.random(6000) < 0.9, sources // 30, generator.integers(10, size=6000))
    targets = homes * 30 + popular
    kept = sources != targets
    return Graph.from_edges(sources[kept], targets[kept], nodes=300, directed=directed)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return communities(request.param)


def method(**changes):
    return EdgeProjection(goal="ranking", dim=8, training=SHORT, ranking=RANKING, **changes)


def mean_reciprocal_rank(embeddings, split):
    return (1 / rank_edges(embeddings, split.test, split.graph)).mean()


def test_held_out_edges_rank_higher_than_where_pairs_are_the_goal(graph):
    split = split_edges(graph, test_fraction=0.2, seed=0)
    training = TrainSettings(steps=100, batch_pairs=4000)
    ranked = EdgeProjection(goal="ranking", dim=16, training=training).fit(split.train)
    paired = EdgeProjection(goal="pairs", dim=16, training=training).fit(split.train)
    # Without direction both find the communities, which are all there is.
    better = 1.1 if graph.directed else 0.95
    assert mean_reciprocal_rank(ranked, split) > better * mean_reciprocal_rank(paired, split)
    positive, negative = (ranked.score(*edges.T) for edges in (split.test, split.test_negatives))
    assert roc_auc(positive, negative) > 0.75


def test_the_result_says_its_goal_and_what_was_chosen(graph):
    fitted = method().fit(graph)
    assert fitted.dim == 8
    assert fitted.settings["settings"]["goal"] == "ranking"
    order = fitted.settings["order"]
    assert order["nearby_weight"] == 1.0
    assert order["penalty"] in (2.0, 4.0)
    assert 0 < fitted.settings["validation_gain"] < 1
    assert 0.5 < fitted.settings["validation_auc"] < 1
    assert bool(fitted.settings["source_level"]) == graph.directed


def test_interrupted_and_resumed_is_the_same_as_never_interrupted(graph, tmp_path):
    steps = []
    whole = method().fit(graph, Hooks(report=lambda progress: steps.append(progress.step)))
    for number, part in enumerate((0.2, 0.5, 0.8)):
        checkpoint, count = tmp_path / f"{number}.checkpoint", iter(range(10_000))
        last = int(part * len(steps))
        stopping = Hooks(should_stop=lambda c=count, n=last: next(c) >= n, checkpoint=checkpoint)
        with pytest.raises(Interrupted):
            method().fit(graph, stopping)
        resumed = method().fit(graph, Hooks(checkpoint=checkpoint, resume=True))
        assert np.asarray(resumed.source).tobytes() == np.asarray(whole.source).tobytes()
        assert np.asarray(resumed.target).tobytes() == np.asarray(whole.target).tobytes()


@pytest.mark.parametrize("kind", ["asymmetric", "tied", "symmetric"])
def test_any_likelihood_model_can_be_added(graph, kind):
    model = ModelSettings(kind=kind, node_dim=8, hidden=(8,))
    share = RANKING.model_copy(update={"likelihood_share": 1.0})
    fitted = method(model=model).model_copy(update={"ranking": share}).fit(graph)
    assert fitted.dim == 8
    assert np.isfinite(fitted.score_all_targets(np.arange(5))).all()


def test_without_edges_to_spare_the_order_alone_is_learned(graph):
    training = SHORT.model_copy(update={"validation_fraction": 0.0, "validation_edges": 0})
    fitted = method().model_copy(update={"training": training}).fit(graph)
    assert fitted.settings["validation_auc"] is None
    assert fitted.settings["steps_done"] == 4


def test_a_fit_from_an_earlier_result_tries_nothing_twice(graph):
    earlier = method().fit(graph)
    reports = []
    later = method().fit(graph, Hooks(report=reports.append), start=earlier)
    assert later.settings["order"] == earlier.settings["order"]
    # Once without the edges held out, once with them, and no trials.
    assert sum(progress.loss is None for progress in reports) == 2 * 4


def test_without_a_share_the_likelihood_is_not_trained(graph):
    alone = RANKING.model_copy(update={"likelihood_share": 0.0})
    reports = []
    fitted = method().model_copy(update={"ranking": alone}).fit(graph, Hooks(reports.append))
    assert all(progress.loss is None for progress in reports)
    assert fitted.dim == 8
    assert fitted.settings["validation_auc"] > 0.5


def test_the_mean_gain_is_that_of_the_ranks(graph):
    _, validation = choose_validation(graph, SHORT, 0)
    source, target = np.random.default_rng(1).normal(size=(2, 300, 3)).astype(np.float32)
    embeddings = EdgeEmbeddings(source, target, graph.nodes, directed=graph.directed)
    edges = validation.pairs[validation.is_edge]
    # Each edge alone: other held-out targets of a source are known, and no candidates, anyway.
    ranks = np.concatenate([rank_edges(embeddings, edge[None], graph) for edge in edges])
    sides = Sides(torch.from_numpy(source), torch.from_numpy(target))
    assert validation.mean_gain(sides) == pytest.approx(np.mean(1 / np.log2(1 + ranks)), abs=1e-5)


def test_the_level_of_a_source_raises_the_auc_and_changes_no_order():
    graph = communities(directed=True)
    generator = np.random.default_rng(3)
    pairs = generator.integers(300, size=(20_000, 2)).astype(np.int32)
    active = np.log(graph.out_degrees + 0.5) - np.log(graph.in_degrees + 0.5)
    scores = generator.normal(size=len(pairs)).astype(np.float32)
    odds = scores + active[pairs[:, 0]]
    is_edge = generator.random(len(pairs)) < 1 / (1 + np.exp(-odds))
    validation = Validation(pairs, is_edge, graph)
    level, auc = fit_level(scores, graph, validation)
    assert auc > validation.auc_of(scores) + 0.05
    assert auc == pytest.approx(validation.auc_of(odds), abs=0.01)
    source, target = (torch.from_numpy(part) for part in generator.normal(size=(2, 300, 3)))
    terms = Sides.of_source_terms(torch.from_numpy(level.of_nodes(graph)).double())
    arrays = average([Sides(source, target), terms], [1.0, 1.0], 8).arrays
    plain, leveled = (source @ target.T).numpy(), arrays["source"] @ arrays["target"].T
    assert (plain.argsort(axis=1)[:, -5:] == leveled.argsort(axis=1)[:, -5:]).all()


def test_scores_that_do_not_speak_for_edges_get_no_level():
    graph = communities(directed=True)
    pairs = np.stack(np.divmod(np.arange(3000), 300), axis=1).astype(np.int32)
    is_edge = np.random.default_rng(2).random(3000) < 0.5
    validation = Validation(pairs, is_edge, graph)
    assert fit_level(-1.0 * is_edge, graph, validation) == (SourceLevel(), 0.0)


@pytest.mark.parametrize("scaled", [True, False])
def test_joined_sides_score_the_weighted_sum(scaled):
    parts = [
        Sides(*torch.randn(2, 4, 3), scale=torch.randn(3) if scaled or i else None)
        for i in range(2)
    ]
    joined = Sides.join(parts, [1.0, 0.5])
    one, other = (part.scaled_source @ part.target.T for part in parts)
    torch.testing.assert_close(joined.scaled_source @ joined.target.T, one + other / 2)
