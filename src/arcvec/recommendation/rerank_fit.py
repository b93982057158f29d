"""Fit the second stage on edges that neither its features nor its vectors have seen.

Also both stages as one method, for experiments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import minimize

from arcvec.embeddings import EdgeEmbeddings, Scores
from arcvec.evaluation.curves import roc_auc
from arcvec.evaluation.log_odds import Matrix, fit_log_odds
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray, NodeIds
from arcvec.graph.non_edges import draw_non_edges
from arcvec.graph.split import cut_edges
from arcvec.method import Method
from arcvec.recommendation.exact import EXACT, Candidates, Direction
from arcvec.recommendation.rerank import (
    COUNTS,
    NAMES,
    NUM_BEST,
    VECTORS,
    Features,
    Head,
    PairFeatures,
    Question,
    Reranker,
    RerankModel,
    inputs_of,
)
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.sketch import SpectralSketch

_HELD_OUT, _OF_SPARE = 0.1, 0.25  # largest parts of all edges, and of those outside a forest
_MIN_EDGES, _MAX_EDGES = 20, 4000
_L2 = 1e-3
_SMALL = 0.1  # quantile of the positive counts that is added before the logarithm


def fit_reranker(
    embeddings: EdgeEmbeddings,
    graph: Graph,
    refit: Callable[[Graph], EdgeEmbeddings],
    *,
    num_best: int = NUM_BEST,
    seed: int = 0,
) -> RerankModel:
    """Return the second stage of a result, fitted on edges held out of its graph.

    Args:
        graph: the edges that the vectors learned from.
        refit: returns vectors like those of the result, for a graph without the held-out edges.
    """
    graph = graph.over(embeddings.nodes)
    seen, held_out = _hold_out(graph, seed)
    stand_in = refit(seen)
    heads: dict[Question, Head] = {}
    directions: tuple[Direction, ...] = ("targets", "sources") if graph.directed else ("targets",)
    for direction in directions:
        edges = held_out if direction == "targets" else held_out[:, ::-1]
        if not graph.directed:
            edges = np.concatenate([edges, edges[:, ::-1]])
        features = PairFeatures.of(stand_in, seen, direction)
        lists = _Lists.of(features, edges, stand_in, direction, num_best, seed)
        pairs = lists.nodes[~lists.is_edge], lists.others[~lists.is_edge]
        own_scores = embeddings.score(*(pairs if direction == "targets" else pairs[::-1]))
        heads[direction] = lists.fit(own_scores, seed)
    if not graph.directed:
        heads["sources"] = heads["targets"]
    features = PairFeatures.of(stand_in, seen, "targets")
    heads["pairs"] = _fit_pairs(features, embeddings, graph, held_out, seed)
    return RerankModel(heads, graph.fingerprint, embeddings.fingerprints, num_best)


def _hold_out(graph: Graph, seed: int) -> tuple[Graph, EdgeArray]:
    """Return the graph without some edges, as connected as before, and these."""
    spare = graph.num_edges - graph.num_nodes  # outside a spanning forest, at least
    fraction = min(_HELD_OUT, _OF_SPARE * spare / max(1, graph.num_edges))
    if fraction * graph.num_edges < _MIN_EDGES:
        raise ValueError(
            f"expected a graph of which {_MIN_EDGES} edges can be held out and most others stay, "
            f"got {graph!r}; recommend without a second stage"
        )
    seen, edges, _ = cut_edges(graph, fraction, 0.0, seed)
    return seen, edges[edges[:, 0] != edges[:, 1]]


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Standardised features of real candidates: how they were, and the numbers."""

    floor: Matrix
    mean: Matrix
    scale: Matrix
    numbers: Features

    @classmethod
    def of(cls, features: Features) -> _Scaled:
        floor = np.zeros(len(NAMES))
        for i, name in enumerate(NAMES):
            positive = features[:, i][features[:, i] > 0]
            if name in COUNTS:
                floor[i] = np.quantile(positive, _SMALL) if positive.size else 1.0
        inputs = inputs_of(features, floor)
        mean, scale = inputs.mean(axis=0, dtype=np.float64), inputs.std(axis=0, dtype=np.float64)
        scale[scale < 1e-6] = 1.0
        numbers = (inputs - mean.astype(np.float32)) / scale.astype(np.float32)
        return cls(floor, mean, scale, numbers)

    def head(self, weight: Matrix, own_scores: Scores, **gain: float) -> Head:
        """Return the head for vectors with these scores of non-edges, not for their stand-in."""
        mean, scale = self.mean.copy(), self.scale.copy()
        mean[VECTORS], scale[VECTORS] = own_scores.mean(), own_scores.std() or 1.0
        columns = {"floor": self.floor, "mean": mean, "scale": scale, "weight": weight}
        features = {
            name: {number: float(column[i]) for number, column in columns.items()}
            for i, name in enumerate(NAMES)
        }
        return Head(**gain, features=features)


