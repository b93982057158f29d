import numpy as np
import pytest
import torch
from pydantic import ValidationError

from arcvec.graph.graph import Graph
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.sampling.settings import WalkSettings
from arcvec.settings import merge_settings
from arcvec.training.average import average
from arcvec.training.degrees import DegreeTerms, fit_terms
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import Validation


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    sources, targets = np.random.default_rng(0).integers(50, size=(2, 200))
    targets = np.where(sources == targets, (targets + 1) % 50, targets)
    nodes = [str(i) for i in range(60)]  # the last ones have no edges
    return Graph.from_edges(sources, targets, nodes=nodes, directed=request.param)


@pytest.fixture(params=[None, [2.0, -1.0, 0.5]], ids=["two vectors", "one vector"])
def sides(request):
    source, target = torch.randn(2, 60, 3, generator=torch.Generator().manual_seed(0))
    if request.param is None:
        return Sides(source, target)
    return Sides(target, target, scale=torch.tensor(request.param))


def all_scores(sides):
    return (sides.scaled_source @ sides.target.T).double().numpy()


def edges_per_node(graph):
    ends = np.concatenate(graph.edges())
    return np.bincount(ends, minlength=60)


TERMS = [DegreeTerms(), DegreeTerms(3.0), DegreeTerms(-1.5), DegreeTerms(gain=0.5)]


@pytest.mark.parametrize("terms", TERMS)
def test_every_end_adds_its_part_to_the_score(graph, sides, terms):
    degrees = np.maximum(edges_per_node(graph), 1)
    part = terms.gain * np.log(degrees) - terms.discount / degrees
    expected = all_scores(sides) + part[:, None] + part[None, :]
    numbers = torch.from_numpy(terms.of_nodes(graph))
    both_ends = Sides.of_terms(numbers, one_vector=sides.scale is not None)
    arrays, weights, _ = average([sides, both_ends], [1.0, 1.0], 10)
    if weights is None:
        found = arrays["source"] @ arrays["target"].T
    else:
        found = arrays["vectors"] * weights @ arrays["vectors"].T
    np.testing.assert_allclose(found, expected, atol=1e-4)


def watched_pairs(graph, odds, repeat=1):
    """All pairs of nodes, edges by the odds of the pair."""
    sources, targets = np.divmod(np.arange(3600).repeat(repeat), 60)
    chances = 1 / (1 + np.exp(-odds[sources, targets]))
    is_edge = np.random.default_rng(1).random(len(chances)) < chances
    pairs = np.stack([sources, targets], axis=1).astype(np.int32)
    return Validation(pairs, is_edge, graph)


@pytest.mark.parametrize("planted", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
def test_the_discount_that_held_out_pairs_ask_for_is_found(graph, sides, planted, size):
    """Scores may be larger than log-odds: then the discount is by as much."""
    part = DegreeTerms(planted).of_nodes(graph)
    odds = all_scores(sides) + part[:, None] + part[None, :]
    validation = watched_pairs(graph, odds, repeat=20)
    scores = size * all_scores(sides)[tuple(validation.pairs.T)]
    fitted, auc = fit_terms(scores, graph, validation)
    found, wanted = fitted.of_nodes(graph), size * part
    np.testing.assert_allclose(found - found.mean(), wanted - wanted.mean(), atol=0.15 * size)
    assert auc == pytest.approx(validation.auc_of(odds[tuple(validation.pairs.T)]), abs=1e-3)


def test_degrees_are_added_where_they_alone_say_more(graph, sides):
    """Scores that say little beside degrees."""
    part = DegreeTerms(gain=1.0).of_nodes(graph)
    odds = 0.05 * all_scores(sides) + part[:, None] + part[None, :] - 4
    validation = watched_pairs(graph, odds, repeat=20)
    scores = all_scores(sides)[tuple(validation.pairs.T)]
    fitted, auc = fit_terms(scores, graph, validation)
    degrees = part[validation.pairs].sum(axis=1)
    assert fitted.gain > 0
    assert auc > max(validation.auc_of(degrees), validation.auc_of(scores))


def test_scores_that_do_not_speak_for_edges_ask_for_nothing(graph):
    pairs = np.stack(np.divmod(np.arange(3600), 60), axis=1).astype(np.int32)
    is_edge = np.random.default_rng(2).random(3600) < 0.5
    validation = Validation(pairs, is_edge, graph)
    assert fit_terms(-1.0 * is_edge, graph, validation) == (DegreeTerms(), 0.0)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("kind", ["asymmetric", "tied", "symmetric"])
def test_a_fit_has_its_dim_with_a_discount_too(graph, kind, members):
    """Discounts far above all scores: then they alone decide, whatever dim leaves of the rest."""

    def fit(**training):
        return EdgeProjection(
            goal="pairs",
            dim=8,
            members=members,
            walks=WalkSettings(window=5),
            model=ModelSettings(kind=kind),
            training=TrainSettings(steps=8 * members, batch_pairs=200, **training),
        ).fit(graph)

    fitted = fit(degree_discount=1000.0)
    assert fitted.dim == 8
    assert fitted.settings["degree_discount"] == 1000.0
    part = 1000.0 / np.maximum(edges_per_node(graph), 1)
    scores = fitted.score_all_targets(np.arange(60))
    plain = fit(degree_discount=0.0).score_all_targets(np.arange(60))
    np.testing.assert_allclose(scores, -part[:, None] - part, atol=3 * np.abs(plain).max())


@pytest.mark.parametrize(
    "settings",
    [
        {"training": {"validation_fraction": 0.0, "validation_edges": 0}},
        {"training": {"selection": "train", "settle": 0.0}},
        {"model": {"unit_norm": True, "kind": "asymmetric"}},
    ],
    ids=["nothing held out", "selected on train", "unit norm"],
)
def test_where_nothing_can_ask_for_it_there_is_none(graph, settings):
    quick = {"goal": "pairs", "dim": 8, "training": {"steps": 4, "batch_pairs": 200}}
    fitted = merge_settings(EdgeProjection, quick, settings).fit(graph)
    assert fitted.settings["degree_discount"] == 0


def test_unit_vectors_have_no_room_for_it():
    with pytest.raises(ValidationError, match=r"no room for training\.degree_discount"):
        EdgeProjection(
            goal="pairs",
            model=ModelSettings(unit_norm=True),
            training=TrainSettings(degree_discount=1.0),
        )
