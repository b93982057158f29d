"""Why an edge is predicted: its rank, and the known edges that are most like it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcvec.embeddings import EdgeEmbeddings, Side
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds
from arcvec.recommendation.exact import known_edges
from arcvec.recommendation.rerank import Reranker


@dataclass(frozen=True)
class KnownEdge:
    """A known edge that shares one end with the explained edge, and its own score."""

    source: str
    target: str
    similarity: float  # cosine between the other end and that of the explained edge
    score: float


@dataclass(frozen=True)
class Explanation:
    """The rank of an edge, and the known edges that are most like it.

    Candidates are all nodes but the source and its known targets, and always the explained target.
    """

    source: str
    target: str
    score: float
    rank: int  # of the target among the candidates, 1 for the best, as `recommend` orders them
    num_candidates: int
    num_left_out: int
    percentile: float  # percentage of the other candidates that rank below the target
    known: bool | None  # whether the edge is in the graph; None without a graph
    similar_sources: tuple[KnownEdge, ...]  # to the same target, most similar first
    similar_targets: tuple[KnownEdge, ...]  # from the same source, most similar first
    second_stage: dict[str, float] | None = None  # what each feature adds to its score, by name

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, known edges as mappings; ready for JSON."""
        return asdict(self)


def explain(
    embeddings: EdgeEmbeddings,
    source: object,
    target: object,
    *,
    graph: Graph | None = None,
    k: int = 5,
    second_stage: Reranker | None = None,
) -> Explanation:
    """Return the score and rank of an edge, and the k known edges most like it on each side.

    Score and rank are those of the vectors; `second_stage` adds what re-ranks them.

    >>> from arcvec.graph.names import NodeNames
    >>> vectors = np.array([[2, 1], [1, 2], [1, 3]], dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abc"))
    >>> graph = Graph.from_edges([1, 0], [2, 1], nodes=embeddings.nodes)
    >>> found = explain(embeddings, "a", "c", graph=graph)
    >>> found.score, found.rank, found.num_candidates
    (5.0, 1, 1)
    >>> [known.source for known in found.similar_sources]
    ['b']
    """
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    u, v = map(int, embeddings.nodes.ids([source, target]))
    if u == v:
        raise ValueError(f"expected two different nodes, got {source!r} twice")
    edges = known_edges(graph, embeddings.nodes)
    targets_of_u = edges.indices[edges.indptr[u] : edges.indptr[u + 1]]
    # One pass over the entries; transposing the graph for a single node costs far more.
    entries = np.flatnonzero(edges.indices == v)
    sources_of_v = np.searchsorted(edges.indptr, entries, side="right") - 1
    left_out = np.setdiff1d(targets_of_u, [u, v])
    scores = embeddings.score_all_targets(np.array([u]))[0]
    # Equal scores rank in ascending order of ids.
    above = scores > scores[v]
    above[:v] |= scores[:v] == scores[v]
    above[np.append(left_out, u)] = False
    rank = 1 + int(above.sum())
    num_candidates = len(embeddings.nodes) - 1 - left_out.size
    return Explanation(
        source=embeddings.nodes[u],
        target=embeddings.nodes[v],
        score=float(scores[v]),
        rank=rank,
        num_candidates=num_candidates,
        num_left_out=left_out.size,
        percentile=100 * (1 - (rank - 1) / max(num_candidates - 1, 1)),
        known=None if graph is None else v in targets_of_u,
        similar_sources=_similar(embeddings, "source", u, sources_of_v, v, k),
        similar_targets=_similar(embeddings, "target", v, targets_of_u, u, k),
        second_stage=None if second_stage is None else second_stage.terms(u, v),
    )


def _similar(
    embeddings: EdgeEmbeddings, side: Side, node: int, others: NodeIds, shared: int, k: int
) -> tuple[KnownEdge, ...]:
    """Return the edges between `shared` and the `others` most similar to `node` on a side."""
    others = np.setdiff1d(others, [node, shared])
    vectors = embeddings.vectors(side, np.append(others, node))
    if embeddings.has_one_space:
        # The same on both sides and, like scores, unchanged if a scale moves from the vectors to
        # the weights. A cosine does not depend on their signs.
        vectors = embeddings.vectors("target", np.append(others, node))
        vectors *= np.sqrt(np.abs(np.asarray(embeddings.weights)))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)  # a cosine with 0 is 0
    similarities = directions[:-1] @ directions[-1]
    best = np.argsort(-similarities, kind="stable")[:k]
    ends = (others[best], np.full(best.size, shared))
    sources, targets = ends if side == "source" else ends[::-1]
    numbers = similarities[best].tolist(), embeddings.score(sources, targets).tolist()
    names = embeddings.nodes.at(sources), embeddings.nodes.at(targets)
    return tuple(map(KnownEdge, *names, *numbers))
