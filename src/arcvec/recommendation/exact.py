"""The best new edges of a node, exactly unless an index is given: every candidate is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds
from arcvec.recommendation.candidates import Candidates, Direction, known_ids, only_ids
from arcvec.recommendation.search import as_tiles, best_first, empty_heaps, padded_vectors

if TYPE_CHECKING:
    from arcvec.recommendation.approximate import VectorIndex

ROWS = 4096
"""Nodes answered at once."""

COLUMNS = 1 << 16
"""Candidates laid out at once: 4 MB with 16 coordinates."""


def recommend(
    embeddings: EdgeEmbeddings,
    nodes: Iterable[object],
    k: int = 10,
    *,
    exclude: Graph | None = None,
    only: Iterable[object] | None = None,
    without: Iterable[object] | None = None,
    direction: Direction = "targets",
    index: VectorIndex | LaidOut | None = None,
) -> tuple[NDArray[np.object_], Scores]:
    """Return the names and scores of the k best new edges of each node, best first.

    >>> from arcvec.graph.names import NodeNames
    >>> vectors = np.array([[3, 1], [2, 0], [1, 0]], dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abc"))
    >>> recommend(embeddings, ["c"], k=2)
    (array([['a', 'b']], dtype=object), array([[3., 2.]], dtype=float32))

    Args:
        nodes: names of the q nodes asked about.
        exclude: graph whose edges are known already and not recommended again.
        only: names of the nodes that may be recommended; all by default.
        without: names of nodes that may not. Names that no node has are passed over in both lists,
            and their number is logged.
        index: of `open_index`, to answer many times faster and nearly always right; or `LaidOut`,
            to answer many times about few nodes, exactly.

    Returns:
        (q, k) names and (q, k) float32 scores; "" and -inf where there are fewer candidates.

    Raises:
        KeyError: a name among those asked about is unknown.
        ValueError: all names in `only` are unknown.
    """
    best, scores = top_k(
        embeddings,
        embeddings.nodes.ids(nodes),
        k,
        exclude=exclude,
        only=only_ids(embeddings.nodes, only, "only"),
        without=known_ids(embeddings.nodes, without, "without"),
        direction=direction,
        index=index,
    )
    return embeddings.nodes.at(best), scores


def top_k(
    embeddings: EdgeEmbeddings,
    ids: NodeIds,
    k: int,
    *,
    exclude: Graph | None = None,
    only: NodeIds | None = None,
    without: NodeIds | None = None,
    direction: Direction = "targets",
    index: VectorIndex | LaidOut | None = None,
) -> tuple[NDArray[np.int32], Scores]:
    """Return the ids and scores of the k best new edges of each node, best first.

    A node is never recommended to itself. Equal scores are in ascending order of ids; which of them
    are among the best is decided in that order too, unless an index is given.

    Args:
        ids: (q,) nodes asked about.
        exclude: graph whose edges are known already; nodes are matched by name.
        only: ids of the nodes that may be recommended; all by default.
        without: ids of nodes that may not.

    Returns:
        (q, k) int32 ids and (q, k) float32 scores; -1 and -inf where there are fewer candidates.
    """
    candidates = Candidates.of(
        embeddings.nodes, direction, exclude=exclude, only=only, without=without
    )
    blocks = top_k_blocks(
        embeddings, k, ids=ids, candidates=candidates, direction=direction, index=index
    )
    best_ids = np.empty((len(ids), k), dtype=np.int32)
    best_scores = np.empty((len(ids), k), dtype=np.float32)
    for i, (_, found, scores) in enumerate(blocks):
        rows = slice(i * ROWS, (i + 1) * ROWS)
        best_ids[rows], best_scores[rows] = found, scores
    return best_ids, best_scores


def top_k_blocks(
    embeddings: EdgeEmbeddings,
    k: int,
    *,
    ids: NodeIds | None = None,
    candidates: Candidates | None = None,
    direction: Direction = "targets",
    index: VectorIndex | LaidOut | None = None,
) -> Iterator[tuple[NodeIds, NDArray[np.int32], Scores]]:
    """Return an iterator over the answers of `top_k`, block by block, in bounded memory.

    Args:
        ids: (q,) nodes asked about; by default all nodes.
        candidates: what may be recommended, in the same direction; by default all nodes.

    Returns:
        Triples: (b,) ids of the next nodes, (b, k) ids and (b, k) scores of their best edges.
    """
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    chosen = candidates or Candidates.of(embeddings.nodes, direction)
    asked = np.arange(len(embeddings.nodes)) if ids is None else np.asarray(ids)
    blocks = (asked[start : start + ROWS] for start in range(0, asked.size, ROWS))
    find = best_of if index is None else index.best_of
    return ((block, *find(embeddings, block, k, chosen, direction)) for block in blocks)


@dataclass(frozen=True, eq=False)
class LaidOut:
    """All nodes laid out for the kernel once and for all, for many small searches.

    To lay out a hundred thousand nodes takes longer than to search them for a dozen.

    Attributes:
        tiles: the vectors of all nodes as the kernel reads them, by direction.
    """

    tiles: Mapping[Direction, Scores]

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings) -> LaidOut:
        """Lay out the nodes of a result."""
        from arcvec.kernels.topk import TILE

        directions: tuple[Direction, ...] = ("targets", "sources")
        return cls(
            {
                direction: as_tiles(embeddings.vectors(_offered_side(direction)), TILE)
                for direction in directions
            }
        )

    def best_of(
        self,
        embeddings: EdgeEmbeddings,
        ids: NodeIds,
        k: int,
        candidates: Candidates,
        direction: Direction,
    ) -> tuple[NDArray[np.int32], Scores]:
        """Return what the function `best_of` does."""
        if candidates.ids.size < len(embeddings.nodes):
            return best_of(embeddings, ids, k, candidates, direction)
        laid_out = [(candidates.ids, self.tiles[direction])]
        return _best_among(laid_out, embeddings, ids, k, candidates, direction)


def best_of(
    embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates, direction: Direction
) -> tuple[NDArray[np.int32], Scores]:
    """Return the answers of `top_k` for a few nodes at once."""
    from arcvec.kernels.topk import TILE

    starts = range(0, candidates.ids.size, COLUMNS)
    blocks = (candidates.ids[start : start + COLUMNS] for start in starts)
    side = _offered_side(direction)
    laid_out = ((some, as_tiles(embeddings.vectors(side, some), TILE)) for some in blocks)
    return _best_among(laid_out, embeddings, ids, k, candidates, direction)


def _best_among(
    laid_out: Iterable[tuple[NDArray[np.int32], Scores]],
    embeddings: EdgeEmbeddings,
    ids: NodeIds,
    k: int,
    candidates: Candidates,
    direction: Direction,
) -> tuple[NDArray[np.int32], Scores]:
    """Return the best of the candidates, which come in ascending order of ids, in tiles."""
    from arcvec.kernels.topk import keep_best

    mine: Side = "source" if direction == "targets" else "target"
    known = candidates.known
    best, scores = empty_heaps(len(ids), min(k, candidates.ids.size))
    queries = padded_vectors(embeddings.vectors(mine, ids))
    for some, tiles in laid_out:
        keep_best(queries, ids, tiles, some, known.indptr, known.indices, scores, best)
    return best_first(best, scores, k)


def _offered_side(direction: Direction) -> Side:
    return "target" if direction == "targets" else "source"
