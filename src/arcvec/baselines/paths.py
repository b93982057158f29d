"""Scores from the graph itself, which is needed at inference: degrees, and paths of a few edges.

N(u) is the set of targets of u: in a directed graph its outgoing neighbours, as in the paper.
Scores from shared neighbours are symmetric, so they cannot tell an edge from its reverse; on an
undirected graph all scores are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, inverse_power, strengths
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.paths import path_sums_of_all, path_sums_of_pairs
from arcvec.method import Method

_Weights: TypeAlias = NDArray[np.float64]  # one per node
_NO_WEIGHTS = np.empty(0, dtype=np.float32)
_OFF_POLE = 1e-6
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
        if not self.graph.directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        order = np.argsort(sources, kind="stable")
        starts, first = np.unique(sources[order], return_index=True)
        groups = starts, np.append(first, len(sources)), targets[order]
        scores = np.empty(len(sources), dtype=np.float32)
        scores[order] = path_sums_of_pairs(self.paths, self.arriving, *groups)
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
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


class SharedFraction(PathSums):
    """Divides the number of shared neighbours by the number of nodes next to either end."""

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]; 0 if neither has neighbours."""
        return self._divide(super().score(sources, targets), sources, targets)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        return self._divide(super().score_all_targets(sources), sources[:, None], slice(None))

    def _divide(self, shared: Scores, sources: NodeIds, targets: Any) -> Scores:
        degrees = self.graph.out_degrees.astype(np.float32)
        # If the union is empty, nothing is shared either: 0 / 1.
        either = degrees[sources] + degrees[targets] - shared
        return np.asarray(shared / np.maximum(either, 1))


class DegreeProduct(Method):
    """Scores u -> v by out-degree of u times in-degree of v, also called preferential attachment.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    >>> DegreeProduct().fit(star).score(np.array([0, 1]), np.array([1, 2]))
    array([3., 1.], dtype=float32)
    """

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the degrees as source and target vectors of length 1."""
        # Not a sum of logarithms, which in float32 would tie large products that differ.
        return _of_degrees("degree-product", graph, graph.out_degrees)


class Popularity(Method):
    """Scores u -> v by the in-degree of v, whatever u is; undirected, by the mean of both degrees.

    Within a source this is the order of `DegreeProduct`, also for sources without known edges.
    """

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return ones as source and in-degrees as target vectors of length 1."""
        return _of_degrees("popularity", graph, np.ones(graph.num_nodes))


def _of_degrees(method: str, graph: Graph, source: NDArray[Any]) -> EdgeEmbeddings:
    return EdgeEmbeddings(
        source=source[:, None].astype(np.float32),
        target=graph.in_degrees[:, None].astype(np.float32),
        nodes=graph.nodes,
        directed=graph.directed,
        settings={"method": method, "graph_fingerprint": graph.fingerprint},
    )


class CommonNeighbours(Method):
    """Scores u -> v by the number of nodes in both N(u) and N(v)."""

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        return _shared(graph, np.ones(graph.num_nodes))


class Jaccard(Method):
    """Scores u -> v by the part of N(u) and N(v) together that is in both."""

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        return _shared(graph, np.ones(graph.num_nodes), SharedFraction)


class AdamicAdar(Method):
    """Scores u -> v by the shared neighbours z, each counting 1 / log |N(z)|; see `few`."""

    few: Literal["as two", "as they are"] = Field(
        "as two",
        description="count neighbours of fewer than two targets as if they had two, or by the "
        "formula as it stands, kept off its pole: then one target counts more than any number, and "
        "none a little less than nothing. The paper's numbers are those of the formula",
    )

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        literal = self.few == "as they are"
        degrees = graph.out_degrees + _OFF_POLE if literal else np.maximum(graph.out_degrees, 2)
        return _shared(graph, 1 / np.log(degrees))


class ResourceAllocation(Method):
    """Scores u -> v by the shared neighbours z, each counting 1 / |N(z)|, or 1 without targets."""

    def fit(self, graph: Graph) -> PathSums:
        """Return a scorer that keeps the graph."""
        return _shared(graph, 1 / np.maximum(graph.out_degrees, 1))


def _shared(graph: Graph, node_weights: _Weights, scorer: type[PathSums] = PathSums) -> PathSums:
    """Return the scorer of the paths u -> z <- v, whatever the weights of their edges."""
    unweighted = graph if graph.weights is None else replace(graph, weights=None)
    ones = np.ones(graph.num_nodes)
    return zigzag(unweighted, [ones, node_weights], ones, scorer)


def zigzag(
    graph: Graph, leaving: Sequence[_Weights], arriving: _Weights, scorer: type[PathSums] = PathSums
) -> PathSums:
    """Return the scorer of the paths u -> x <- y -> ... of as many steps as there are `leaving`."""
    count = len(leaving)
    step_weights, backward = [0.0] * (count - 1) + [1.0], [i % 2 == 1 for i in range(count)]
    return scorer(graph, graph.nodes, leaving, step_weights, arriving, backward)


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
        return zigzag(graph, [ends[0], *middle], ends[1])


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
        scorer = zigzag(graph, [ones, inverse, ones], inverse)
        if graph.directed:
            return scorer
        return MeanScore(scorer, zigzag(graph, [inverse, ones, inverse], ones), graph.nodes)


@dataclass(frozen=True, eq=False)
class MeanScore(EdgeScorer):
    """Scores edges by the mean of two scorers."""

    first: EdgeScorer
    second: EdgeScorer
    nodes: NodeNames

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        first, second = (part.score(sources, targets) for part in (self.first, self.second))
        return (first + second) * np.float32(0.5)

    def score_all_targets(self, sources: NodeIds) -> Scores:
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
