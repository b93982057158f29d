"""Vectors in a moment, without any training: from singular vectors of the graph, or from walks.

Neither numba nor torch is imported. docs/choices.md says how the constants were chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import regularised
from arcvec.method import Method, describe_fit
from arcvec.training.average import Vectors
from arcvec.training.spectral import ITERATIONS, leading_subspace

# With more nodes, profiles take too much memory, or have too few landmarks.
_MAX_NODES_WITH_PROFILES = 1 << 16
# Power of the length by which each vector is divided.
_EVENING = 0.5
_DEGREE_SHARE, _SKETCH_POWER = 1.0, 4
_WALK_STEPS, _PROFILE_POWER = 10, 1.25
# Columns of a product at once, which stay in the caches.
_COLUMNS_AT_ONCE = 128


def quick_fit(graph: Graph, dim: int, seed: int) -> EdgeEmbeddings:
    """Return vectors that need no training."""
    method = LandmarkProfiles if has_profiles(graph) else SpectralSketch
    return method(dim=dim, seed=seed).fit(graph)


def has_profiles(graph: Graph) -> bool:
    """Return whether `quick_fit` uses `LandmarkProfiles`."""
    return not graph.directed and graph.num_nodes <= _MAX_NODES_WITH_PROFILES


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
            shares = values ** (_SKETCH_POWER / 2)
            source, target = (_padded(_evened(side * shares), count) for side in (left, right))
            return EdgeEmbeddings(source, target, graph.nodes, True, settings)
        # Eigenvectors, which singular ones are not where two values differ in sign alone.
        values, rotation = np.linalg.eigh((left.T @ (matrix @ left)).astype(np.float64))
        vectors = left @ (rotation * np.abs(values) ** (_SKETCH_POWER / 2)).astype(np.float32)
        signs = np.ones(count, dtype=np.float32)
        signs[:known][values < 0] = -1
        return EdgeEmbeddings.one_vector(
            _padded(_evened(vectors), count), signs, graph.nodes, directed=False, settings=settings
        )


class LandmarkProfiles(Method):
    """Scores a pair of nodes by how alike some landmarks, random nodes, lie to them.

    A profile is the logarithm of how much more often than by chance short walks lead from a node
    to each landmark. The score is U S^1.25 U^T, of the singular vectors of all profiles. For
    undirected graphs; memory grows with nodes times landmarks.

    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> LandmarkProfiles(dim=2).fit(path)
    EdgeEmbeddings(4 nodes, dim 2, undirected)
    """

    dim: int = Field(32, ge=1, description="numbers stored per node")
    seed: int = Field(0, ge=0, description="decides which nodes are landmarks")
    landmarks: int = Field(512, ge=1, description="nodes that others are described by")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; raise a ValueError if edges have a direction."""
        if graph.directed:
            raise ValueError("expected an undirected graph; SpectralSketch is for directed ones")
        known = np.flatnonzero(graph.out_degrees)
        generator = np.random.default_rng(self.seed)
        landmarks = generator.choice(known, min(self.landmarks, known.size), replace=False)
        profiles = _profiles(regularised(graph, 0.0), landmarks)
        squares, rotation = np.linalg.eigh((profiles.T @ profiles).astype(np.float64))
        leading = [i for i in np.argsort(-squares)[: self.dim] if squares[i] > 1e-6 * squares[-1]]
        rotation = rotation[:, leading] * squares[leading] ** (_PROFILE_POWER / 4 - 0.5)
        return EdgeEmbeddings.one_vector(
            _padded(_evened(profiles @ rotation.astype(np.float32)), self.dim),
            np.ones(self.dim, dtype=np.float32),
            graph.nodes,
            directed=False,
            settings={**describe_fit("landmark-profiles", self, graph), "steps_done": 0},
        )


def _profiles(matrix: Any, landmarks: NDArray[np.int64]) -> Vectors:
    """Return (num_nodes, num_landmarks), given a normalised adjacency, whose powers count walks."""
    num_nodes = matrix.shape[0]
    profiles = np.zeros((num_nodes, landmarks.size), dtype=np.float32)
    for first in range(0, landmarks.size, _COLUMNS_AT_ONCE):
        some = landmarks[first : first + _COLUMNS_AT_ONCE]
        reached = np.zeros((num_nodes, some.size), dtype=np.float32)
        reached[some, np.arange(some.size)] = 1
        sums = profiles[:, first : first + some.size]
        for _ in range(_WALK_STEPS):
            reached = matrix @ reached
            sums += reached
        np.log1p(num_nodes * sums, out=sums)
    return profiles


def _evened(vectors: Vectors) -> Vectors:
    """Return the vectors divided by a power of their lengths; one of zeros stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    quotients: Vectors = vectors / lengths**_EVENING
    return quotients


def _padded(vectors: Vectors, columns: int) -> Vectors:
    """Return the vectors with columns of zeros added."""
    return np.pad(vectors, ((0, 0), (0, columns - vectors.shape[1])))
