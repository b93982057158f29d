"""Paths of three edges, normalised by the degrees between (Kovacs et al., 2019)."""

from __future__ import annotations

from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.methods.path_counts import PathCounts


class ThreePaths(Method):
    """Scores u -> v by the paths u -> x <- y -> v, each counting 1 / sqrt(k_x k_y).

    k_x is the number of edges into x, k_y the number out of y. The middle edge runs backward, so
    y is a source that shares the target x with u; in an undirected graph all three are plain
    edges. Needs the graph at inference.
    """

    def fit(self, graph: Graph) -> PathCounts:
        """Return a scorer that keeps the graph."""
        from arcvec.methods.spectral import adjacency, normalise

        matrix = adjacency(graph)
        back = normalise(matrix).T.tocsr()
        steps, weights = [matrix, back, matrix], [0.0, 0.0, 1.0]
        return PathCounts(steps, weights, graph.nodes, not graph.directed)
