"""How well a scorer finds held-out edges: areas under curves, and ranks among all nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.evaluation.curves import Areas
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.graph.split import Split
from arcvec.notebook import html_table
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition

BLOCK_SCORES = 1 << 24
"""Scores held at once while ranking: 64 MB."""

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
        mrr: mean reciprocal rank of test edges among all nodes; None without ranking, as hits.
        mrr_standard_error: None unless only a sample of the test edges was ranked.
        hits_at_10, hits_at_50, hits_at_100: fraction of test edges ranked that high.
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
    workers: Alone | None = None,
) -> LinkPredictionReport:
    """Return how well a scorer fitted on `split.train` tells test edges from non-edges.

    Args:
        ranking: also rank test edges among all nodes, which takes longer than all the rest.
        max_ranked_edges: size of the uniform sample to rank; None ranks all test edges.
        workers: share the work, and each gets the whole report; by default this process alone.
    """
    _check_fit(scorer, split)
    workers = workers or Alone()
    positive = _score(scorer, _share(split.test, split, workers))
    random = _score(scorer, _share(split.test_negatives, split, workers))
    against_random = Areas.of(positive, random, workers)
    areas, auc_reversed = against_random, None
    if split.directed_negatives is not None:
        edges = _share(split.directed_negatives, split, workers)
        negative = _score(scorer, edges)
        areas = Areas.of(positive, negative, workers)
        backward = Areas.of(positive, negative[split.are_reversed(edges)], workers)
        auc_reversed = None if np.isnan(backward.auc) else backward.auc
    ranked = _sample(split.test, max_ranked_edges, seed) if ranking else split.test[:0]
    # The whole graph is filtered: train, validation, and the test edges outside the sample.
    own = _share(ranked, split, workers)
    ranks = rank_edges(scorer, own, split.graph) if ranking else None
    # All test edges, or a single one, have no standard error.
    is_sample = len(ranked) not in (1, len(split.test))
    return LinkPredictionReport(
        auc=areas.auc,
        auc_random=against_random.auc,
        auc_reversed=auc_reversed,
        average_precision=areas.average_precision,
        num_test_edges=len(split.test),
        num_ranked=len(ranked),
        **_numbers_of_ranks(ranks, workers, is_sample=is_sample),
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
    """Return a uniform sample of the edges, or all of them if there are no more."""
    if max_edges is not None and max_edges < 1:
        raise ValueError(f"expected max_ranked_edges of at least 1, got {max_edges}")
    if max_edges is None or max_edges >= len(edges):
        return edges
    generator = np.random.default_rng(seed)
    return edges[generator.choice(len(edges), max_edges, replace=False)]


def _share(edges: EdgeArray, split: Split, workers: Alone) -> EdgeArray:
    """Return the edges whose source belongs to this worker."""
    owners = Partition(split.train.num_nodes, workers.count).owners(edges[:, 0])
    mine: EdgeArray = edges[owners == workers.rank]
    return mine


def _numbers_of_ranks(
    ranks: NDArray[np.float64] | None, workers: Alone, *, is_sample: bool
) -> dict[str, float | None]:
    """Return the mean of each measure and its standard error, by name; None without ranks."""
    numbers: dict[str, float | None] = {}
    for name, gain in _GAINS.items():
        both = (None, None) if ranks is None else mean_and_error(gain(ranks), workers)
        numbers[name] = both[0]
        numbers[f"{name}_standard_error"] = both[1] if is_sample else None
    return numbers


def mean_and_error(values: NDArray[Any], workers: Alone) -> tuple[float, float]:
    """Return the mean over all workers' values, and its standard error (NaN of a single one)."""
    total, count = workers.sum(np.array([values.sum(dtype=np.float64), values.size]))
    mean = float(total / count)
    squares = workers.sum(np.array([np.square(values - mean).sum()]))[0]
    error = float(np.sqrt(squares / (count - 1) / count)) if count > 1 else np.nan
    return mean, error


def rank_edges(scorer: EdgeScorer, edges: EdgeArray, known: Graph) -> NDArray[np.float64]:
    """Return the rank of each edge's target among all nodes, 1 for the best: (m,) float64.

    The candidates of an edge are its own target and every node that is not the source, not the
    target of a known edge of the source, and not the target of another of the given edges. Equal
    scores share the mean of their ranks. An undirected edge is ranked once, as it is stored: its
    target given its source.

    Args:
        edges: (m, 2) ids; they may or may not be among the known edges.
        known: graph over the scorer's nodes whose edges are filtered, e.g. `split.graph`.
    """
    from arcvec.kernels.topk import rank_targets

    order = np.argsort(edges[:, 0], kind="stable")
    sources, first = np.unique(edges[order, 0], return_index=True)
    first = np.append(first, len(edges))
    targets = edges[order, 1]
    ranks = np.empty(len(edges))
    num_rows = max(1, BLOCK_SCORES // max(1, known.num_nodes))
    for start in range(0, sources.size, num_rows):
        own, starts = sources[start : start + num_rows], first[start : start + num_rows + 1]
        scores = np.require(scorer.score_all_targets(own), requirements=["C", "W"])
        block = slice(starts[0], starts[-1])
        ranks[order[block]] = rank_targets(
            scores, own, starts - starts[0], targets[block], known.indptr, known.indices
        )
    if np.isnan(ranks).any():
        source, target = edges[np.isnan(ranks).argmax()]
        raise ValueError(f"expected finite scores, got NaN for the edge {source} -> {target}")
    return ranks
