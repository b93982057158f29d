"""The recipe of a fit for recommending: the order within each source, then the level of sources.

One training learns the order of targets within each source, by ranks of held-out edges. Another
one, the paper's likelihood, tells likely pairs of all sources from unlikely ones; as much of its
score is added as hardly changes those ranks. What is added to all pairs of a source changes none:
by its degrees, pairs of different sources are made comparable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.training.average import Vectors, average
from arcvec.training.degrees import SourceLevel, fit_level
from arcvec.training.fit import Fit, Learned
from arcvec.training.settings import RankingSettings
from arcvec.training.validation import Validation

# Spreads of the likelihood's score that are tried; the largest one that keeps this part of the
# best gain is taken.
_SHARES = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5)
_KEPT_GAIN = 0.99


@dataclass(frozen=True, eq=False)
class Ranked:
    """What a fit for recommending learned.

    Attributes:
        order, likely: the training for the order, and that for the likelihood; None where no edges
            are held out, which would tell how to add it.
        share: what the likelihood adds to the order, in spreads of both.
        gain, auc: on held-out edges, of all together; None if there are none.
        parts, weights: see `Learned`.
    """

    order: Learned
    likely: Learned | None
    share: float
    level: SourceLevel
    gain: float | None
    auc: float | None
    parts: list[Sides]
    weights: list[float]

    def vectors(self, dim: int, workers: Alone) -> tuple[dict[str, Vectors], Vectors | None]:
        """Return the score as vectors of dim numbers per node; see `average`."""
        return average(self.parts, self.weights, dim, workers)


def fit_ranking(likelihood: Fit, ranking: RankingSettings, dim: int) -> Ranked:
    """Return what was learned by both trainings, and how they are joined.

    Args:
        likelihood: the fit of the likelihood; the other one shares its held-out edges.
        dim: numbers per node of all together. They fit into it side by side: to shorten vectors
            would cost the small differences that decide an order.
    """
    if likelihood.validation is not None:
        level_dim = 2 if likelihood.graph.directed else 0
        dim = max(2, dim - likelihood.dim - level_dim)
    ordering = ordering_fit(likelihood, ranking, dim)
    order, validation = ordering.run(), ordering.validation
    if validation is None:
        return Ranked(order, None, 0.0, SourceLevel(), None, None, order.parts, order.weights)
    likely = likelihood.run()
    watched = order.members[0].watched, likely.members[0].watched
    assert watched[0] is not None
    assert watched[1] is not None
    seen_parts = likelihood.parts_of([watched[1]], likely.terms, likelihood.seen)
    unseen = Sides.join(*seen_parts)
    scores = validation.scores(watched[0]), validation.scores(unseen)
    # Shares are of scores that have the same spread over non-edges.
    non_edges = torch.from_numpy(~validation.is_edge)
    spreads = [float(part[non_edges].std()) for part in scores]
    unit = spreads[0] / spreads[1] if spreads[1] else 0.0
    share, gain = _choose_share(ranking, watched[0], unseen, unit, validation)
    weight = share * unit
    parts, weights = [*order.parts, *likely.parts], [1.0, *(weight * w for w in likely.weights)]
    joined = (scores[0] + weight * scores[1]).numpy()
    level, auc = SourceLevel(), validation.auc_of(joined)
    if likelihood.graph.directed:
        level, auc = fit_level(joined, likelihood.seen, validation)
    if level:
        own = torch.from_numpy(level.of_nodes(likelihood.graph)[likelihood.own_nodes])
        parts.append(Sides.of_source_terms(own.to(parts[0].source.device)))
        weights.append(1.0)
    return Ranked(order, likely, share, level, gain, auc, parts, weights)


def ordering_fit(likelihood: Fit, ranking: RankingSettings, dim: int) -> Fit:
    """Return the fit that learns the order of targets within each source."""
    returned = ranking.returned_weight
    if returned is None:
        graph = likelihood.graph
        returned = float(likelihood.workers.agree(lambda: graph.return_probability))
    settings = likelihood.negatives, likelihood.training
    negatives = settings[0].model_copy(
        update={
            "kind": "block",
            "weight": ranking.negative_weight,
            "block_sources": ranking.block_sources,
            # A reversed edge is an edge that may come: it counts as one, as often as it does.
            "reversed_weight": returned,
            "reversed_label": 1.0,
        }
    )
    training = settings[1].model_copy(
        update={
            "steps": min(ranking.steps, settings[1].steps),
            "learning_rates": (ranking.learning_rate,),
            "output_l2": ranking.output_l2,
            "stronger_l2": ranking.stronger_l2,
            "penalised": "pairs",
            "measure": "rank",
            "settle": 0.0,
            "refit": True,
            "evaluate_every": max(1, min(ranking.steps, settings[1].steps) // 5),
        }
    )
    return replace(
        likelihood,
        walks=likelihood.walks.model_copy(update={"window": ranking.window}),
        negatives=negatives,
        model=ModelSettings(kind="free", offset=True, start=likelihood.model.start),
        training=training,
        dim=dim,
        seeds=likelihood.seeds[:1],
        part="ranking-",
        beside=likelihood,
    )


def _choose_share(
    ranking: RankingSettings, order: Sides, likely: Sides, unit: float, validation: Validation
) -> tuple[float, float]:
    """Return how many spreads of the likelihood are added, and the mean gain with it."""
    given = ranking.likelihood_share
    shares = _SHARES if given is None else (given,)
    gains = [
        validation.mean_gain(Sides.join([order, likely], [1.0, share * unit])) for share in shares
    ]
    enough = _KEPT_GAIN * max(gains)
    return max((share, gain) for share, gain in zip(shares, gains, strict=True) if gain >= enough)
