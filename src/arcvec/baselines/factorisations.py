"""Vectors from the singular vectors or eigenvectors of one matrix of the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh, svds
from scipy.spatial.distance import cdist

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.graph import matrices
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.method import Dim, EvenDim, MaxNodes, Method, Seed, describe_fit, one_side, two_sides
from arcvec.storage.arrays import blocks

# Up to this size, or four times the number of vectors, a dense solver is as quick, and exact.
_DENSE_NODES = 256
_HOPE_PRECISION = 1e-8
_STRAP_ROWS = 1024


class _TwoSided(Method):
    dim: EvenDim = 32
    seed: Seed = 0

    def _factorise(
        self, name: str, graph: Graph, matrix: Any, exponent: float = 1.0
    ) -> EdgeEmbeddings:
        """Return two sides whose score is U S^exponent V^T, of a matrix U S V^T cut to dim / 2."""
        left, values, right = leading_singular_vectors(matrix, self.dim // 2, self.seed)
        shares = values ** (exponent / 2)
        return two_sides(name, self, graph, left * shares, right * shares)


class NormalisedSVD(_TwoSided):
    """Factorises D_out^-1/2 A D_in^-1/2 = U S V^T and scores edges by U S^power V^T.

    With power 3 the score is the low-rank version of degree-normalised paths u -> x <- y -> v.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> embeddings = NormalisedSVD(dim=2).fit(star)
    >>> embeddings.score(np.array([0, 1]), np.array([1, 2])).round(3)
    array([0.577, 0.   ], dtype=float32)
    """

    power: float = Field(3.0, gt=0, description="exponent of the singular values in the score")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        normalised = matrices.normalise(matrices.adjacency(graph))
        return self._factorise("svd", graph, normalised, self.power)


class HOPE(_TwoSided):
    """Factorises (I - beta A)^-1 beta A: Katz's measure over walks of any length (Ou et al., 2016).

    The matrix is never built: the solver multiplies with it as a series in A, cut where the rest
    is negligible. beta is a part of 1 / ||A||, so the series always converges.
    """

    decay: float = Field(
        0.9, gt=0, lt=1, description="beta times the largest singular value of the adjacency"
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        matrix = matrices.adjacency(graph)
        largest = leading_singular_vectors(matrix, 1, self.seed)[1][0]
        forward = matrix * (self.decay / largest if largest > 0 else 0.0)
        backward = forward.T.tocsr()
        num_terms = math.ceil(math.log(_HOPE_PRECISION) / math.log(self.decay))

        def series(step: Any, vector: NDArray[np.float64]) -> NDArray[np.float64]:
            # Horner's scheme: beta A (x + beta A (x + ...)).
            sums = np.zeros_like(vector)
            for _ in range(num_terms):
                sums = step @ (vector + sums)
            return sums

        operator = LinearOperator(
            matrix.shape,
            matvec=lambda vector: series(forward, vector),
            rmatvec=lambda vector: series(backward, vector),
            matmat=lambda vectors: series(forward, vectors),
            dtype=np.float64,
        )
        return self._factorise("hope", graph, operator)


class STRAP(_TwoSided):
    """Factorises log of the personalised PageRank of the graph plus that of its transpose.

    By Yin and Wei (2019). The entry of u and v is the probability that a walk from u along
    out-edges ends at v, plus that of a walk from v along in-edges ending at u, or 0 if small.
    """

    stop: float = Field(0.5, gt=0, lt=1, description="probability that a walk ends at a node")
    smallest: float = Field(
        1e-4,
        gt=0,
        lt=1,
        description="probabilities below this count as none; "
        "1e-5, the authors' choice, is a little better for four times the memory",
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        matrix = matrices.adjacency(graph)
        ends = walk_ends(matrix, self.stop, self.smallest / 2)
        ends = ends + walk_ends(matrix.T.tocsr(), self.stop, self.smallest / 2).T
        ends.data = np.log(np.maximum(ends.data / (self.smallest / 2), 1))
        if graph.num_edges == 0:  # every walk ends where it starts, which says nothing
            ends.data[:] = 0
        return self._factorise("strap", graph, ends)


def walk_ends(matrix: Any, stop: float, tolerance: float) -> Any:
    """Return the personalised PageRank of each row's node at each column's: sparse (n, n).

    A walk ends at every node with probability `stop`, and always at a node without out-edges.
    Probabilities below `tolerance` of being at a node after some step are not followed.
    """
    num_nodes = matrix.shape[0]
    onward = matrices.transitions(matrix) * (1 - stop)
    ends = diags_array(np.where(np.diff(matrix.indptr) > 0, stop, 1.0))
    parts = [csr_array((0, num_nodes))]
    for first in range(0, num_nodes, _STRAP_ROWS):
        starts = np.arange(first, min(first + _STRAP_ROWS, num_nodes))
        ones = (np.ones(starts.size), (starts - first, starts))
        present = csr_array(ones, shape=(starts.size, num_nodes))
        block = present @ ends
        while present.nnz:
            present = present @ onward
            present.data[present.data < tolerance] = 0
            present.eliminate_zeros()
            block = block + present @ ends
        parts.append(block)
    return vstack(parts, format="csr")


class NetMF(Method):
    """Factorises the truncated logarithm of DeepWalk's co-occurrences; symmetric scores.

    By Qiu et al. (2018). It uses the undirected version of the graph. The score is the best
    rank-`dim` approximation of the dense matrix, negative eigenvalues included.
    """

    dim: Dim = 32
    seed: Seed = 0
    window: int = Field(10, ge=1, description="largest distance in a walk between nodes of a pair")
    negatives: float = Field(1.0, gt=0, description="negatives per pair of the skip-gram imitated")
    max_nodes: MaxNodes = 20_000

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; a ValueError above `max_nodes`."""
        matrices.refuse_above(self.max_nodes, graph, "NetMF factorises")
        matrix = deepwalk_matrix(matrices.undirected_adjacency(graph), self.window, self.negatives)
        values, vectors = leading_eigenpairs(matrix, self.dim, self.seed, largest="absolute")
        scaled = vectors * np.sqrt(np.abs(values))
        return one_side("netmf", self, graph, scaled, np.sign(values))


