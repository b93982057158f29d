"""The best new edges of a node: which are allowed, and all of these scored without an index."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import SIDES, EdgeEmbeddings, Scores, Side
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.heaps import BestEdges, best_first, empty_heaps

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["targets", "sources"]
"""Which end is recommended: nodes to link to, or nodes that would link to the given one."""

ROWS = 4096  # nodes answered at once
COLUMNS = 1 << 16  # candidates laid out at once: 4 MB with 16 coordinates


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that may be recommended, and for each node those that it is not offered."""

    direction: Direction
    allowed: NDArray[np.bool_]  # (num_nodes,), whether a node may be recommended at all
    known: Graph  # the row of a node holds the candidates to skip
    popularity: float = 1  # how much that of a candidate counts: 1 as trained, 0 not at all

    @classmethod
    def of(
        cls,
        nodes: NodeNames,
        direction: Direction,
        *,
        exclude: Graph | None = None,
        only: NodeIds | None = None,
        without: NodeIds | None = None,
        popularity: float = 1,
    ) -> Candidates:
        """Return the candidates among `nodes` that pass all filters.

        Args:
            exclude: graph of the known edges; nodes are matched by name.
            only, without: ids of the nodes that may be recommended, and of nodes that may not.
        """
        if direction not in ("targets", "sources"):
            raise ValueError(f'expected direction "targets" or "sources", got {direction!r}')
        if not 0 <= popularity <= 1:
            raise ValueError(
                "expected a popularity from 0 (taken out of the scores) to 1 (as trained), got "
                f"{popularity}"
            )
        allowed = np.full(len(nodes), only is None)
        for ids, value in ((only, True), (without, False)):
            if ids is None:
                continue
            ids = np.asarray(ids, dtype=np.int64)
            outside = ids[(ids < 0) | (ids >= len(nodes))]
            if outside.size:
                raise ValueError(f"expected node ids from 0 to {len(nodes) - 1}, got {outside[0]}")
            allowed[ids] = value
        known = known_edges(exclude, nodes)
        if exclude is not None and direction == "sources":
            known = known.transposed
        return cls(direction, allowed, known, popularity)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """Those that may be recommended, ascending."""
        return np.flatnonzero(self.allowed).astype(np.int32)

    def queries(self, embeddings: EdgeEmbeddings, ids: NodeIds, side: Side) -> Scores:
        """Return a vector for each node, whose products with those of the other side are scores.

        The popularity of a candidate is its product with the mean vector of all nodes.
        """
        vectors = embeddings.vectors(side, ids)
        if self.popularity == 1:
            return vectors
        return vectors - np.float32(1 - self.popularity) * embeddings.mean_vectors[side]


class Search(Protocol):
    """How the best candidates are found: by all products, by an index, in two stages."""

    def best_of(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates
    ) -> BestEdges:
        """Return the k best candidates of each node and their scores, best first."""


def known_edges(graph: Graph | None, nodes: NodeNames) -> Graph:
    """Return a graph over `nodes`, matched by name; without edges if there is none."""
    return Graph.from_edges([], [], nodes=nodes) if graph is None else graph.over(nodes)


def read_names(path: Path | None) -> list[str] | None:
    r"""Return the names in a file, one per line; empty lines are skipped.

    As in a `nodes.txt`, a line break in a name is written \\n and a backslash \\\\.
    """
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, one name a line: {error}") from None
    text = "".join(f"{line}\n" for line in lines if line)
    if not text:
        raise ValueError(f"{path}: expected names of nodes, one a line, got none")
    return list(NodeNames(np.frombuffer(text.encode(), dtype=np.uint8)))


def known_ids(
    nodes: NodeNames, names: Iterable[object] | None, origin: str, *, required: bool = False
) -> NodeIds | None:
    """Return the ids of names that are nodes; log how many are not, fail if a node is required."""
    if names is None:
        return None
    given = list(map(str, names))
    found = nodes.find(given)
    ids = found[found >= 0]
    if required and given and not ids.size:
        raise ValueError(
            f"{origin}: expected names of nodes, got {len(given):,} names that are none, such as "
            f"{given[0]!r}; nodes are called {', '.join(map(repr, nodes[:3]))}, ..."
        )
    if ids.size < len(given):
        logger.info("%s: %d of %d names are no nodes", origin, len(given) - ids.size, len(given))
    return ids


def recommend(
    embeddings: EdgeEmbeddings,
    nodes: Iterable[object],
    k: int = 10,
    *,
    exclude: Graph | None = None,
    only: Iterable[object] | None = None,
    without: Iterable[object] | None = None,
    direction: Direction = "targets",
    popularity: float = 1,
    index: Search | None = None,
) -> tuple[NDArray[np.object_], Scores]:
    """Return the names and scores of the k best new edges of each node, best first.

    >>> vectors = np.array([[3, 1], [2, 0], [1, 0]], dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abc"))
    >>> recommend(embeddings, ["c"], k=2)
    (array([['a', 'b']], dtype=object), array([[3., 2.]], dtype=float32))

    Args:
        exclude: graph of the known edges, which are not recommended again.
        only, without: names of the nodes that may be recommended, and of nodes that may not;
            unknown names are skipped, and their number is logged.
        popularity: how much the popularity of a node counts, its mean score over all nodes: from 1,
            as trained, to 0, where scores say how much more than average an edge is to be expected.
        index: from `open_index`, for answers that are many times faster and nearly always right;
            `LaidOut`, for many exact searches about few nodes each; or from `load_reranker`, whose
            second stage orders what the vectors propose.

    Returns:
        (q, k) names and (q, k) float32 scores; "" and -inf where there are fewer candidates.
    """
    best, scores = top_k(
        embeddings,
        embeddings.nodes.ids(nodes),
        k,
        exclude=exclude,
        only=known_ids(embeddings.nodes, only, "only", required=True),
        without=known_ids(embeddings.nodes, without, "without"),
        direction=direction,
        popularity=popularity,
        index=index,
    )
    return embeddings.nodes.at(best), scores


