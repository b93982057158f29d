"""Approximate search for the best new edges, which scores only the most promising candidates.

This is an inverted file: candidates lie in clusters, and a query searches the best of them, as many
as a sample of nodes needs for the requested recall. Filters and known edges are applied during the
search. Nodes that would need much of the graph, or find too few candidates, are answered exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.graph.names import NodeIds
from arcvec.kernels.heaps import BestEdges, best_first, empty_heaps
from arcvec.recommendation import exact
from arcvec.recommendation.exact import Candidates, Direction
from arcvec.storage.arrays import load_array
from arcvec.storage.atomic import new_folder
from arcvec.storage.headers import read_header, verify_checksums, write_json

logger = logging.getLogger(__name__)

FORMAT, FORMAT_VERSION = "arcvec-index", 2
ARRAYS = ("probing", "starts", "tiles", "members")
PROBES = ("probes", "probes_without_popularity")

DEPTHS = (10, 100, 1000)  # in the unfiltered ranking of a node, at which probes are measured
RECALL = 0.97  # default fraction of the best candidates to find
SAMPLE = 400  # nodes whose exact answers decide the number of probes
EXACT_ABOVE = 0.25  # fraction of all clusters above which exact search is as fast
KMEANS_ROUNDS = 8
SAMPLE_PER_CLUSTER = 64
_BLOCK = 1 << 16
_OTHER: dict[Side, Side] = {"source": "target", "target": "source"}


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """The vectors of one side of all nodes, in clusters; made by `build_index`."""

    side: Side  # "target" serves both directions if scores are the same in both
    recall: float
    probing: Scores  # (clusters, d + 1), see `_probing_vectors`
    starts: NDArray[np.int64]  # (clusters + 1,) where the tiles of each cluster start
    tiles: Scores  # (t, d, LIST_TILE) the vectors, in columns; possibly memory-mapped
    members: NDArray[np.int32]  # (t, LIST_TILE) their nodes; -1 for padding
    probes: tuple[int, ...]  # clusters to search for each of `DEPTHS`
    probes_without_popularity: tuple[int, ...]  # at least as many, if popularity counts less

    @property
    def num_clusters(self) -> int:
        """Number of clusters, empty ones included."""
        return len(self.probing)

    def best_of(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates
    ) -> BestEdges:
        direction = candidates.direction
        if self.side != indexed_side(embeddings, direction):
            raise ValueError(
                f"expected an index for the direction {direction}, got one of {self.side} vectors; "
                f'build it with build_index(embeddings, "{direction}")'
            )
        best, scores = empty_heaps(len(ids), k)
        probes = self.probes if candidates.popularity == 1 else self.probes_without_popularity
        levels = self._levels(ids, k, candidates, probes)
        for level in np.unique(levels[levels < len(probes)]):
            rows = np.flatnonzero(levels == level)
            best[rows], scores[rows] = self._probe(
                embeddings, ids[rows], k, candidates, probes[level]
            )
        short = np.flatnonzero(best[:, -1] < 0)
        if short.size:
            best[short], scores[short] = exact.EXACT.best_of(embeddings, ids[short], k, candidates)
        return best, scores

    def _levels(
        self, ids: NodeIds, k: int, candidates: Candidates, probes: tuple[int, ...]
    ) -> NDArray[np.int64]:
        """Return which of `DEPTHS` each node needs; their number if none is deep enough."""
        num_skipped = candidates.known.out_degrees[ids] + 1
        # With one candidate in ten allowed, the best 10 are about the best 100 of all.
        share = candidates.ids.size / max(1, len(candidates.known.nodes))
        depths = (k + num_skipped) / max(share, 1e-9)
        # Exact search scores only allowed candidates, so compare with that share of all clusters.
        few = sum(count <= EXACT_ABOVE * share * self.num_clusters for count in probes)
        # A depth up to twice that of a level is not worth the next one, ten times as deep.
        levels = np.searchsorted(2 * np.array(DEPTHS), depths)
        return np.where(levels < few, levels, len(probes))

    def _probe(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates, probes: int
    ) -> BestEdges:
        from arcvec.kernels.topk import keep_best_of_lists

        queries = candidates.queries(embeddings, ids, _OTHER[self.side])
        lists, _ = exact.best_vectors(_probing_queries(queries), self.probing, probes)
        best, scores = empty_heaps(len(ids), k)
        index = self.starts, self.tiles, self.members
        known = candidates.known.indptr, candidates.known.indices
        queries = exact.padded_vectors(queries)
        keep_best_of_lists(queries, ids, lists, *index, candidates.allowed, known, scores, best)
        return best_first(best, scores, k)


def indexed_side(embeddings: EdgeEmbeddings, direction: Direction) -> Side:
    """Return the side whose vectors an index for a direction holds."""
    return "target" if embeddings.is_symmetric or direction == "targets" else "source"


def build_index(
    embeddings: EdgeEmbeddings,
    direction: Direction = "targets",
    *,
    recall: float = RECALL,
    seed: int = 0,
) -> VectorIndex:
    """Return an index for `recommend`, in one direction."""
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
    probing = _probing_vectors(vectors, clusters, num_clusters)
    sample = np.random.default_rng(seed).permutation(len(vectors))[:SAMPLE]
    queries = embeddings.vectors(_OTHER[side], sample)

    def needed_probes(queries: Scores) -> Iterator[int]:
        order = np.argsort(-(_probing_queries(queries) @ probing.T), axis=1, kind="stable")
        ranks = np.argsort(order, axis=1)
        for depth in DEPTHS:
            best, _ = exact.best_vectors(queries, vectors, min(depth, len(vectors)))
            needed = np.take_along_axis(ranks, clusters[best], axis=1)
            yield 1 + int(np.quantile(needed, recall, method="higher"))

    probes = tuple(needed_probes(queries))
    without = needed_probes(queries - embeddings.mean_vectors[_OTHER[side]])
    tiles = _cluster_tiles(vectors, clusters, num_clusters)
    return VectorIndex(side, recall, probing, *tiles, probes, tuple(map(max, probes, without)))


def open_index(
    result: str | Path,
    embeddings: EdgeEmbeddings,
    direction: Direction = "targets",
    *,
    recall: float | None = None,
) -> VectorIndex:
    """Return the index in a result folder; it is built first if none fits vectors and recall.

    By default any recall fits, and .97 is used to build.
    """
    side = indexed_side(embeddings, direction)
    folder = index_folder(result, side)
    fingerprint = embeddings.fingerprint(side)
    if folder.exists():
        try:
            return _load(folder, side, fingerprint, recall)
        except (ValueError, OSError) as error:
            logger.info("the index is built again: %s", error)
    index = build_index(embeddings, direction, recall=RECALL if recall is None else recall)
    try:
        _save(index, folder, fingerprint)
    except OSError as error:  # a read-only result can still be searched
        logger.info("the index is not kept: %s", error)
        return index
    return _load(folder, side, fingerprint, recall)


def index_folder(result: str | Path, side: Side) -> Path:
    """Return where in a result folder the index of one side is."""
    return Path(result) / f"index-{side}"


def _save(index: VectorIndex, folder: Path, fingerprint: str) -> None:
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, "side": index.side}
    header |= {"vectors": fingerprint, "recall": index.recall, "depths": DEPTHS}
    header |= {name: getattr(index, name) for name in PROBES}
    with new_folder(folder, overwrite=True) as partial:
        for name in ARRAYS:
            np.save(partial / f"{name}.npy", getattr(index, name), allow_pickle=False)
        write_json(partial / "meta.json", header)


def _load(folder: Path, side: Side, fingerprint: str, recall: float | None) -> VectorIndex:
    verify_checksums(folder)
    keys = ["vectors", "recall", "depths", *PROBES]
    header = read_header(folder / "meta.json", FORMAT, [FORMAT_VERSION], keys)
    wanted = {"vectors": fingerprint, "depths": list(DEPTHS), "recall": recall or header["recall"]}
    for key, value in wanted.items():
        if header[key] != value:
            raise ValueError(f"{folder}: made for other {key}: {header[key]}, expected {value}")
    arrays = {name: load_array(folder / f"{name}.npy") for name in ARRAYS}
    probes: dict[str, Any] = {name: tuple(header[name]) for name in PROBES}
    return VectorIndex(side, header["recall"], **(arrays | probes))


def cluster(vectors: Scores, num_clusters: int, seed: int = 0) -> NDArray[np.int32]:
    """Return the cluster of every vector: (n,) int32, by spherical k-means."""
    generator = np.random.default_rng(seed)
    lengthened = equally_long(vectors)  # turns the largest product into the smallest angle
    size = min(len(vectors), num_clusters * SAMPLE_PER_CLUSTER)
    sample = lengthened[np.sort(generator.choice(len(vectors), size, replace=False))]
    centres = sample[generator.choice(size, num_clusters, replace=False)]
    for _ in range(KMEANS_ROUNDS):
        nearest = _nearest(sample, centres)
        centres = _means(sample, nearest, num_clusters)
        # Clusters without members restart at random vectors.
        empty = np.flatnonzero(np.bincount(nearest, minlength=num_clusters) == 0)
        centres[empty] = sample[generator.integers(size, size=empty.size)]
    return _nearest(lengthened, centres)


def equally_long(vectors: Scores, squared_norm: float | None = None) -> Scores:
    """Return vectors with one more coordinate that gives all the norm of the longest, or one given.

    Inner products with a query that has 0 there do not change.
    """
    squares = squared_norms(vectors)
    longest = squares.max(initial=0) if squared_norm is None else squared_norm
    # Rounding may leave the longest vector itself below zero.
    missing = np.sqrt(np.maximum(longest - squares, 0))
    return np.column_stack([vectors, missing]).astype(np.float32)


def squared_norms(vectors: Scores) -> NDArray[np.float64]:
    """Return the squared norm of each vector."""
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return squares


def _probing_vectors(vectors: Scores, clusters: NDArray[np.int32], num_clusters: int) -> Scores:
    """Return a vector per cluster whose product with `_probing_queries` ranks the clusters."""
    means = _means(vectors, clusters, num_clusters)
    counts = np.maximum(np.bincount(clusters, minlength=num_clusters), 1)
    squares = np.bincount(clusters, squared_norms(vectors), num_clusters) / counts
    variances = np.maximum(squares - squared_norms(means), 0) / max(1, vectors.shape[1])
    # A wide cluster may hold a large product despite a small mean.
    return np.column_stack([means, 2 * np.sqrt(variances)]).astype(np.float32)


def _probing_queries(queries: Scores) -> Scores:
    return np.column_stack([queries, np.linalg.norm(queries, axis=1)]).astype(np.float32)


def _cluster_tiles(
    vectors: Scores, clusters: NDArray[np.int32], num_clusters: int
) -> tuple[NDArray[np.int64], Scores, NDArray[np.int32]]:
    """Return where the tiles of each cluster start, the tiles, and the nodes in them."""
    from arcvec.kernels.topk import LIST_TILE

    counts = np.bincount(clusters, minlength=num_clusters)
    starts = np.concatenate([[0], np.cumsum(-(-counts // LIST_TILE))])
    order = np.argsort(clusters, kind="stable")
    # The offset of a node is that of its cluster plus its own within the cluster.
    inside = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = np.repeat(starts[:-1] * LIST_TILE, counts) + inside
    members = np.full(starts[-1] * LIST_TILE, -1, dtype=np.int32)
    members[offsets] = order
    laid_out = np.zeros((members.size, vectors.shape[1]), dtype=np.float32)
    laid_out[offsets] = vectors[order]
    return starts, exact.as_tiles(laid_out, LIST_TILE), members.reshape(-1, LIST_TILE)


def _nearest(vectors: Scores, centres: Scores) -> NDArray[np.int32]:
    norms = np.linalg.norm(centres, axis=1, keepdims=True)
    directions = (centres / np.where(norms > 0, norms, 1)).astype(np.float32)
    blocks = (vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK))
    return np.concatenate([exact.best_vectors(block, directions, 1)[0][:, 0] for block in blocks])


def _means(vectors: Scores, clusters: NDArray[np.int32], num_clusters: int) -> Scores:
    counts = np.maximum(np.bincount(clusters, minlength=num_clusters), 1)
    sums = [np.bincount(clusters, column, num_clusters) for column in vectors.T]
    return (np.stack(sums, axis=1) / counts[:, None]).astype(np.float32)
