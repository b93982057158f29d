"""Vectors in a moment, without any training; neither numba nor torch is imported."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import regularised
from arcvec.method import Method, describe_fit
from arcvec.training.average import Vectors
from arcvec.training.spectral import ITERATIONS, leading_subspace

# Power of the length by which each vector is divided.
_EVENING = 0.5
_DEGREE_SHARE, _POWER = 1.0, 4


class SpectralSketch(Method):
    """Scores edges by U S^4 V^T, of the singular vectors of the normalised adjacency.

    A large power keeps where many paths lead. Vectors are made more alike in length.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> SpectralSketch(dim=2).fit(star)
    EdgeEmbeddings(4 nodes, dim 2, directed)
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides where the search for vectors starts")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; of undirected graphs, one for both sides."""
        matrix = regularised(graph, _DEGREE_SHARE)
        count = self.dim // 2 if graph.directed else self.dim
        known = min(count, graph.num_nodes)
        generator = np.random.default_rng(self.seed)
        left, values, right = leading_subspace(matrix, known, ITERATIONS, generator)
        settings = {**describe_fit("spectral-sketch", self, graph), "steps_done": 0}
        if graph.directed:
            shares = values ** (_POWER / 2)
            source, target = (_padded(_evened(side * shares), count) for side in (left, right))
            return EdgeEmbeddings(source, target, graph.nodes, True, settings)
        # Eigenvectors, which singular ones are not where two values differ in sign alone.
        values, rotation = np.linalg.eigh((left.T @ (matrix @ left)).astype(np.float64))
        vectors = left @ (rotation * np.abs(values) ** (_POWER / 2)).astype(np.float32)
        signs = np.ones(count, dtype=np.float32)
        signs[:known][values < 0] = -1
        return EdgeEmbeddings.one_vector(
            _padded(_evened(vectors), count), signs, graph.nodes, directed=False, settings=settings
        )


def _evened(vectors: Vectors) -> Vectors:
    """Return the vectors divided by a power of their lengths; one of zeros stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    quotients: Vectors = vectors / lengths**_EVENING
    return quotients


def _padded(vectors: Vectors, columns: int) -> Vectors:
    """Return the vectors with columns of zeros added."""
    return np.pad(vectors, ((0, 0), (0, columns - vectors.shape[1])))
