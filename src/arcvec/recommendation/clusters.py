"""Vectors in clusters, such that large inner products are found in few of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import Scores
from arcvec.recommendation.search import best_vectors

ROUNDS = 8
SAMPLE_PER_CLUSTER = 64
_BLOCK = 1 << 16


def cluster(vectors: Scores, num_clusters: int, seed: int = 0) -> NDArray[np.int32]:
    """Return the cluster of every vector: (n,) int32, by spherical k-means.

    An inner product is no distance: near vectors may have very different ones if one is longer. A
    coordinate more makes all vectors equally long and changes no product with a query that has 0
    there; then the largest product is the smallest angle, and clusters of small angles serve.
    """
    generator = np.random.default_rng(seed)
    lengthened = equally_long(vectors)
    size = min(len(vectors), num_clusters * SAMPLE_PER_CLUSTER)
    sample = lengthened[np.sort(generator.choice(len(vectors), size, replace=False))]
    centres = sample[generator.choice(size, num_clusters, replace=False)]
    for _ in range(ROUNDS):
        nearest = _nearest(sample, centres)
        centres = _means(sample, nearest, num_clusters)
        # A cluster that lost all its members starts again somewhere.
        lost = np.flatnonzero(np.bincount(nearest, minlength=num_clusters) == 0)
        centres[lost] = sample[generator.integers(size, size=lost.size)]
    return _nearest(lengthened, centres)


def probing_vectors(vectors: Scores, clusters: NDArray[np.int32], num_clusters: int) -> Scores:
    """Return a vector for each cluster whose product with `probing_queries` says how much it holds.

    It is the mean product of its members and two of their standard deviations, as if members were
    spread alike in every direction: a wide cluster may hold a large product though its mean is
    small. Of an empty cluster everything is 0.
    """
    means = _means(vectors, clusters, num_clusters)
    squares = np.zeros(num_clusters)
    for start in range(0, len(vectors), _BLOCK):
        block = slice(start, start + _BLOCK)
        far = vectors[block] - means[clusters[block]]
        squares += np.bincount(clusters[block], np.einsum("ij,ij->i", far, far), num_clusters)
    counts = np.maximum(np.bincount(clusters, minlength=num_clusters), 1)
    deviations = np.sqrt(squares / counts / max(1, vectors.shape[1]))
    return np.column_stack([means, 2 * deviations]).astype(np.float32)


def probing_queries(queries: Scores) -> Scores:
    """Return the queries to compare with `probing_vectors`: each with its own length beside it."""
    return np.column_stack([queries, np.linalg.norm(queries, axis=1)]).astype(np.float32)


def equally_long(vectors: Scores) -> Scores:
    """Return vectors with a coordinate more that makes all as long as the longest."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    # What rounding leaves below zero is the longest vector itself.
    missing = np.sqrt(np.maximum(squares.max(initial=0) - squares, 0))
    return np.column_stack([vectors, missing]).astype(np.float32)


def _nearest(vectors: Scores, centres: Scores) -> NDArray[np.int32]:
    norms = np.linalg.norm(centres, axis=1, keepdims=True)
    directions = (centres / np.where(norms > 0, norms, 1)).astype(np.float32)
    blocks = (vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK))
    return np.concatenate([best_vectors(block, directions, 1)[0][:, 0] for block in blocks])


def _means(vectors: Scores, clusters: NDArray[np.int32], num_clusters: int) -> Scores:
    counts = np.maximum(np.bincount(clusters, minlength=num_clusters), 1)
    sums = [np.bincount(clusters, column, num_clusters) for column in vectors.T]
    return (np.stack(sums, axis=1) / counts[:, None]).astype(np.float32)
