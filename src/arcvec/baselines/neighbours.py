"""Scores from the graph itself, which is needed at inference: degrees, shared neighbours, paths.

N(u) is the set of targets of u: in a directed graph its outgoing neighbours, as in the paper.
Scores from shared neighbours are symmetric, so they cannot tell an edge from its reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, normalise
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.edges import sum_common_neighbours, sum_common_neighbours_of_all
from arcvec.method import Method

_OFF_POLE = 1e-6
# Numbers in one block of rows of path counts, which fits into caches, and its smallest height.
_BLOCK_SIZE = 1 << 20
_MIN_ROWS = 32


class DegreeProduct(Method):
    """Scores u -> v by out-degree of u times in-degree of v, also called preferential attachment.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    >>> DegreeProduct().fit(star).score(np.array([0, 1]), np.array([1, 2]))
    array([3., 1.], dtype=float32)
    """

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the degrees as source and target vectors of length 1."""
        # Not a sum of logarithms, which in float32 would tie large products that differ.
        return EdgeEmbeddings(
            source=graph.out_degrees[:, None].astype(np.float32),
            target=graph.in_degrees[:, None].astype(np.float32),
            nodes=graph.nodes,
            directed=graph.directed,
            settings={"method": "degree-product", "graph_fingerprint": graph.fingerprint},
        )


@dataclass(frozen=True, eq=False)
class SharedNeighbours(EdgeScorer):
    """Sums `node_weights`, (num_nodes,) float32, over the nodes in both N(u) and N(v)."""

    graph: Graph
    nodes: NodeNames
    node_weights: NDArray[np.float32]

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        rows = self.graph.indptr, self.graph.indices
        return np.asarray(sum_common_neighbours(*rows, self.node_weights, sources, targets))

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        out, into = self.graph, self.graph.transposed
        rows = out.indptr, out.indices, into.indptr, into.indices
        return np.asarray(sum_common_neighbours_of_all(*rows, self.node_weights, sources))


class SharedFraction(SharedNeighbours):
    """Divides the number of shared neighbours by the number of nodes next to either end."""

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]; 0 if neither has neighbours."""
        degrees = self.graph.out_degrees.astype(np.float32)
        return _divide(super().score(sources, targets), degrees[sources] + degrees[targets])

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        degrees = self.graph.out_degrees.astype(np.float32)
        return _divide(super().score_all_targets(sources), degrees[sources][:, None] + degrees)


def _divide(shared: Scores, degree_sums: NDArray[np.float32]) -> Scores:
    # If the union is empty, nothing is shared either: 0 / 1.
    return np.asarray(shared / np.maximum(degree_sums - shared, 1))


class CommonNeighbours(Method):
    """Scores u -> v by the number of nodes in both N(u) and N(v)."""

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        return SharedNeighbours(graph, graph.nodes, np.ones(graph.num_nodes, dtype=np.float32))


class Jaccard(Method):
    """Scores u -> v by the part of N(u) and N(v) together that is in both."""

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        return SharedFraction(graph, graph.nodes, np.ones(graph.num_nodes, dtype=np.float32))


class AdamicAdar(Method):
    """Scores u -> v by the shared neighbours z, each counting 1 / log |N(z)|; see `few`."""

    few: Literal["as two", "as they are"] = Field(
        "as two",
        description="count neighbours of fewer than two targets as if they had two, or by the "
        "formula as it stands, kept off its pole: then one target counts more than any number, and "
        "none a little less than nothing. The paper's numbers are those of the formula",
    )

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        literal = self.few == "as they are"
        degrees = graph.out_degrees + _OFF_POLE if literal else np.maximum(graph.out_degrees, 2)
        return SharedNeighbours(graph, graph.nodes, (1 / np.log(degrees)).astype(np.float32))


class ResourceAllocation(Method):
    """Scores u -> v by the shared neighbours z, each counting 1 / |N(z)|, or 1 without targets."""

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        degrees = np.maximum(graph.out_degrees, 1)
        return SharedNeighbours(graph, graph.nodes, (1 / degrees).astype(np.float32))


@dataclass(frozen=True, eq=False)
class PathCounts(EdgeScorer):
    """Scores u -> v by a weighted sum over paths from u to v, one weight per number of steps.

    If `symmetric`, scores are computed from the smaller id, so that u -> v and v -> u have the same
    score to the last bit.
    """

    steps: Sequence[Any]  # sparse matrices; a path of k steps takes the first k of them
    step_weights: Sequence[float]  # of the paths that end after each step
    nodes: NodeNames
    symmetric: bool

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        if self.symmetric:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        scores = np.empty(len(sources), dtype=np.float32)
        order = np.argsort(sources, kind="stable")
        starts, row_of_pair = np.unique(sources[order], return_inverse=True)
        for first in range(0, starts.size, self._rows_at_once):
            last = first + self._rows_at_once
            low, high = np.searchsorted(row_of_pair, [first, last])
            pairs = order[low:high]
            rows = self._rows(starts[first:last])
            scores[pairs] = rows[targets[pairs], row_of_pair[low:high] - first]
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        scores = np.empty((len(sources), len(self.nodes)), dtype=np.float32)
        for first in range(0, len(sources), self._rows_at_once):
            block = slice(first, first + self._rows_at_once)
            scores[block] = self._rows(sources[block]).T
        return scores

    @property
    def _rows_at_once(self) -> int:
        return max(_MIN_ROWS, _BLOCK_SIZE // max(1, len(self.nodes)))

    def _rows(self, sources: NodeIds) -> NDArray[np.float64]:
        """Return the scores of sources against all nodes, transposed: (num_nodes, s) float64."""
        reached: NDArray[np.float64] = self.steps[0][sources].T.toarray(order="C")
        sums = self.step_weights[0] * reached
        for step, weight in zip(self.steps[1:], self.step_weights[1:], strict=True):
            reached = step.T @ reached
            if weight:
                sums += weight * reached
        return sums


class Katz(Method):
    """Scores u -> v by beta A + beta^2 A^2 + ... up to A^hops: all walks, long ones count less."""

    hops: int = Field(6, ge=1, description="edges in the longest walks counted")
    beta: float = Field(0.005, gt=0, description="factor on the count for every edge of a walk")

    def fit(self, graph: Graph) -> PathCounts:
        """Return a scorer that keeps the graph."""
        # Divided by beta throughout: the same order, and numbers that stay in range.
        weights = [self.beta**hop for hop in range(self.hops)]
        steps = [adjacency(graph)] * self.hops
        return PathCounts(steps, weights, graph.nodes, symmetric=not graph.directed)


class ThreePaths(Method):
    """Scores u -> v by the paths u -> x <- y -> v, each counting 1 / sqrt(k_x k_y).

    k_x is the number of edges into x, k_y the number out of y (Kovacs et al., 2019). The middle
    edge runs backward, so y is a source that shares the target x with u.
    """

    def fit(self, graph: Graph) -> PathCounts:
        """Return a scorer that keeps the graph."""
        matrix = adjacency(graph)
        steps = [matrix, normalise(matrix).T.tocsr(), matrix]
        return PathCounts(steps, [0.0, 0.0, 1.0], graph.nodes, symmetric=not graph.directed)
