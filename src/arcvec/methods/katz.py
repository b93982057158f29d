"""Katz's measure up to a number of hops: all walks from source to target, long ones count less."""

from __future__ import annotations

from pydantic import Field

from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.methods.path_counts import PathCounts


class Katz(Method):
    """Scores u -> v by beta A + beta^2 A^2 + ... up to A^hops; needs the graph at inference."""

    hops: int = Field(6, ge=1, description="edges in the longest walks counted")
    beta: float = Field(0.005, gt=0, description="factor on the count for every edge of a walk")

    def fit(self, graph: Graph) -> PathCounts:
        """Return a scorer that keeps the graph."""
        from arcvec.methods.spectral import adjacency

        matrix = adjacency(graph)
        # Divided by beta throughout, which orders edges alike and keeps the numbers in range.
        weights = [self.beta**hop for hop in range(self.hops)]
        return PathCounts([matrix] * self.hops, weights, graph.nodes, not graph.directed)
