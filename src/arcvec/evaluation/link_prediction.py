"""How well a scorer finds held-out edges: areas under curves, and ranks among all nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.evaluation.curves import Areas
from arcvec.evaluation.ranks import Numbers, Ranking, gains, mean_and_error, numbers_by_source
from arcvec.graph.names import EdgeArray
from arcvec.graph.split import Split
from arcvec.notebook import html_table
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition

BLOCK_PAIRS = 1 << 16  # scored between two reports of the progress

# Numbers of the report that are means over edges -> measure and k.
_OVER_EDGES: dict[str, tuple[str, float]] = {
    "mrr": ("mrr", np.inf),
    "hits_at_10": ("hit_rate", 10),
    "hits_at_50": ("hit_rate", 50),
    "hits_at_100": ("hit_rate", 100),
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
        by_source: what a recommender is measured by, as means over sources that have test edges,
            each with its standard error; see `docs/howto/evaluate.md`. Empty without ranking.
        num_ranked_sources: sources of the ranked edges, of which all test edges are looked for.
    """

    auc: float
    auc_random: float
    auc_reversed: float | None
    average_precision: float
    num_test_edges: int
    mrr: float | None = None
    mrr_standard_error: float | None = None
    hits_at_10: float | None = None
    hits_at_10_standard_error: float | None = None
    hits_at_50: float | None = None
    hits_at_50_standard_error: float | None = None
    hits_at_100: float | None = None
    hits_at_100_standard_error: float | None = None
    num_ranked: int = 0
    by_source: Mapping[str, float | None] = field(default_factory=dict)
    num_ranked_sources: int = 0

    @property
    def is_sample(self) -> bool:
        """Whether only a part of the test edges was ranked."""
        return 0 < self.num_ranked < self.num_test_edges

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by name, "hits@10" for `hits_at_10`; ready for JSON."""
        numbers = {name.replace("_at_", "@"): value for name, value in asdict(self).items()}
        by_source: dict[str, Any] = numbers.pop("by_source")
        return numbers | by_source

    def _repr_html_(self) -> str:
        rows = {name.replace("_", " "): value for name, value in self.as_dict().items()}
        return html_table("Link prediction", rows)


def link_prediction(
    scorer: EdgeScorer,
    split: Split,
    *,
    ranking: bool = True,
    k: Sequence[int] = (10,),
    max_ranked_edges: int | None = 100_000,
    seed: int = 0,
    workers: Alone | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> LinkPredictionReport:
    """Return how well a scorer fitted on `split.train` tells test edges from non-edges.

    Args:
        ranking: also rank test edges among all nodes, which takes longer than all the rest.
        k: lengths of the lists of recommendations that `by_source` measures.
        max_ranked_edges: size of the uniform sample to rank; None ranks all test edges.
        seed: decides that sample, and the order of equal scores in `by_source`.
        workers: share the work, and each gets the whole report; by default this process alone.
        progress: called with the fraction of the work that is done.
    """
    _check_fit(scorer, split)
    for name, least in (("k", min(k, default=1)), ("max_ranked_edges", max_ranked_edges)):
        if least is not None and least < 1:
            raise ValueError(f"expected {name} of at least 1, got {least}")
    workers = workers or Alone()
    parts = [split.test, split.test_negatives, split.directed_negatives]
    pairs = [part[_owned(part, split, workers)] for part in parts if part is not None]
    sampled = _sample(len(split.test), max_ranked_edges if ranking else 0, seed)
    # All test edges of a source are ranked if one of them is in the sample.
    ranked = np.isin(split.test[:, 0], split.test[sampled, 0])
    ranked &= _owned(split.test, split, workers)
    edges, is_sampled = split.test[ranked], sampled[ranked]
    advance = _fraction_of_sources(progress, np.concatenate(pairs), edges)
    numbers = _areas(scorer, split, pairs, workers, advance)
    if ranking:
        # The whole graph is filtered: train, validation, and the other test edges of a source.
        found = Ranking.of(scorer, edges, split.graph, max(k, default=0), seed, advance)
        numbers |= _over_edges(found.alone[is_sampled], workers, is_sample=not sampled.all())
        # Sources of many edges are drawn more often: weighted, each counts once on average.
        weights = found.sum_by_source(is_sampled) / found.count
        popularity = split.train.in_degrees
        numbers["by_source"] = numbers_by_source(
            found, edges[:, 1], k, popularity, weights, workers
        )
    return LinkPredictionReport(
        **numbers,
        num_test_edges=len(split.test),
        num_ranked=int(sampled.sum()),
        num_ranked_sources=np.unique(split.test[sampled, 0]).size,
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


def _sample(num_edges: int, max_edges: int | None, seed: int) -> NDArray[np.bool_]:
    """Return which edges are in a uniform sample, or all of them if there are no more."""
    if max_edges is None or max_edges >= num_edges:
        return np.ones(num_edges, dtype=np.bool_)
    drawn = np.random.default_rng(seed).choice(num_edges, max_edges, replace=False)
    return np.isin(np.arange(num_edges), drawn)


def _owned(edges: EdgeArray, split: Split, workers: Alone) -> NDArray[np.bool_]:
    """Return for each edge whether its source belongs to this worker."""
    owners = Partition(split.train.num_nodes, workers.count).owners(edges[:, 0])
    return np.asarray(owners == workers.rank)


def _fraction_of_sources(
    progress: Callable[[float], None], *parts: EdgeArray
) -> Callable[[int], None]:
    """Return a function of how many more sources are done; all sources of all parts are to do."""
    num_sources = sum(np.unique(part[:, 0]).size for part in parts)
    num_done = 0

    def advance(count: int) -> None:
        nonlocal num_done
        num_done += count
        progress(min(1.0, num_done / num_sources))

    return advance


def _areas(
    scorer: EdgeScorer,
    split: Split,
    pairs: Sequence[EdgeArray],
    workers: Alone,
    advance: Callable[[int], None],
) -> dict[str, Any]:
    """Return the areas by name, given this worker's part of test edges and negatives."""
    # In one go: a source costs once, even if it is in all parts.
    scores = _score(scorer, np.concatenate(pairs), advance)
    positive, *parts = np.split(scores, np.cumsum([len(part) for part in pairs[:-1]]))
    against_random, areas = (Areas.of(positive, parts[i], workers) for i in (0, -1))
    auc_reversed = None
    if len(parts) == 2:
        backward = Areas.of(positive, parts[1][split.are_reversed(pairs[-1])], workers)
        auc_reversed = None if np.isnan(backward.auc) else backward.auc
    return {
        "auc": areas.auc,
        "auc_random": against_random.auc,
        "auc_reversed": auc_reversed,
        "average_precision": areas.average_precision,
    }


