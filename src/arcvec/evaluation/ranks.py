"""Ranks of edges among all nodes, and what a recommender is measured by: numbers per source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeScorer
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray, NodeIds
from arcvec.kernels.heaps import best_first, empty_heaps
from arcvec.parallel.alone import Alone

BLOCK_SCORES = 1 << 23  # held at once while ranking: 32 MB, which many caches hold

Numbers = NDArray[np.float64]

# Name -> what a target adds to the number of its source if its rank is at most k. It is the
# source's best target at place 1, and one of `count` targets; all but k are arrays.
_MEASURES: dict[str, Callable[[Numbers, Any, Any, Any], Any]] = {
    "recall": lambda rank, place, count, k: 1 / count,
    "precision": lambda rank, place, count, k: 1 / k,
    "ndcg": lambda rank, place, count, k: _discount(rank) / _best_gain(count, k),
    "map": lambda rank, place, count, k: place / rank / count,
    "hit_rate": lambda rank, place, count, k: place == 1,
    "mrr": lambda rank, place, count, k: (place == 1) / rank,
}


def _discount(rank: Any) -> Numbers:
    return np.asarray(1 / np.log2(rank + 1))


def _best_gain(count: NDArray[np.int64], k: int) -> Numbers:
    """Return the sum of discounts if the first ranks, k at most, are all targets."""
    best = np.minimum(count, k)
    sums = np.cumsum(_discount(np.arange(1, np.max(best, initial=1) + 1)))
    return np.asarray(sums[best - 1])


def gains(name: str, rank: Numbers, k: float, place: Any = 1, count: Any = 1) -> Numbers:
    """Return what each target adds to a measure at k, by default as the only one of its source."""
    return np.where(rank <= k, _MEASURES[name](rank, place, count, k), 0.0)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Edges ranked among all nodes that are neither their source nor its known targets.

    Equal scores share the mean of their ranks in `alone`. In `rank` and `best` they are in a random
    order of the nodes, the same for all sources: the order of ids might be that of popularity.

    Attributes:
        sources: (s,) ids, ascending; `row` is the position of each edge's source among them.
        alone: (m,) rank of each edge as if its source had no other.
        rank, place: (m,) rank among all nodes, the other edges of the source included, and among
            these edges alone.
        count: (s,) edges of each source.
        best: (s, k) ids of the best targets of each source, best first; -1 if there are fewer.
    """

    sources: NodeIds
    row: NDArray[np.int64]
    alone: Numbers
    rank: Numbers
    place: NDArray[np.int64]
    count: NDArray[np.int64]
    best: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        scorer: EdgeScorer,
        edges: EdgeArray,
        known: Graph,
        k: int = 0,
        seed: int = 0,
        progress: Callable[[int], None] = lambda num_sources: None,
    ) -> Ranking:
        """Rank edges, and find the k best targets of each of their sources.

        Args:
            edges: (m, 2) ids; they may or may not be among the known edges.
            known: graph over the scorer's nodes; its edges are no candidates.
            seed: decides the order of equal scores.
            progress: called with the number of sources that were ranked since the last call.
        """
        from arcvec.kernels.topk import rank_targets

        sources, row, count = np.unique(edges[:, 0], return_inverse=True, return_counts=True)
        by_source = np.argsort(row, kind="stable")
        first = np.append(0, np.cumsum(count))
        targets = edges[by_source, 1]
        nodes_in_order = np.random.default_rng(seed).permutation(known.num_nodes).astype(np.int32)
        order = np.argsort(nodes_in_order).astype(np.int32)
        ranks = np.empty((len(edges), 2))
        places, scores = empty_heaps(sources.size, min(k, known.num_nodes))
        num_rows = max(1, BLOCK_SCORES // max(1, known.num_nodes))
        for start in range(0, sources.size, num_rows):
            own = slice(start, start + num_rows)
            starts = first[start : start + num_rows + 1]
            block = slice(starts[0], starts[-1])
            ranks[by_source[block]] = rank_targets(
                np.require(scorer.score_all_targets(sources[own]), requirements=["C", "W"]),
                *(sources[own], starts - starts[0], targets[block], known.indptr, known.indices),
                *(order, (places[own], scores[own])),
            )
            progress(sources[own].size)
        alone, rank = ranks.T
        if np.isnan(rank).any():
            source, target = edges[np.isnan(rank).argmax()]
            raise ValueError(f"expected finite scores, got NaN for the edge {source} -> {target}")
        place = np.empty(len(edges), dtype=np.int64)
        # Targets without a candidate between them may change places: no measure changes.
        place[np.lexsort((rank, row))] = np.arange(len(edges)) - np.repeat(first[:-1], count) + 1
        best, _ = best_first(places, scores, k)
        best = np.where(best < 0, -1, nodes_in_order[best])
        return cls(sources, row, alone, rank + place - 1, place, count, best)

    def measure(self, name: str, k: int) -> Numbers:
        """Return a measure of each source at k: (s,)."""
        added = gains(name, self.rank, k, self.place, self.count[self.row])
        return self.sum_by_source(added)

    def sum_by_source(self, numbers: NDArray[Any]) -> Numbers:
        """Return the sum of a number per edge over the edges of each source: (s,)."""
        sums = np.bincount(self.row, weights=numbers, minlength=self.sources.size)
        return sums.astype(np.float64, copy=False)

    def mean_of_best(self, numbers: NDArray[Any], k: int) -> Numbers:
        """Return the mean, over the k best targets of each source, of a number per node: (s,)."""
        best = self.best[:, :k]
        sums = np.where(best < 0, 0, numbers[best]).sum(axis=1)
        return np.asarray(sums / np.maximum(1, (best >= 0).sum(axis=1)))


def rank_edges(scorer: EdgeScorer, edges: EdgeArray, known: Graph) -> Numbers:
    """Return the rank of each edge's target among all nodes, 1 for the best: (m,) float64.

    Targets of other given edges of the source are no candidates either; see `Ranking` for the rest.
    """
    return Ranking.of(scorer, edges, known).alone


def numbers_by_source(
    ranking: Ranking,
    targets: NodeIds,
    ks: Sequence[int],
    popularity: NDArray[np.int64],
    weights: Numbers,
    workers: Alone,
) -> dict[str, float | None]:
    """Return the mean over sources of each measure, and its standard error, by name.

    Args:
        targets: (m,) those of the ranked edges.
        popularity: (num_nodes,) number of known sources of each node.
        weights: (s,) of the sources in the means.
    """
    num_nodes = popularity.size
    is_popular = np.zeros(num_nodes)
    is_popular[np.argsort(popularity, kind="stable")[-max(1, num_nodes // 10) :]] = 1
    values = {"source_mrr": ranking.measure("mrr", num_nodes)}
    coverage = {}
    for k in ks:
        names = (name for name in _MEASURES if name != "mrr")
        values |= {f"{name}@{k}": ranking.measure(name, k) for name in names}
        values[f"popular_share@{k}"] = ranking.mean_of_best(is_popular, k)
        values[f"popularity@{k}"] = ranking.mean_of_best(popularity, k)
        best = ranking.best[:, :k]
        times = workers.sum(np.bincount(best[best >= 0], minlength=num_nodes))
        coverage[f"coverage@{k}"] = float((times > 0).mean())
    values["target_popularity"] = ranking.sum_by_source(popularity[targets]) / ranking.count
    means, errors = mean_and_error(np.stack(list(values.values())), workers, weights)
    numbers: dict[str, float | None] = dict(coverage)
    for name, mean, error in zip(values, means.tolist(), errors.tolist(), strict=True):
        numbers[name] = mean
        numbers[f"{name}_standard_error"] = None if np.isnan(error) else error
    return numbers


def mean_and_error(
    values: NDArray[Any], workers: Alone, weights: Numbers | None = None
) -> tuple[Numbers, Numbers]:
    """Return the mean over all workers' values, and its standard error (NaN of a single one).

    Args:
        values: (..., n); means are taken over the last axis.
        weights: (n,) by default all 1.
    """
    if weights is None:
        weights = np.ones(values.shape[-1])
    count, weight = workers.sum(np.array([weights.size, weights.sum()]))
    means = workers.sum(np.asarray((values * weights).sum(axis=-1))) / weight
    squares = workers.sum(np.asarray(np.square((values - means[..., None]) * weights).sum(axis=-1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return means, np.sqrt(squares * count / (count - 1)) / weight
