"""Scores from paths in the graph, which is needed at inference: Katz, three paths, PageRank.

On an undirected graph they are the same in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, inverse_power, strengths
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.paths import path_sums_of_all, path_sums_of_pairs
from arcvec.method import Method

_Weights: TypeAlias = NDArray[np.float64]  # one per node
_NO_WEIGHTS = np.empty(0, dtype=np.float32)
_DEGREE_EXPONENT = "divide by this power of the out-degree of u times the in-degree of v"


@dataclass(frozen=True, eq=False)
class PathSums(EdgeScorer):
    """Scores u -> v by a weighted sum over paths from u to v.

    The weight of a path is the product of its edge weights and of `leaving` of the nodes left,
    times the weight of its last step and `arriving` of v. On an undirected graph scores are
    computed from the smaller id, so that u -> v and v -> u have the same score to the last bit.

    Attributes:
        leaving: for each step, weights of the node left: (num_nodes,).
        step_weights: for each step, the weight of paths that end there.
        arriving: weights of the node where a path ends: (num_nodes,).
        backward: for each step, whether it leads from target to source; by default none does.
    """

    graph: Graph
    nodes: NodeNames
    leaving: Sequence[_Weights]
    step_weights: Sequence[float]
    arriving: _Weights
    backward: Sequence[bool] = ()

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        if not self.graph.directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        order = np.argsort(sources, kind="stable")
        starts, first = np.unique(sources[order], return_index=True)
        groups = starts, np.append(first, len(sources)), targets[order]
        scores = np.empty(len(sources), dtype=np.float32)
        scores[order] = path_sums_of_pairs(self.paths, self.arriving, *groups)
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        return np.asarray(path_sums_of_all(self.paths, self.arriving, sources))

    @cached_property
    def paths(self) -> tuple[Any, ...]:
        """What the kernels in `arcvec.kernels.paths` take."""
        rows = []
        for graph in (self.graph, self.graph.transposed):
            weights = _NO_WEIGHTS if graph.weights is None else graph.weights
            rows += [graph.indptr, graph.indices, weights]
        backward = self.backward or [False] * len(self.leaving)
        step_weights = np.array(self.step_weights, dtype=np.float64)
        return *rows, np.array(backward), np.stack(self.leaving), step_weights


class Katz(Method):
    """Scores u -> v by beta A + beta^2 A^2 + ... up to A^hops: all walks, long ones count less."""

    hops: int = Field(6, ge=1, description="edges in the longest walks counted")
    beta: float = Field(0.005, gt=0, description="factor on the count for every edge of a walk")

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        # Divided by beta throughout: the same order, and numbers that stay in range.
        weights = [self.beta**hop for hop in range(self.hops)]
        ones = np.ones(graph.num_nodes)
        return PathSums(graph, graph.nodes, [ones] * self.hops, weights, ones)


class ThreePaths(Method):
    """Scores u -> v by the paths u -> x <- y -> v, each counting 1 / sqrt(k_x k_y).

    k_x is the number of edges into x, k_y the number out of y (Kovacs et al., 2019). The middle
    edge runs backward, so y is a source that shares the target x with u.
    """

    degree_exponent: float = Field(0.0, ge=0, description=_DEGREE_EXPONENT)

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        (out, into), _ = strengths(graph)
        ends = [inverse_power(degrees, self.degree_exponent) for degrees in (out, into)]
        middle = [inverse_power(degrees, 0.5) for degrees in (into, out)]
        return three_steps(graph, [ends[0], *middle], ends[1])


class ThreePathsOverDegree(ThreePaths):
    """Scores as `ThreePaths`, but popular targets less: see `degree_exponent`."""

    degree_exponent: float = Field(0.25, ge=0, description=_DEGREE_EXPONENT)


class ItemCosine(Method):
    """Scores u -> v by the cosines of v and each target of u, as rows of their sources, added up.

    This is the item-to-item method of recommenders. On an undirected graph, the score is the mean
    of both directions.
    """

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        norms = adjacency(graph).power(2).sum(axis=0)
        ones, inverse = np.ones(graph.num_nodes), inverse_power(norms, 0.5)
        scorer = three_steps(graph, [ones, inverse, ones], inverse)
        if graph.directed:
            return scorer
        return MeanScore(scorer, three_steps(graph, [inverse, ones, inverse], ones), graph.nodes)


def three_steps(graph: Graph, leaving: Sequence[_Weights], arriving: _Weights) -> PathSums:
    """Return the scorer of the paths u -> x <- y -> v."""
    steps = [0.0, 0.0, 1.0]
    return PathSums(graph, graph.nodes, leaving, steps, arriving, backward=[False, True, False])


@dataclass(frozen=True, eq=False)
class MeanScore(EdgeScorer):
    """Scores edges by the mean of two scorers."""

    first: EdgeScorer
    second: EdgeScorer
    nodes: NodeNames

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        first, second = (part.score(sources, targets) for part in (self.first, self.second))
        return (first + second) * np.float32(0.5)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        first, second = (part.score_all_targets(sources) for part in (self.first, self.second))
        return (first + second) * np.float32(0.5)


class PageRank(Method):
    """Scores u -> v by short walks: how often one from a random edge of u comes to v.

    This is personalised PageRank, cut off after a few steps, times the degree of u. That factor
    does not change the order of the targets of a source, and makes scores on an undirected graph
    the same in both directions.
    """

    steps: int = Field(4, ge=1, description="edges in the longest walks counted")
    continuation: float = Field(0.85, gt=0, le=1, description="probability of a further step")
    direction: Literal["followed", "ignored"] = Field(
        "ignored",
        description="walk along out-edges, or on the undirected version of a directed graph",
    )

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        walked = graph.undirected if self.direction == "ignored" else graph
        (out, _), _ = strengths(walked)
        ones, inverse = np.ones(graph.num_nodes), inverse_power(out, 1.0)
        leaving = [ones, *[inverse] * (self.steps - 1)]
        weights = [self.continuation**step for step in range(self.steps)]
        return PathSums(walked, graph.nodes, leaving, weights, ones)
