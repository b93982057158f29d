"""The recipe of a fit for recommending: the order within each source, then the level of sources.

Least squares learn the order of targets within each source, by ranks of held-out edges. A training
on the paper's likelihood tells likely pairs of all sources from unlikely ones; as much of its score
is added as does not lower those ranks. What is added to all pairs of a source changes none: by its
degrees, pairs of different sources are made comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.training.average import Averaged, average
from arcvec.training.checkpoint import Snapshot
from arcvec.training.degrees import SourceLevel, fit_level
from arcvec.training.fit import Fit, Learned
from arcvec.training.order import (
    Choice,
    Course,
    LeastSquares,
    choose_order,
    first_choice,
    fit_order,
    num_sweeps,
)
from arcvec.training.settings import RankingSettings
from arcvec.training.validation import Validation

# Spreads of the likelihood's score that are tried.
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0, 2.5)


@dataclass(frozen=True, eq=False)
class Order:
    """What is kept of the order.

    Attributes:
        sides: of this worker's nodes; watched: sides that have not seen the held-out edges.
        choice: the settings that ranked these best.
    """

    sides: Sides
    watched: Sides | None
    choice: Choice


@dataclass(frozen=True, eq=False)
class Ranked:
    """What a fit for recommending learned.

    Attributes:
        likely: the training on the likelihood; None where no edges are held out, which would tell
            how to add it.
        share: what the likelihood adds to the order, in spreads of both.
        gain, auc: on held-out edges, of all together; None if there are none.
        parts, weights: see `Learned`.
    """

    order: Order
    likely: Learned | None
    share: float
    level: SourceLevel
    gain: float | None
    auc: float | None
    parts: list[Sides]
    weights: list[float]

    def vectors(self, dim: int, workers: Alone) -> Averaged:
        """Return the score as vectors of dim numbers per node; see `average`."""
        return average(self.parts, self.weights, dim, workers)


def fit_ranking(likelihood: Fit, ranking: RankingSettings, dim: int) -> Ranked:
    """Return what was learned of the order and of the likelihood, and how they are joined.

    Args:
        likelihood: the fit of the likelihood; the order shares its held-out edges.
        dim: numbers per node of all together. They fit into it side by side: to shorten vectors
            would cost the small differences that decide an order.
    """
    graph, validation = likelihood.graph, likelihood.validation
    if validation is None:
        order = _learn_order(likelihood, ranking, dim)
        return Ranked(order, None, 0.0, SourceLevel(), None, None, [order.sides], [1.0])
    has_likelihood = ranking.likelihood_share != 0
    order = _learn_order(
        likelihood, ranking, dim - has_likelihood * likelihood.dim - 2 * graph.directed
    )
    assert order.watched is not None
    watched, parts, weights = order.watched, [order.sides], [1.0]
    likely, share = None, 0.0
    if has_likelihood:
        likely = likelihood.run()
        unseen = likely.members[0].watched
        assert unseen is not None
        unseen = Sides.join(*likelihood.parts_of([unseen], likely.terms, likelihood.seen))
        unit = _unit(watched, unseen, validation)
        share = _choose_share(ranking, watched, unseen, unit, validation)
        watched = Sides.join([watched, unseen], [1.0, share * unit])
        parts += likely.parts
        weights += [share * unit * weight for weight in likely.weights]
    scores = validation.scores(watched).numpy()
    level, auc = SourceLevel(), validation.auc_of(scores)
    if graph.directed:
        level, auc = fit_level(scores, likelihood.seen, validation)
    if level:
        own = torch.from_numpy(level.of_nodes(graph)[likelihood.own_nodes])
        parts.append(Sides.of_source_terms(own))
        weights.append(1.0)
    gain = validation.mean_gain(watched)
    return Ranked(order, likely, share, level, gain, auc, parts, weights)


def _learn_order(fit: Fit, ranking: RankingSettings, dim: int) -> Order:
    """Return the order, chosen on held-out edges and then learned from all; or as it was kept."""
    kept = fit.checkpoint.load("order")
    if kept is None:
        # Without directions, both sides converge to the same vectors but for signs.
        columns = max(1, dim // 2 if fit.graph.directed else dim)
        problem = LeastSquares(fit.graph, ranking, columns, fit.workers)
        sweeps = num_sweeps(problem, with_trials=fit.validation is not None)
        course = Course(fit.hooks, fit.workers, sweeps)
        choice, watched = first_choice(ranking), None
        if fit.validation is not None:
            seen = LeastSquares(fit.seen, ranking, columns, fit.workers)
            choice, watched = choose_order(seen, fit.seeds[0], fit.validation, course)
        tables = fit_order(problem, fit.seeds[0], choice, course)
        sides = problem.shaped(choice).sides(tables)
        kept = Snapshot.of({"result": sides, "watched": watched}, {"choice": choice})
        fit.checkpoint.save("order", kept)
    result = kept.sides("result")
    assert result is not None
    return Order(result, kept.sides("watched"), kept.state["choice"])


def _unit(order: Sides, likely: Sides, validation: Validation) -> float:
    """Return what gives the likelihood's scores the spread of the order's, over non-edges."""
    non_edges = torch.from_numpy(~validation.is_edge)
    spreads = [float(validation.scores(part)[non_edges].std()) for part in (order, likely)]
    return spreads[0] / spreads[1] if spreads[1] else 0.0


def _choose_share(
    ranking: RankingSettings, order: Sides, likely: Sides, unit: float, validation: Validation
) -> float:
    """Return how many spreads of the likelihood are added to the order.

    The most of those whose gain is within one standard error of the best one's.
    """
    if ranking.likelihood_share is not None:
        return ranking.likelihood_share
    gains = [
        validation.gains(Sides.join([order, likely], [1.0, share * unit])) for share in _SHARES
    ]
    best = max(gains, key=lambda one: float(one.mean()))
    losses = [best - one for one in gains]
    return max(
        share
        for share, loss in zip(_SHARES, losses, strict=True)
        if loss.mean() <= loss.std(correction=0) / len(loss) ** 0.5
    )
