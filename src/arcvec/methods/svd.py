"""Truncated SVD of the normalised adjacency: the shortest way to source and target vectors."""

from __future__ import annotations

from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method


class NormalisedSVD(Method):
    """Factorises D_out^-1/2 A D_in^-1/2 = U S V^T and scores edges by U S^power V^T.

    With power 3 the score is the low-rank version of degree-normalised paths u -> x <- y -> v, so
    that an edge is likely where sources that choose alike have chosen its target.

    >>> import numpy as np
    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> embeddings = NormalisedSVD(dim=2).fit(star)
    >>> embeddings.score(np.array([0, 1]), np.array([1, 2])).round(3)
    array([0.577, 0.   ], dtype=float32)
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides where the solver starts")
    power: float = Field(3.0, gt=0, description="exponent of the singular values in the score")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import adjacency, normalise, source_and_target

        matrix = normalise(adjacency(graph))
        source, target = source_and_target(matrix, self.dim, self.seed, power=self.power)
        return EdgeEmbeddings(
            source,
            target,
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("svd", self, graph),
        )
