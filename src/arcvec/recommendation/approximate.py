"""The best new edges of a node, nearly always: only the candidates likely to score high are scored.

Candidates lie in clusters (see `clusters`), and a query looks through those that promise most: a
list of vectors per cluster, an inverted file. How many clusters that takes is not guessed: when the
index is built, the exact answers of some hundred nodes tell behind how many clusters the asked part
of them is found, at several depths. Whatever is scored is scored exactly, filters and known edges
are passed over on the way, and nodes for which this would look through much of the graph, or find
too little, are answered exactly.

Why none of the libraries that build such indexes: `benchmarks/topk.py` measures them beside this.
A graph of near neighbours (usearch, hnswlib, faiss) over inner products stays below .9 recall on
vectors of soc-epinions, for long vectors are everybody's neighbours; over equally long vectors it
reaches .97, at a third of the rate and after several times the time to build. The inverted file of
faiss is nearer, at two thirds. And none knows of edges that are known already: how many of them
come first must be guessed, and asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.graph.names import NodeIds
from arcvec.recommendation import exact
from arcvec.recommendation.candidates import Candidates, Direction
from arcvec.recommendation.clusters import cluster, probing_queries, probing_vectors
from arcvec.recommendation.search import (
    as_tiles,
    best_first,
    best_vectors,
    empty_heaps,
    padded_vectors,
)

DEPTHS = (10, 100, 1000)
"""How far down the unfiltered ranking of a node the index can be asked to go."""

RECALL = 0.97
"""The part of the best candidates that is to be found by default."""

SAMPLE = 400
"""Nodes whose exact answers tell how many clusters to look through."""

EXACT_ABOVE = 0.25
"""Past this part of all clusters the exact way is as fast."""


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """The vectors of one side of all nodes, in clusters; made by `build_index`.

    Attributes:
        side: whose vectors these are: of the targets, to be found for sources, or of the sources.
            Where scores are the same in both directions, the targets serve for both.
        recall: the part of the best candidates that is to be found, from 0 to 1.
        probing: (clusters, d + 1) float32, see `probing_vectors`.
        starts: (clusters + 1,) int64, where the tiles of each cluster start.
        tiles: (t, d, LIST_TILE) float32, the vectors, in columns; possibly memory-mapped.
        members: (t, LIST_TILE) int32, their nodes; -1 for padding.
        probes: clusters to look through for each of `DEPTHS`.
    """

    side: Side
    recall: float
    probing: Scores
    starts: NDArray[np.int64]
    tiles: Scores
    members: NDArray[np.int32]
    probes: tuple[int, ...]

    @property
    def num_clusters(self) -> int:
        """Clusters, empty ones included."""
        return len(self.probing)

    def best_of(
        self,
        embeddings: EdgeEmbeddings,
        ids: NodeIds,
        k: int,
        candidates: Candidates,
        direction: Direction,
    ) -> tuple[NDArray[np.int32], Scores]:
        """Return the answers of `top_k` for a few nodes at once, some perhaps missed.

        Raises:
            ValueError: the index holds the other side.
        """
        if self.side != indexed_side(embeddings, direction):
            raise ValueError(
                f"expected an index for the direction {direction}, got one of {self.side} vectors; "
                f'build it with build_index(embeddings, "{direction}")'
            )
        best = np.full((len(ids), k), -1, dtype=np.int32)
        scores = np.full((len(ids), k), -np.inf, dtype=np.float32)
        levels = self._levels(ids, k, candidates)
        for level in np.unique(levels[levels < len(self.probes)]):
            rows = np.flatnonzero(levels == level)
            best[rows], scores[rows] = self._probe(
                embeddings, ids[rows], k, candidates, self.probes[level]
            )
        short = np.flatnonzero(best[:, -1] < 0)
        if short.size:
            best[short], scores[short] = exact.best_of(
                embeddings, ids[short], k, candidates, direction
            )
        return best, scores

    def _levels(self, ids: NodeIds, k: int, candidates: Candidates) -> NDArray[np.int64]:
        """Return for each node which of the depths it needs; past the last one: none will do."""
        passed_over = candidates.known.out_degrees[ids] + 1
        # With one candidate in ten allowed, the best 10 are about the best 100 of all.
        share = candidates.ids.size / max(1, len(candidates.known.nodes))
        depths = (k + passed_over) / max(share, 1e-9)
        # Exactly, only what is allowed is scored: few clusters must be few beside that, too.
        few = sum(probes <= EXACT_ABOVE * share * self.num_clusters for probes in self.probes)
        # A dozen is not worth the next level, with its ten times as many.
        levels = np.searchsorted(2 * np.array(DEPTHS), depths)
        return np.where(levels < few, levels, len(self.probes))

    def _probe(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates, probes: int
    ) -> tuple[NDArray[np.int32], Scores]:
        from arcvec.kernels.lists import keep_best_of_lists

        queries = embeddings.vectors(other_side(self.side), ids)
        lists, _ = best_vectors(probing_queries(queries), self.probing, probes)
        best, scores = empty_heaps(len(ids), k)
        known = candidates.known
        keep_best_of_lists(
            padded_vectors(queries),
            ids,
            lists,
            self.starts,
            self.tiles,
            self.members,
            candidates.allowed,
            (known.indptr, known.indices),
            scores,
            best,
        )
        return best_first(best, scores, k)


def indexed_side(embeddings: EdgeEmbeddings, direction: Direction) -> Side:
    """Return whose vectors an index for a direction holds."""
    symmetric = not embeddings.directed or embeddings.weights is not None
    return "target" if symmetric or direction == "targets" else "source"


def other_side(side: Side) -> Side:
    """Return the source of the target, the target of the source."""
    return "source" if side == "target" else "target"


def build_index(
    embeddings: EdgeEmbeddings,
    direction: Direction = "targets",
    *,
    recall: float = RECALL,
    seed: int = 0,
) -> VectorIndex:
    """Return an index for `recommend`, in one direction.

    >>> vectors = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    >>> from arcvec.graph.names import NodeNames
    >>> embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.numbered(500))
    >>> names, scores = exact.recommend(embeddings, ["7"], index=build_index(embeddings))

    Args:
        recall: the part of the best candidates that is to be found, from .5 to .999.

    Raises:
        ValueError: there are no vectors, or a number in them is not finite.
    """
    if not 0.5 <= recall <= 0.999:
        raise ValueError(f"expected a recall from 0.5 to 0.999, got {recall}")
    side = indexed_side(embeddings, direction)
    vectors = embeddings.vectors(side)
    if not len(vectors) or not np.isfinite(vectors).all():
        raise ValueError(
            f"expected finite {side} vectors of at least one node to build an index, got "
            f"{len(vectors)} nodes; fit the result again"
        )
    num_clusters = max(1, min(round(4 * len(vectors) ** 0.5), len(vectors) // 16))
    clusters = cluster(vectors, num_clusters, seed)
    probing = probing_vectors(vectors, clusters, num_clusters)
    sample = np.random.default_rng(seed).permutation(len(vectors))[:SAMPLE]
    queries = embeddings.vectors(other_side(side), sample)
    probes = [_probes(queries, vectors, clusters, probing, depth, recall) for depth in DEPTHS]
    return VectorIndex(side, recall, probing, *_lists(vectors, clusters, num_clusters), (*probes,))


def _probes(
    queries: Scores,
    vectors: Scores,
    clusters: NDArray[np.int32],
    probing: Scores,
    depth: int,
    recall: float,
) -> int:
    """Return how many clusters must be looked through to find that part of the best `depth`."""
    best, _ = best_vectors(queries, vectors, min(depth, len(vectors)))
    order = np.argsort(-(probing_queries(queries) @ probing.T), axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(order.shape[1])[None, :], axis=1)
    needed = np.take_along_axis(places, clusters[best], axis=1)
    return 1 + int(np.quantile(needed, recall, method="higher"))


def _lists(
    vectors: Scores, clusters: NDArray[np.int32], num_clusters: int
) -> tuple[NDArray[np.int64], Scores, NDArray[np.int32]]:
    """Return where the tiles of each cluster start, the tiles, and whose vectors they hold."""
    from arcvec.kernels.lists import LIST_TILE

    counts = np.bincount(clusters, minlength=num_clusters)
    starts = np.concatenate([[0], np.cumsum(-(-counts // LIST_TILE))])
    order = np.argsort(clusters, kind="stable")
    # The place of a node: that of its cluster, and its own among the nodes of the cluster.
    first_of_cluster = np.cumsum(counts) - counts
    inside = np.arange(len(order)) - np.repeat(first_of_cluster, counts)
    places = np.repeat(starts[:-1] * LIST_TILE, counts) + inside
    members = np.full(starts[-1] * LIST_TILE, -1, dtype=np.int32)
    members[places] = order
    laid_out = np.zeros((members.size, vectors.shape[1]), dtype=np.float32)
    laid_out[places] = vectors[order]
    return starts, as_tiles(laid_out, LIST_TILE), members.reshape(-1, LIST_TILE)


def measured_recall(found: NDArray[np.int32], exact_answers: NDArray[np.int32]) -> float:
    """Return which part of the exact answers, (q, k) ids, was found; -1 counts on neither side."""
    hits: Sequence[int] = [
        np.intersect1d(row[row >= 0], other[other >= 0]).size
        for row, other in zip(found, exact_answers, strict=True)
    ]
    return sum(hits) / max(1, int((exact_answers >= 0).sum()))