def _score(scorer: EdgeScorer, edges: EdgeArray, advance: Callable[[int], None]) -> Scores:
    scores = np.empty(len(edges), dtype=np.float32)
    order = np.argsort(edges[:, 0], kind="stable")
    for start in range(0, len(edges), BLOCK_PAIRS):
        block = order[start : start + BLOCK_PAIRS]
        sources, targets = edges[block].T
        scores[block] = scorer.score(sources, targets)
        advance(1 + int(np.count_nonzero(np.diff(sources))))
    if not np.isfinite(scores).all():
        source, target = edges[(~np.isfinite(scores)).argmax()]
        raise ValueError(f"expected finite scores, got another for the edge {source} -> {target}")
    return scores


def _over_edges(ranks: Numbers, workers: Alone, *, is_sample: bool) -> dict[str, Any]:
    """Return the mean of each measure and its standard error, by name."""
    values = np.stack([gains(name, ranks, k) for name, k in _OVER_EDGES.values()])
    means, errors = mean_and_error(values, workers)
    numbers = dict(zip(_OVER_EDGES, means.tolist(), strict=True))
    # All test edges, or a single one, have no standard error.
    if is_sample and not np.isnan(errors).any():
        for name, error in zip(_OVER_EDGES, errors.tolist(), strict=True):
            numbers[f"{name}_standard_error"] = error
    return numbers