def _cross_fitted(
    numbers: NDArray[np.floating], fold: NDArray[np.integer], fit: Callable[[Any], Matrix]
) -> Matrix:
    """Return scores of each of two folds by the weights that fit the other one."""
    scores = np.empty(len(fold))
    for part in (0, 1):
        scores[fold != part] = numbers[fold != part] @ fit(fold == part)
    return scores


@dataclass(frozen=True, eq=False)
class _Lists:
    """Candidates of some nodes, and which of them are held-out edges.

    Attributes:
        nodes, others: (p,) each candidate, node by node; `row` numbers the nodes.
        is_edge: (p,) bool.
        num_edges: held-out edges of these nodes, whether among the candidates or not.
    """

    nodes: NodeIds
    others: NodeIds
    row: NDArray[np.int64]
    is_edge: NDArray[np.bool_]
    features: Features
    num_edges: int

    @classmethod
    def of(
        cls,
        features: PairFeatures,
        edges: EdgeArray,
        embeddings: EdgeEmbeddings,
        direction: Direction,
        num_best: int,
        seed: int,
    ) -> _Lists:
        """Return the candidates of nodes that have held-out edges, of up to 4,000 of these."""
        drawn = np.random.default_rng([seed, 1]).permutation(edges)[:_MAX_EDGES]
        ids = np.unique(drawn[:, 0])
        wanted = Graph.from_edges(*edges.T, nodes=features.graph.nodes)
        known = features.graph if direction == "targets" else features.graph.transposed
        candidates = Candidates.of(features.graph.nodes, direction, exclude=known)
        proposed, _ = EXACT.best_of(embeddings, ids, num_best, candidates)
        parts = []
        for rows, chosen, measured in features.blocks(ids, proposed, num_best, candidates):
            row, column = np.nonzero(chosen >= 0)
            nodes, others = ids[rows][row], chosen[row, column]
            is_edge = wanted.has_edges(nodes, others)
            parts.append((nodes, others, row + rows.start, is_edge, measured[row, column]))
        nodes, others, row, is_edge, measured = map(np.concatenate, zip(*parts, strict=True))
        return cls(nodes, others, row, is_edge, measured, int(wanted.out_degrees[ids].sum()))

    def fit(self, own_scores: Scores, seed: int) -> Head:
        """Return the head that orders the candidates, and its gain, measured by cross-fitting."""
        scaled = _Scaled.of(self.features)
        fold = np.random.default_rng([seed, 2]).integers(2, size=self.row[-1] + 1)[self.row]
        fit = partial(self._weight, scaled.numbers)
        scores = _cross_fitted(scaled.numbers, fold, fit)
        ours, theirs = (self._reciprocal_ranks(s) for s in (scores, self.features[:, VECTORS]))
        gains = np.bincount(self.row[self.is_edge], weights=ours - theirs)
        return scaled.head(
            fit(np.ones(len(self.row), dtype=np.bool_)),
            own_scores,
            vectors=float(theirs.sum() / self.num_edges),
            gain=float(gains.sum() / self.num_edges),
            standard_error=float(np.sqrt(np.square(gains).sum()) / self.num_edges),
            found=float(self.is_edge.sum() / self.num_edges),
        )

    def _reciprocal_ranks(self, scores: NDArray[np.floating]) -> Matrix:
        """Return 1 / rank of each held-out edge, among candidates that are none."""
        order = np.lexsort((-scores, self.row))
        others = np.cumsum(~self.is_edge[order])
        starts = np.searchsorted(self.row[order], np.arange(self.row[-1] + 1))
        before = np.append(0, others)[starts]
        ranks = np.empty(len(order))
        ranks[order] = 1 + others - before[self.row[order]]
        return 1 / ranks[self.is_edge]

    def _weight(self, numbers: Features, kept: NDArray[np.bool_]) -> Matrix:
        """Return the weights by which held-out edges come before the other candidates."""
        row = np.unique(self.row[kept], return_inverse=True)[1]
        inputs, is_edge = numbers[kept], self.is_edge[kept]
        edges, edge_row = np.flatnonzero(is_edge), row[is_edge]
        starts = np.searchsorted(row, np.arange(row.max(initial=-1) + 1))

        def loss(weight: Matrix) -> tuple[float, Matrix]:
            scores = (inputs @ weight.astype(np.float32)).astype(np.float64)
            largest = np.maximum.reduceat(scores, starts)
            powers = np.exp(scores - largest[row])
            sums = np.add.reduceat(np.where(is_edge, 0.0, powers), starts)
            # Each edge competes with the candidates that are none, not with other edges.
            totals = sums[edge_row] + powers[edges]
            value = (np.log(totals) - np.log(powers[edges])).sum()
            errors = powers * np.bincount(edge_row, weights=1 / totals, minlength=starts.size)[row]
            errors[edges] = powers[edges] / totals - 1
            slope = inputs.T @ errors.astype(np.float32)
            count = max(1, edges.size)
            penalty = _L2 * weight @ weight / 2
            return value / count + penalty, slope / count + _L2 * weight

        start = np.zeros(inputs.shape[1])
        options = {"maxiter": 100}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x)


