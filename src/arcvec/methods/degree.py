"""Degrees alone: nodes with many edges are likely to have one more."""

from __future__ import annotations

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method


class DegreeProduct(Method):
    """Scores u -> v by out-degree of u times in-degree of v, also called preferential attachment.

    The product is an inner product of one number a side, so the result is `EdgeEmbeddings`.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    >>> DegreeProduct().fit(star).score(np.array([0, 1]), np.array([1, 2]))
    array([3., 1.], dtype=float32)
    """

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the degrees as source and target vectors of length 1."""
        # The product itself, not a sum of logarithms: float32 has the same relative precision at
        # every size, while a sum of logarithms would tie products that differ by a millionth.
        return EdgeEmbeddings(
            source=graph.out_degrees[:, None].astype(np.float32),
            target=graph.in_degrees[:, None].astype(np.float32),
            nodes=graph.nodes,
            directed=graph.directed,
            settings={"method": "degree-product", "graph_fingerprint": graph.fingerprint},
        )
