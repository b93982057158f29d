"""Scores from the graph itself, which is needed at inference: degrees and shared neighbours.

N(u) is the set of targets of u: in a directed graph its outgoing neighbours, as in the paper.
Scores from shared neighbours are symmetric, so they cannot tell an edge from its reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.edges import sum_common_neighbours, sum_common_neighbours_of_all
from arcvec.method import Method

_OFF_POLE = 1e-6


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
        return self._divide(super().score(sources, targets), sources, targets)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        return self._divide(super().score_all_targets(sources), sources[:, None], slice(None))

    def _divide(self, shared: Scores, sources: NodeIds, targets: Any) -> Scores:
        degrees = self.graph.out_degrees.astype(np.float32)
        # If the union is empty, nothing is shared either: 0 / 1.
        either = degrees[sources] + degrees[targets] - shared
        return np.asarray(shared / np.maximum(either, 1))


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