def with_popularity(embeddings: EdgeEmbeddings, popularity: float) -> EdgeEmbeddings:
    """Return vectors whose scores are those of `recommend` at this popularity of targets."""
    candidates = Candidates.of(embeddings.nodes, "targets", popularity=popularity)
    source = candidates.queries(embeddings, np.arange(len(embeddings.nodes)), "source")
    return EdgeEmbeddings(source, embeddings.vectors("target"), embeddings.nodes)


def top_k(
    embeddings: EdgeEmbeddings,
    ids: NodeIds,
    k: int,
    *,
    exclude: Graph | None = None,
    only: NodeIds | None = None,
    without: NodeIds | None = None,
    direction: Direction = "targets",
    popularity: float = 1,
    index: Search | None = None,
) -> BestEdges:
    """Return the ids and scores of the k best new edges of each node, best first.

    A node is never recommended to itself. Equal scores are in ascending order of ids, which also
    decides which of them are among the best, unless an index is given. See also `Candidates.of`.
    """
    candidates = Candidates.of(
        embeddings.nodes,
        direction,
        exclude=exclude,
        only=only,
        without=without,
        popularity=popularity,
    )
    best, scores = empty_heaps(len(ids), k)
    for i, (_, *found) in enumerate(top_k_blocks(embeddings, ids, k, candidates, index)):
        rows = slice(i * ROWS, (i + 1) * ROWS)
        best[rows], scores[rows] = found
    return best, scores


def top_k_blocks(
    embeddings: EdgeEmbeddings,
    ids: NodeIds,
    k: int,
    candidates: Candidates,
    index: Search | None = None,
) -> Iterator[tuple[NodeIds, NDArray[np.int32], Scores]]:
    """Return an iterator over some nodes and their answers of `top_k`, in bounded memory."""
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    find = (index or EXACT).best_of
    blocks = (ids[start : start + ROWS] for start in range(0, len(ids), ROWS))
    return ((block, *find(embeddings, block, k, candidates)) for block in blocks)


@dataclass(frozen=True, eq=False)
class LaidOut:
    """Search by all products; `tiles` are all nodes in the layout of the kernel, for many searches.

    Without tiles, candidates are laid out in each search, some at a time.
    """

    tiles: Mapping[Direction, Scores]

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings) -> LaidOut:
        """Lay out the nodes of a result."""
        source, target = (as_tiles(embeddings.vectors(side)) for side in SIDES)
        return cls({"targets": target, "sources": source})

    def best_of(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates
    ) -> BestEdges:
        from arcvec.kernels.topk import keep_best

        own_side, other_side = sides_of(candidates.direction)
        tiles = self.tiles.get(candidates.direction) if candidates.allowed.all() else None
        known = candidates.known.indptr, candidates.known.indices
        best, scores = empty_heaps(len(ids), min(k, candidates.ids.size))
        queries = padded_vectors(candidates.queries(embeddings, ids, own_side))
        columns = COLUMNS if tiles is None else max(1, candidates.ids.size)
        for start in range(0, candidates.ids.size, columns):
            some = candidates.ids[start : start + columns]
            block = as_tiles(embeddings.vectors(other_side, some)) if tiles is None else tiles
            keep_best(queries, ids, block, some, *known, scores, best)
        return best_first(best, scores, k)


EXACT = LaidOut({})


def best_vectors(queries: Scores, vectors: Scores, k: int) -> BestEdges:
    """Return the rows of `vectors` with the largest inner products, and these, best first."""
    from arcvec.kernels.topk import keep_best

    best, scores = empty_heaps(len(queries), min(k, len(vectors)))
    no_node, rows = np.full(len(queries), -1), np.arange(len(vectors), dtype=np.int32)
    no_edges = np.zeros(2, dtype=np.int64), np.empty(0, dtype=np.int32)
    blocks = padded_vectors(queries), no_node, as_tiles(vectors)
    keep_best(*blocks, rows, *no_edges, scores, best)
    return best_first(best, scores, k)


def as_tiles(vectors: Scores, width: int | None = None) -> Scores:
    """Return vectors as columns of tiles, as the kernels read them: (t, d, width)."""
    from arcvec.kernels.topk import TILE

    width = width or TILE
    padded = padded_vectors(vectors, width)
    return np.ascontiguousarray(padded.reshape(-1, width, padded.shape[1]).transpose(0, 2, 1))


def padded_vectors(vectors: Scores, rows: int = 1) -> Scores:
    """Return vectors with zeros up to a multiple of `rows` rows and of 4 coordinates."""
    return np.pad(vectors, [(0, -len(vectors) % rows), (0, -vectors.shape[1] % 4)])


def sides_of(direction: Direction) -> tuple[Side, Side]:
    """Return the side of the nodes to recommend for, and that of the candidates."""
    return ("source", "target") if direction == "targets" else ("target", "source")
