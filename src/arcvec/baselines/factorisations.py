"""Vectors from the singular vectors or eigenvectors of one matrix: SVD, HOPE, STRAP and NetMF."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh, svds

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph import matrices
from arcvec.graph.graph import Graph
from arcvec.method import Dim, EvenDim, MaxNodes, Method, Seed, one_side, two_sides

# Up to this size, or four times the number of vectors, a dense solver is as quick, and exact.
_DENSE_NODES = 256
_HOPE_PRECISION = 1e-8
_STRAP_ROWS = 1024


class Factorisation(Method):
    """Base of methods that factorise one matrix M of the graph, M = U S V^T, into two sides.

    The score is U S^`exponent` V^T, cut to dim / 2 singular values.
    """

    name: ClassVar[str]

    dim: EvenDim = 32
    seed: Seed = 0

    @property
    def exponent(self) -> float:
        """Exponent of the singular values in the score."""
        return 1.0

    @abstractmethod
    def matrix(self, graph: Graph) -> Any:
        """Return what is factorised: anything scipy takes for a (num_nodes, num_nodes) matrix."""

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        left, values, right = leading_singular_vectors(self.matrix(graph), self.dim // 2, self.seed)
        shares = values ** (self.exponent / 2)
        return two_sides(self.name, self, graph, left * shares, right * shares)


class NormalisedSVD(Factorisation):
    """Factorises D_out^-1/2 A D_in^-1/2 = U S V^T and scores edges by U S^power V^T.

    With power 3 the score is the low-rank version of degree-normalised paths u -> x <- y -> v.

    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> embeddings = NormalisedSVD(dim=2).fit(star)
    >>> embeddings.score(np.array([0, 1]), np.array([1, 2])).round(3)
    array([0.577, 0.   ], dtype=float32)
    """

    name: ClassVar[str] = "svd"
    power: float = Field(3.0, gt=0, description="exponent of the singular values in the score")

    @property
    def exponent(self) -> float:
        """The power."""
        return self.power

    def matrix(self, graph: Graph) -> Any:
        """Return the normalised adjacency."""
        return matrices.normalise(matrices.adjacency(graph))


class HOPE(Factorisation):
    """Factorises (I - beta A)^-1 beta A: Katz's measure over walks of any length (Ou et al., 2016).

    The matrix is never built: the solver multiplies with it as a series in A, cut where the rest
    is negligible. beta is a part of 1 / ||A||, so the series always converges.
    """

    name: ClassVar[str] = "hope"
    decay: float = Field(
        0.9, gt=0, lt=1, description="beta times the largest singular value of the adjacency"
    )

    def matrix(self, graph: Graph) -> Any:
        """Return the operator x -> (beta A + beta^2 A^2 + ...) x."""
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

        return LinearOperator(
            matrix.shape,
            matvec=lambda vector: series(forward, vector),
            rmatvec=lambda vector: series(backward, vector),
            matmat=lambda vectors: series(forward, vectors),
            dtype=np.float64,
        )


class STRAP(Factorisation):
    """Factorises log of the personalised PageRank of the graph plus that of its transpose.

    By Yin and Wei (2019). The entry of u and v is the probability that a walk from u along
    out-edges ends at v, plus that of a walk from v along in-edges ending at u, or 0 if small.
    """

    name: ClassVar[str] = "strap"
    stop: float = Field(0.5, gt=0, lt=1, description="probability that a walk ends at a node")
    smallest: float = Field(
        1e-4,
        gt=0,
        lt=1,
        description="probabilities below this count as none; "
        "1e-5, the authors' choice, is a little better for four times the memory",
    )

    def matrix(self, graph: Graph) -> Any:
        """Return the logarithms, sparse."""
        matrix = matrices.adjacency(graph)
        ends = walk_ends(matrix, self.stop, self.smallest / 2)
        ends = ends + walk_ends(matrix.T.tocsr(), self.stop, self.smallest / 2).T
        ends.data = np.log(np.maximum(ends.data / (self.smallest / 2), 1))
        if graph.num_edges == 0:  # every walk ends where it starts, which says nothing
            ends.data[:] = 0
        return ends


def walk_ends(matrix: Any, stop: float, tolerance: float) -> Any:
    """Return the personalised PageRank of each row's node at each column's: sparse (n, n).

    A walk ends at every node with probability `stop`, and always at a node without out-edges.
    Probabilities below `tolerance` of being at a node after some step are not followed.
    """
    num_nodes = matrix.shape[0]
    onward = matrices.transitions(matrix) * (1 - stop)
    ends = diags_array(np.where(np.diff(matrix.indptr) > 0, stop, 1.0))
    blocks = [csr_array((0, num_nodes))]
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
        blocks.append(block)
    return vstack(blocks, format="csr")


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
