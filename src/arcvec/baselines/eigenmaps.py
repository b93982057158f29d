"""Laplacian EigenMaps (Belkin and Niyogi, 2003): neighbours lie close together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator
from scipy.spatial.distance import cdist

from arcvec.baselines.factorisations import leading_eigenpairs
from arcvec.embeddings import EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import inverse_power, normalise, undirected_adjacency
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.method import Dim, Method, Seed, describe_fit
from arcvec.storage.arrays import blocks


@dataclass(frozen=True, eq=False)
class NodePositions(EdgeScorer):
    """One point per node, (num_nodes, dim) float32; the score is minus the distance of two."""

    positions: NDArray[np.float32]
    nodes: NodeNames
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """Numbers stored per node."""
        return int(self.positions.shape[1])

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        scores = np.empty(len(sources), dtype=np.float32)
        for block in blocks(len(sources)):
            apart = self.positions[sources[block]] - self.positions[targets[block]]
            scores[block] = -np.linalg.norm(apart, axis=1)
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        distances: Scores = cdist(self.positions[sources], self.positions).astype(np.float32)
        return -distances


class LaplacianEigenMaps(Method):
    """Places nodes by the lowest non-trivial eigenvectors of the graph Laplacian.

    They solve L y = lambda D y on the undirected version of the graph, by way of the largest
    eigenvectors of I + D^-1/2 A D^-1/2, which needs only products with the adjacency. A graph of c
    components has c - 1 non-trivial eigenvectors of eigenvalue 0; they separate the components and
    come first, large components before small ones. Isolated nodes are at the origin.

    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> near, far = LaplacianEigenMaps(dim=1).fit(path).score(np.array([0, 0]), np.array([1, 3]))
    >>> bool(near > far)
    True
    """

    dim: Dim = 32
    seed: Seed = 0

    def fit(self, graph: Graph) -> NodePositions:
        """Return the positions of all nodes."""
        matrix = undirected_adjacency(graph)
        degrees = matrix.sum(axis=1)
        positions = self._eigenvectors(matrix, degrees) * inverse_power(degrees, 0.5)[:, None]
        settings = describe_fit("eigenmaps", self, graph)
        return NodePositions(positions.astype(np.float32), graph.nodes, settings)

    def _eigenvectors(self, matrix: Any, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return orthonormal eigenvectors of D^-1/2 A D^-1/2, the trivial one left out."""
        normalised, kernel = normalise(matrix), _kernel(matrix, degrees)
        trivial = np.asarray(kernel.T @ np.sqrt(degrees))
        known: NDArray[np.float64] = kernel @ _complement(trivial, self.dim)
        if known.shape[1] == self.dim:
            return known

        def shifted(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            # Deflate the known kernel, so that the solver finds the other vectors.
            result: NDArray[np.float64] = vector + normalised @ vector
            result -= 2 * (kernel @ (kernel.T @ vector))
            return result

        operator = LinearOperator(matrix.shape, matvec=shifted, matmat=shifted, dtype=np.float64)
        _, vectors = leading_eigenpairs(operator, self.dim - known.shape[1], self.seed)
        return np.concatenate([known, vectors], axis=1)


def _kernel(matrix: Any, degrees: NDArray[np.float64]) -> Any:
    """Return the eigenvectors of eigenvalue 0: a sparse column per component, largest first."""
    count, component = connected_components(matrix, directed=False)
    volumes = np.bincount(component, weights=degrees, minlength=count)
    column = np.empty(count, dtype=np.int64)
    column[np.argsort(-volumes, kind="stable")] = np.arange(count)
    with_edges = np.flatnonzero(degrees > 0)
    values = np.sqrt(degrees / np.where(volumes > 0, volumes, 1)[component])[with_edges]
    entries = (values, (with_edges, column[component[with_edges]]))
    return csr_array(entries, shape=(matrix.shape[0], int((volumes > 0).sum())))


def _complement(vector: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return up to `count` orthonormal columns, orthogonal to `vector`: (n, min(count, n - 1))."""
    size = min(count, max(0, vector.size - 1))
    if size == 0:
        return np.zeros((vector.size, 0))
    # The reflection that maps the vector to the first axis maps the other axes to the complement.
    mirror = vector / np.linalg.norm(vector)
    mirror[0] += 1.0
    mirror /= np.linalg.norm(mirror)
    axes = np.eye(vector.size, size, k=-1)
    result: NDArray[np.float64] = axes - 2 * np.outer(mirror, mirror[1 : size + 1])
    return result
