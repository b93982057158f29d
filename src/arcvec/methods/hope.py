"""HOPE (Ou et al., 2016): source and target vectors whose products are Katz's proximities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method

_PRECISION = 1e-8


class HOPE(Method):
    """Factorises (I - beta A)^-1 beta A: Katz's measure over walks of any length.

    The matrix is never made: the solver multiplies with it as a series in A, cut where the rest
    is below 1e-8. beta is given as a part of 1 / ||A||, so the series always converges.
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides where the solver starts")
    decay: float = Field(
        0.9, gt=0, lt=1, description="beta times the largest singular value of the adjacency"
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import adjacency, source_and_target

        proximity = self._proximity(adjacency(graph))
        source, target = source_and_target(proximity, self.dim, self.seed)
        return EdgeEmbeddings(
            source,
            target,
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("hope", self, graph),
        )

    def _proximity(self, matrix: Any) -> Any:
        """Return the operator x -> (beta A + beta^2 A^2 + ...) x."""
        from scipy.sparse.linalg import LinearOperator

        from arcvec.methods.spectral import leading_singular_vectors

        largest = leading_singular_vectors(matrix, 1, self.seed)[1][0]
        there = matrix * (self.decay / largest if largest > 0 else 0.0)
        back = there.T.tocsr()
        num_terms = math.ceil(math.log(_PRECISION) / math.log(self.decay))

        def series(step: Any, vector: NDArray[np.float64]) -> NDArray[np.float64]:
            # Horner's scheme: beta A (x + beta A (x + ...)).
            sums = np.zeros_like(vector)
            for _ in range(num_terms):
                sums = step @ (vector + sums)
            return sums

        return LinearOperator(
            matrix.shape,
            matvec=lambda vector: series(there, vector),
            rmatvec=lambda vector: series(back, vector),
            matmat=lambda vectors: series(there, vectors),
            dtype=np.float64,
        )
