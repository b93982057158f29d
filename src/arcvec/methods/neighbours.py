"""Scores from shared neighbours: they need the graph itself at inference.

N(u) is the set of targets of u: in a directed graph its outgoing neighbours, as in the paper. All
these scores are symmetric, so none of them can tell an edge from its reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.methods.method import Method

_OFF_POLE = 1e-6


@dataclass(frozen=True, eq=False)
class SharedNeighbours(EdgeScorer):
    """Sums a weight over N(u) and N(v) together.

    Attributes:
        node_weights: (num_nodes,) float32, what a node counts where it is shared.
    """

    graph: Graph
    nodes: NodeNames
    node_weights: NDArray[np.float32]

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        from arcvec.kernels.neighbours import sum_common_neighbours

        graph = self.graph
        sums: Scores = sum_common_neighbours(
            graph.indptr, graph.indices, self.node_weights, sources, targets
        )
        return sums

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        from arcvec.kernels.neighbours import sum_common_neighbours_of_all

        there, back = self.graph, self.graph.transposed
        sums: Scores = sum_common_neighbours_of_all(
            there.indptr, there.indices, back.indptr, back.indices, self.node_weights, sources
        )
        return sums


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
    """Scores u -> v by the shared neighbours z, each counting 1 / log |N(z)|.

    A directed graph has shared neighbours with fewer than two targets, where 1 / log |N(z)| says
    nothing.
    """

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
    """Scores u -> v by the shared neighbours z, each counting 1 / |N(z)|.

    A shared neighbour without targets, which only a directed graph has, counts as if it had one.
    """

    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer that keeps the graph."""
        degrees = np.maximum(graph.out_degrees, 1)
        return SharedNeighbours(graph, graph.nodes, (1 / degrees).astype(np.float32))


def _divide(shared: Scores, degree_sums: NDArray[np.float32]) -> Scores:
    union = degree_sums - shared
    # Where the union is empty nothing is shared either: 0 / 1.
    fractions: Scores = shared / np.maximum(union, 1)
    return fractions