def deepwalk_matrix(matrix: Any, window: int, negatives: float) -> NDArray[np.float32]:
    """Return log max(1, volume / (window negatives) (P + P^2 + ... + P^window) D^-1).

    D are the row sums of the symmetric adjacency A given, and P = D^-1 A.
    """
    degrees = matrix.sum(axis=1)
    # P^r D^-1 = D^-1/2 (D^-1/2 A D^-1/2)^r D^-1/2, which stays symmetric.
    normalised = matrices.normalise(matrix).astype(np.float32)
    power: NDArray[np.float32] = normalised.toarray()
    sums = power.copy()
    for _ in range(window - 1):
        power = normalised @ power
        sums += power
    scales = matrices.inverse_power(degrees, 0.5) * np.sqrt(degrees.sum() / (window * negatives))
    sums *= scales.astype(np.float32)[:, None]
    sums *= scales.astype(np.float32)
    np.maximum(sums, 1, out=sums)
    return np.log(sums, out=sums)


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
        scores = np.empty(len(sources), dtype=np.float32)
        for block in blocks(len(sources)):
            apart = self.positions[sources[block]] - self.positions[targets[block]]
            scores[block] = -np.linalg.norm(apart, axis=1)
        return scores

    def score_all_targets(self, sources: NodeIds) -> Scores:
        distances: Scores = cdist(self.positions[sources], self.positions).astype(np.float32)
        return -distances


class LaplacianEigenMaps(Method):
    """Places nodes by the lowest non-trivial eigenvectors of the graph Laplacian.

    By Belkin and Niyogi (2003): neighbours lie close together. The vectors solve L y = lambda D y
    on the undirected version of the graph, by way of the largest eigenvectors of
    I + D^-1/2 A D^-1/2, which needs only products with the adjacency. Those that separate the
    components of a graph come first. Isolated nodes are at the origin.

    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> near, far = LaplacianEigenMaps(dim=1).fit(path).score(np.array([0, 0]), np.array([1, 3]))
    >>> bool(near > far)
    True
    """

    dim: Dim = 32
    seed: Seed = 0

    def fit(self, graph: Graph) -> NodePositions:
        """Return the positions of all nodes."""
        matrix = matrices.undirected_adjacency(graph)
        degrees = matrix.sum(axis=1)
        positions = (
            self._eigenvectors(matrix, degrees) * matrices.inverse_power(degrees, 0.5)[:, None]
        )
        settings = describe_fit("eigenmaps", self, graph)
        return NodePositions(positions.astype(np.float32), graph.nodes, settings)

    def _eigenvectors(self, matrix: Any, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return orthonormal eigenvectors of D^-1/2 A D^-1/2, the trivial one left out."""
        normalised = matrices.normalise(matrix)
        trivial = np.sqrt(degrees / max(1.0, degrees.sum()))[:, None]

        def shifted(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            # Deflate the trivial vector, so that the solver finds the others.
            result: NDArray[np.float64] = vector + normalised @ vector
            result -= 2 * (trivial @ (trivial.T @ vector))
            return result

        operator = LinearOperator(matrix.shape, matvec=shifted, matmat=shifted, dtype=np.float64)
        return leading_eigenpairs(operator, self.dim, self.seed)[1]


def leading_eigenpairs(
    operator: Any, count: int, seed: int, *, largest: Literal["signed", "absolute"] = "signed"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a symmetric operator, descending, and their vectors.

    Shapes are (count,) and (n, count); zeros beyond the n-th.
    """
    operator = aslinearoperator(operator)
    num_nodes = operator.shape[0]
    start = np.random.default_rng(seed).standard_normal(num_nodes)
    if num_nodes <= max(_DENSE_NODES, 4 * count):
        values, vectors = np.linalg.eigh(operator @ np.eye(num_nodes))
    elif not (operator @ start).any():
        values, vectors = np.zeros(0), np.zeros((num_nodes, 0))
    else:
        which = "LA" if largest == "signed" else "LM"
        values, vectors = eigsh(operator, k=count, which=which, v0=start)
    order = np.argsort(-(values if largest == "signed" else np.abs(values)))[:count]
    return _pad(values[order], count), _pad(vectors[:, order], count)


def leading_singular_vectors(
    operator: Any, count: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the left vectors, the largest singular values, descending, and the right vectors.

    Shapes are (n, count), (count,) and (n, count); zeros beyond the n-th.
    """
    operator = aslinearoperator(operator)
    num_nodes = operator.shape[0]
    start = np.random.default_rng(seed).standard_normal(num_nodes)
    if num_nodes <= max(_DENSE_NODES, 4 * count):
        left, values, right = np.linalg.svd(operator @ np.eye(num_nodes))
    elif not (operator @ start).any():
        left, values, right = np.zeros((num_nodes, 0)), np.zeros(0), np.zeros((0, num_nodes))
    else:
        left, values, right = svds(operator, k=count, v0=start)
    order = np.argsort(-values)[:count]
    return _pad(left[:, order], count), _pad(values[order], count), _pad(right[order].T, count)


def _pad(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the array with its last axis filled up by zeros."""
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, count - values.shape[-1])])