def _fit_pairs(
    features: PairFeatures, embeddings: EdgeEmbeddings, graph: Graph, edges: EdgeArray, seed: int
) -> Head:
    """Return the head that tells edges from random non-edges and reversed one-way edges."""
    generator = np.random.default_rng([seed, 3])
    edges = generator.permutation(edges)[:_MAX_EDGES]
    negatives = [draw_non_edges(graph, len(edges), generator)]
    if graph.directed:
        # As many reverses of edges that the features have seen as of those they have not.
        num_seen = features.graph.num_edges
        drawn = generator.choice(num_seen, min(len(edges), num_seen), replace=False)
        trained = np.stack(features.graph.edges_at(drawn), axis=1)
        for one_way in (edges, trained):
            reverse = one_way[:, ::-1]
            negatives.append(reverse[~graph.has_edges(reverse[:, 0], reverse[:, 1])])
    pairs = np.concatenate([edges, *negatives])
    is_edge = np.arange(len(pairs)) < len(edges)
    measured = features.of_pairs(pairs[:, 0], pairs[:, 1])
    scaled = _Scaled.of(measured)
    inputs = np.column_stack([scaled.numbers, np.ones(len(pairs))])
    no_weight, penalty = np.zeros(inputs.shape[1]), _L2 * np.eye(inputs.shape[1])

    def fitted(kept: NDArray[np.bool_]) -> Matrix:
        shares = np.full(kept.sum(), 1 / kept.sum())
        return fit_log_odds(inputs[kept], is_edge[kept], shares, no_weight, penalty)

    fold = generator.integers(2, size=len(pairs))
    scores, alone = _cross_fitted(inputs, fold, fitted), measured[:, VECTORS]
    gains = [
        _auc(scores[part], is_edge[part]) - _auc(alone[part], is_edge[part])
        for part in (fold == 1, fold == 0)
    ]
    weight = fitted(np.ones(len(pairs), dtype=np.bool_))
    return scaled.head(
        weight[:-1],
        embeddings.score(*pairs[~is_edge].T),
        vectors=_auc(alone, is_edge),
        gain=float(np.mean(gains)),
        standard_error=float(abs(gains[0] - gains[1]) / 2),
        found=1.0,
    )


def _auc(scores: NDArray[np.floating], is_edge: NDArray[np.bool_]) -> float:
    return roc_auc(scores[is_edge], scores[~is_edge])


class TwoStages(Method):
    """Recommends in two stages: vectors propose, the graph decides."""

    dim: int = Field(32, ge=2, multiple_of=2, description="numbers per node of the vectors")
    seed: int = Field(0, ge=0, lt=1 << 63, description="decides every random choice")
    first: EdgeProjection = Field(
        EdgeProjection(), description="how vectors are made; their dim and seed are those above"
    )
    num_best: int = Field(
        NUM_BEST, ge=1, description="candidates by vectors, three paths, short walks: of each"
    )

    def fit(self, graph: Graph) -> Reranker:
        """Return a scorer that keeps the graph."""
        shared = {"dim": self.dim, "seed": self.seed}
        embeddings = self.first.model_copy(update=shared).fit(graph)
        model = fit_reranker(
            embeddings,
            graph,
            lambda seen: SpectralSketch(dim=self.dim, seed=self.seed).fit(seen),
            num_best=self.num_best,
            seed=self.seed,
        )
        return Reranker(embeddings, graph, model)
