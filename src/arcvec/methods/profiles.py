"""Vectors of an undirected graph in a moment: how often walks lead from nodes to some others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.methods.method import Method

if TYPE_CHECKING:
    from arcvec.graph.graph import Graph

# Chosen on a fifth of the train edges, held out, of ca-HepTh, ppi, soc-facebook and ca-AstroPh at
# dims 32 and 128, among walks of 5, 10 and 15 steps, powers of .5 to 2 and, with each of these, all
# that `_EVENED` was chosen among. A power of 1 wins .004 on ca-AstroPh and loses .015 on ca-HepTh.
_STEPS, _POWER = 10, 1.25
# Of the length of each vector, the power it is divided by: among 0, .25, .5, .75 and 1.
_EVENED = 0.5
# Columns of a product at once: twice as fast as all, which would not stay in the caches.
_COLUMNS_AT_ONCE = 128


class LandmarkProfiles(Method):
    """Scores a pair of nodes by how alike some landmarks, random nodes, lie to them.

    A profile is the logarithm of how much more often than by chance short walks lead from a node
    to each landmark: it tells near from far as well as nearer from near, which takes many more
    singular vectors of the graph itself. The score is U S^1.25 U^T, of the singular vectors of all
    profiles. For undirected graphs; memory grows with nodes times landmarks.

    >>> from arcvec.graph.graph import Graph
    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> LandmarkProfiles(dim=2).fit(path)
    EdgeEmbeddings(4 nodes, dim 2, undirected)
    """

    dim: int = Field(32, ge=1, description="numbers stored per node")
    seed: int = Field(0, ge=0, description="decides which nodes are landmarks")
    # Twice as many win .006 at most, on ca-HepTh, and half as many lose .003, on soc-facebook.
    landmarks: int = Field(512, ge=1, description="nodes that others are described by")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes.

        Raises:
            ValueError: edges have a direction.
        """
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import evened, regularised

        if graph.directed:
            raise ValueError("expected an undirected graph; SpectralSketch is for directed ones")
        known = np.flatnonzero(graph.out_degrees)
        rng = np.random.default_rng(self.seed)
        landmarks = rng.choice(known, min(self.landmarks, known.size), replace=False)
        profiles = _profiles(regularised(graph, 0.0), landmarks)
        squares, turn = np.linalg.eigh((profiles.T @ profiles).astype(np.float64))
        leading = [i for i in np.argsort(-squares)[: self.dim] if squares[i] > 1e-6 * squares[-1]]
        turn = turn[:, leading] * squares[leading] ** (_POWER / 4 - 0.5)
        vectors = evened(profiles @ turn.astype(np.float32), _EVENED)
        return EdgeEmbeddings.one_vector(
            np.pad(vectors, ((0, 0), (0, self.dim - len(leading)))),
            np.ones(self.dim, dtype=np.float32),
            graph.nodes,
            directed=False,
            settings={**describe_fit("landmark-profiles", self, graph), "steps_done": 0},
        )


def _profiles(matrix: Any, landmarks: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the profile of every node: (num_nodes, num_landmarks).

    Args:
        matrix: adjacency over the square roots of both degrees, whose powers count walks.
    """
    num_nodes = matrix.shape[0]
    profiles = np.zeros((num_nodes, landmarks.size), dtype=np.float32)
    for first in range(0, landmarks.size, _COLUMNS_AT_ONCE):
        some = landmarks[first : first + _COLUMNS_AT_ONCE]
        reached = np.zeros((num_nodes, some.size), dtype=np.float32)
        reached[some, np.arange(some.size)] = 1
        sums = profiles[:, first : first + some.size]
        for _ in range(_STEPS):
            reached = matrix @ reached
            sums += reached
        np.log1p(num_nodes * sums, out=sums)
    return profiles
