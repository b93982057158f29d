"""How well a scorer finds held-out edges: one report per scorer and split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.evaluation.metrics import rank_edges
from arcvec.evaluation.together import Alone, Together
from arcvec.graph.blocks import EdgeArray
from arcvec.graph.split import Split
from arcvec.notebook import html_table

# Numbers of the report -> what a rank adds to their mean.
_GAINS: dict[str, Callable[[NDArray[np.float64]], NDArray[Any]]] = {
    "mrr": lambda ranks: 1 / ranks,
    "hits_at_10": lambda ranks: ranks <= 10,
    "hits_at_50": lambda ranks: ranks <= 50,
    "hits_at_100": lambda ranks: ranks <= 100,
}


@dataclass(frozen=True)
class LinkPredictionReport:
    """Numbers of one scorer on one split; areas, precision, mrr and hits are best at 1.

    Attributes:
        auc: ROC-AUC of test edges against the negatives of the paper's protocol: for a directed
            graph random non-edges and reversed one-way edges, else random non-edges.
        auc_random: against random non-edges only.
        auc_reversed: against reversed one-way edges only; None if there are none.
        average_precision: against the negatives of `auc`; it falls as their number grows.
        mrr: mean reciprocal rank of test edges among all nodes; this and all below are None
            where ranking was not asked for.
        mrr_standard_error: of `mrr`, where only a sample of the test edges was ranked; else None.
        hits_at_10, hits_at_50, hits_at_100: fraction of test edges ranked that high; each with its
            standard error, as `mrr`.
        num_ranked: test edges that were ranked, all of them or a uniform sample.
    """

    auc: float
    auc_random: float
    auc_reversed: float | None
    average_precision: float
    mrr: float | None
    mrr_standard_error: float | None
    hits_at_10: float | None
    hits_at_10_standard_error: float | None
    hits_at_50: float | None
    hits_at_50_standard_error: float | None
    hits_at_100: float | None
    hits_at_100_standard_error: float | None
    num_test_edges: int
    num_ranked: int

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by name, "hits@10" for `hits_at_10`; ready for JSON."""
        return {name.replace("_at_", "@"): value for name, value in asdict(self).items()}

    def _repr_html_(self) -> str:
        rows = {name.replace("_", " "): value for name, value in self.as_dict().items()}
        return html_table("Link prediction", rows)


def link_prediction(
    scorer: EdgeScorer,
    split: Split,
    *,
    ranking: bool = True,
    max_ranked_edges: int | None = 100_000,
    seed: int = 0,
    together: Together | None = None,
) -> LinkPredictionReport:
    """Return how well a scorer fitted on `split.train` tells test edges from non-edges.

    Args:
        ranking: also rank test edges among all nodes, which takes longer than all the rest.
        max_ranked_edges: rank a uniform sample of so many test edges; None ranks them all.
        seed: decides the sample.
        together: those who share the work, each of which gets the whole report; by default this
            process alone.
    """
    _check_fit(scorer, split)
    together = together or Alone()
    positive = _score(scorer, together.share(split.test))
    random = _score(scorer, together.share(split.test_negatives))
    against_random = together.areas(positive, random)
    areas, auc_reversed = against_random, None
    if split.directed_negatives is not None:
        edges = together.share(split.directed_negatives)
        negative = _score(scorer, edges)
        areas = together.areas(positive, negative)
        backward = together.areas(positive, negative[split.are_reversed(edges)])
        auc_reversed = None if np.isnan(backward.auc) else backward.auc
    ranked = _sample(split.test, max_ranked_edges, seed) if ranking else split.test[:0]
    # The whole graph is filtered: train, validation, and the test edges outside the sample.
    ranks = rank_edges(scorer, together.share(ranked), split.graph) if ranking else None
    # Of all test edges, or of one, there is no standard error.
    is_sample = len(ranked) not in (1, len(split.test))
    return LinkPredictionReport(
        auc=areas.auc,
        auc_random=against_random.auc,
        auc_reversed=auc_reversed,
        average_precision=areas.average_precision,
        num_test_edges=len(split.test),
        num_ranked=len(ranked),
        **_numbers_of_ranks(ranks, together, is_sample=is_sample),
    )


def _check_fit(scorer: EdgeScorer, split: Split) -> None:
    for name, edges in (("test edges", split.test), ("test negatives", split.test_negatives)):
        if len(edges) == 0:
            raise ValueError(f"expected a split with {name}, got none")
    ours, theirs = split.train.nodes, scorer.nodes
    if np.array_equal(ours.text, theirs.text):
        return
    if len(ours) != len(theirs):
        problem = f"{len(theirs):,} nodes where the split has {len(ours):,}"
    elif set(ours) == set(theirs):
        problem = "the same nodes in another order"
    else:
        problem = "nodes of other names"
    raise ValueError(
        f"expected a scorer fitted on the train part of this split, got one with {problem}"
    )


def _score(scorer: EdgeScorer, edges: EdgeArray) -> Scores:
    scores = scorer.score(edges[:, 0], edges[:, 1])
    if not np.isfinite(scores).all():
        source, target = edges[(~np.isfinite(scores)).argmax()]
        raise ValueError(f"expected finite scores, got another for the edge {source} -> {target}")
    return scores


def _sample(edges: EdgeArray, max_edges: int | None, seed: int) -> EdgeArray:
    """Return so many of the edges, drawn uniformly, or all of them where there are no more."""
    if max_edges is not None and max_edges < 1:
        raise ValueError(f"expected max_ranked_edges of at least 1, got {max_edges}")
    if max_edges is None or max_edges >= len(edges):
        return edges
    generator = np.random.default_rng(seed)
    return edges[generator.choice(len(edges), max_edges, replace=False)]


def _numbers_of_ranks(
    ranks: NDArray[np.float64] | None, together: Together, *, is_sample: bool
) -> dict[str, float | None]:
    """Return what the report says of ranks, by its names for it; None where there are none."""
    numbers: dict[str, float | None] = {}
    for name, gain in _GAINS.items():
        gains = None if ranks is None else gain(ranks)
        error = None if gains is None or not is_sample else together.standard_error(gains)
        numbers[name] = None if gains is None else together.mean(gains)
        numbers[f"{name}_standard_error"] = error
    return numbers
