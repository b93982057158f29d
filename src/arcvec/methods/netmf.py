"""NetMF (Qiu et al., 2018): the matrix that skip-gram on walks factorises, factorised directly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method


class NetMF(Method):
    """Factorises the truncated logarithm of DeepWalk's co-occurrences; symmetric scores.

    On the undirected version of the graph, as walks of any length are needed to be stationary. The
    score is the best rank-`dim` approximation of the matrix, negative eigenvalues included. The
    matrix is dense: larger graphs than `max_nodes` are refused.
    """

    dim: int = Field(32, ge=1, description="numbers stored per node")
    seed: int = Field(0, ge=0, description="decides where the eigensolver starts")
    window: int = Field(10, ge=1, description="largest distance in a walk between nodes of a pair")
    negatives: float = Field(1.0, gt=0, description="negatives per pair of the skip-gram imitated")
    max_nodes: int = Field(
        20_000, ge=1, description="refuse larger graphs; the memory is 12 bytes x max_nodes^2"
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes.

        Raises:
            ValueError: the graph has more nodes than `max_nodes`.
        """
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import leading_eigenpairs, refuse_above, undirected_adjacency

        refuse_above(self.max_nodes, graph, "NetMF factorises")
        matrix = deepwalk_matrix(undirected_adjacency(graph), self.window, self.negatives)
        values, vectors = leading_eigenpairs(matrix, self.dim, self.seed, largest="absolute")
        return EdgeEmbeddings.one_vector(
            (vectors * np.sqrt(np.abs(values))).astype(np.float32),
            np.sign(values),
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("netmf", self, graph),
        )


def deepwalk_matrix(matrix: Any, window: int, negatives: float) -> NDArray[np.float32]:
    """Return log max(1, volume / (window negatives) (P + P^2 + ... + P^window) D^-1).

    Args:
        matrix: sparse symmetric adjacency A, (n, n); D are its row sums and P = D^-1 A.

    Returns:
        (n, n) float32; zeros in the rows of nodes without edges.
    """
    from arcvec.methods.spectral import inverse_power, normalise

    degrees = matrix.sum(axis=1)
    # P^r D^-1 = D^-1/2 (D^-1/2 A D^-1/2)^r D^-1/2, which stays symmetric.
    normalised = normalise(matrix).astype(np.float32)
    power: NDArray[np.float32] = normalised.toarray()
    sums = power.copy()
    for _ in range(window - 1):
        power = normalised @ power
        sums += power
    scales = inverse_power(degrees, 0.5) * np.sqrt(degrees.sum() / (window * negatives))
    sums *= scales.astype(np.float32)[:, None]
    sums *= scales.astype(np.float32)
    np.maximum(sums, 1, out=sums)
    return np.log(sums, out=sums)
