"""Vectors of recommender systems: iALS and BPR, tuned by the ranks of held-out training edges."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, PositiveFloat

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.ranks import rank_edges
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import sparse_matrix
from arcvec.graph.split import cut_edges
from arcvec.method import EvenDim, Method, Seed, two_sides
from arcvec.parallel.alone import Alone
from arcvec.training.hooks import Hooks
from arcvec.training.order import Course, LeastSquares
from arcvec.training.settings import RankingSettings

_Vectors: TypeAlias = NDArray[np.float32]

_HELD_OUT_FRACTION = 0.2
_MIN_HELD_OUT = 20
_MAX_RANKED_EDGES = 10_000


class TunedVectors(Method):
    """Base of methods with settings of several values, of which the graph chooses one each.

    Every combination is fitted without a fifth of the edges, and the one with the highest mean
    reciprocal rank of these within their sources is fitted again on all edges. If a graph has few
    edges to spare, the first value of each setting counts.
    """

    name: ClassVar[str]
    tuned: ClassVar[tuple[str, ...]]

    seed: Seed = 0

    @abstractmethod
    def vectors(self, graph: Graph) -> tuple[_Vectors, _Vectors]:
        """Return source and target vectors for the first value of each setting."""

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; their settings are those chosen."""
        chosen = self._choose(graph)
        return two_sides(self.name, chosen, graph, *chosen.vectors(graph))

    def _choose(self, graph: Graph) -> Self:
        values = ([(value,) for value in getattr(self, name)] for name in self.tuned)
        candidates = [
            self.model_copy(update=dict(zip(self.tuned, combination, strict=True)))
            for combination in product(*values)
        ]
        # A spanning forest stays; where not much else is left, half of that.
        num_spare = (graph.num_edges - graph.num_nodes) // 2
        num_held_out = min(round(_HELD_OUT_FRACTION * graph.num_edges), num_spare)
        if len(candidates) == 1 or num_held_out < _MIN_HELD_OUT:
            return candidates[0]
        seen, edges, _ = cut_edges(graph, num_held_out / graph.num_edges, 0.0, self.seed)
        # Held-out edges come in random order.
        edges = edges[:_MAX_RANKED_EDGES]
        ranks = (rank_edges(each.fit(seen), edges, graph) for each in candidates)
        return candidates[int(np.argmax([np.mean(1 / of_one) for of_one in ranks]))]


class IALS(TunedVectors):
    """Factorises the graph by weighted least squares over all pairs of nodes (Hu et al., 2008).

    An edge should score 1, every other pair 0, with less weight. The penalty on a vector grows with
    the degree of its node, without which the method ranks worse on some graphs (Rendle et al.,
    2021). The package `implicit` has no such penalty; the equations are those of arcvec's own
    order, without nodes that walks reach. Self-loops do not count.
    """

    name: ClassVar[str] = "ials"
    tuned: ClassVar[tuple[str, ...]] = ("non_edge_weight", "penalty", "degree_exponent")

    dim: EvenDim = 32
    non_edge_weight: tuple[PositiveFloat, ...] = Field(
        (0.03, 0.003, 0.1),
        min_length=1,
        description="weight of a pair without an edge, where an edge has 1; the best of these",
    )
    penalty: tuple[PositiveFloat, ...] = Field(
        (3.0, 1.0),
        min_length=1,
        description="L2 penalty on the vector of a node with ten edges; the best of these",
    )
    degree_exponent: tuple[NonNegativeFloat, ...] = Field(
        (1.0, 0.5),
        min_length=1,
        description="the penalty grows with this power of the degree; the best of these",
    )
    iterations: int = Field(15, ge=1, description="times that both sides are solved for")

    def vectors(self, graph: Graph) -> tuple[_Vectors, _Vectors]:
        """Return source and target vectors for the first value of each setting."""
        shape = graph.num_nodes, self.dim // 2
        generator = np.random.default_rng(self.seed)
        target = generator.normal(scale=0.1 / self.dim**0.5, size=shape).astype(np.float32)
        choice = {name: getattr(self, name)[0] for name in self.tuned} | {"nearby_weight": 0.0}
        problem = LeastSquares(graph, RankingSettings(), self.dim // 2, Alone())
        course = Course(Hooks(), Alone(), self.iterations)
        return problem.improve((np.zeros_like(target), target), choice, self.iterations, course)


class BPR(TunedVectors):
    """Ranks the targets of a source above other nodes, pair by pair (Rendle et al., 2009).

    The training is that of the package `implicit`, on one thread, so that the same seed gives the
    same vectors. One number of each vector is a bias of the target. Weights of edges do not count.
    """

    name: ClassVar[str] = "bpr"
    tuned: ClassVar[tuple[str, ...]] = ("learning_rate", "penalty")

    dim: EvenDim = Field(32, ge=4)
    learning_rate: tuple[PositiveFloat, ...] = Field(
        (0.03, 0.01, 0.1), min_length=1, description="step of gradient descent; the best of these"
    )
    penalty: tuple[PositiveFloat, ...] = Field(
        (0.01, 0.03, 0.1), min_length=1, description="L2 penalty on vectors; the best of these"
    )
    iterations: int = Field(100, ge=1, description="times that as many pairs as edges are drawn")

    def vectors(self, graph: Graph) -> tuple[_Vectors, _Vectors]:
        """Return source and target vectors for the first value of each setting."""
        try:
            from implicit.cpu.bpr import BayesianPersonalizedRanking
        except ImportError:
            raise ImportError("BPR needs implicit; pip install 'arcvec[baselines]'") from None
        from scipy.sparse import csr_matrix

        if graph.num_edges == 0:
            nothing = np.zeros((graph.num_nodes, self.dim // 2), dtype=np.float32)
            return nothing, nothing
        model = BayesianPersonalizedRanking(
            factors=self.dim // 2 - 1,
            learning_rate=self.learning_rate[0],
            regularization=self.penalty[0],
            iterations=self.iterations,
            random_state=self.seed,
            num_threads=1,
        )
        ones = np.ones(graph.indices.size, dtype=np.float32)
        model.fit(csr_matrix(sparse_matrix(graph, ones)), show_progress=False)
        return np.asarray(model.user_factors), np.asarray(model.item_factors)
