"""How well a scorer finds held-out edges: one report per scorer and split."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.evaluation.metrics import (
    hits_at,
    mean_reciprocal_rank,
    rank_edges,
    standard_error_of_hits,
    standard_error_of_mrr,
)
from arcvec.graph.blocks import EdgeArray
from arcvec.graph.split import Split
from arcvec.kernels.curves import average_precision, roc_auc
from arcvec.notebook import html_table


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
) -> LinkPredictionReport:
    """Return how well a scorer fitted on `split.train` tells test edges from non-edges.

    Args:
        ranking: also rank test edges among all nodes, which takes longer than all the rest.
        max_ranked_edges: rank a uniform sample of so many test edges; None ranks them all.
        seed: decides the sample.
    """
    _check_fit(scorer, split)
    positive, random = _score(scorer, split.test), _score(scorer, split.test_negatives)
    reversed_negatives = split.reversed_negatives
    if split.directed_negatives is None or reversed_negatives is None:
        negative, auc_reversed = random, None
    else:
        negative = _score(scorer, split.directed_negatives)
        backward = _score(scorer, reversed_negatives)
        auc_reversed = roc_auc(positive, backward) if backward.size else None
    ranks = _rank_sample(scorer, split, max_ranked_edges, seed) if ranking else None
    # Of all test edges, or of one, there is no standard error.
    drawn = None if ranks is None or ranks.size in (1, len(split.test)) else ranks
    return LinkPredictionReport(
        auc=roc_auc(positive, negative),
        auc_random=roc_auc(positive, random),
        auc_reversed=auc_reversed,
        average_precision=average_precision(positive, negative),
        mrr=None if ranks is None else mean_reciprocal_rank(ranks),
        mrr_standard_error=None if drawn is None else standard_error_of_mrr(drawn),
        hits_at_10=None if ranks is None else hits_at(ranks, 10),
        hits_at_10_standard_error=None if drawn is None else standard_error_of_hits(drawn, 10),
        hits_at_50=None if ranks is None else hits_at(ranks, 50),
        hits_at_50_standard_error=None if drawn is None else standard_error_of_hits(drawn, 50),
        hits_at_100=None if ranks is None else hits_at(ranks, 100),
        hits_at_100_standard_error=None if drawn is None else standard_error_of_hits(drawn, 100),
        num_test_edges=len(split.test),
        num_ranked=0 if ranks is None else ranks.size,
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


def _rank_sample(
    scorer: EdgeScorer, split: Split, max_ranked_edges: int | None, seed: int
) -> NDArray[np.float64]:
    if max_ranked_edges is not None and max_ranked_edges < 1:
        raise ValueError(f"expected max_ranked_edges of at least 1, got {max_ranked_edges}")
    edges = split.test
    if max_ranked_edges is not None and max_ranked_edges < len(edges):
        generator = np.random.default_rng(seed)
        edges = edges[generator.choice(len(edges), max_ranked_edges, replace=False)]
    # The whole graph is filtered: train, validation, and the test edges outside the sample.
    return rank_edges(scorer, edges, split.graph)
