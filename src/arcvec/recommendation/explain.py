"""Why an edge is predicted: where it stands, and the known edges that are most like it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames


@dataclass(frozen=True)
class KnownEdge:
    """A known edge that shares one end with the explained edge.

    Attributes:
        similarity: cosine, from -1 to 1, between the other end and that of the explained edge: of
            their source vectors if they are the sources, of their target vectors if the targets;
            of one vector for both sides, of that vector times the roots of its weights.
        score: of the known edge itself.
    """

    source: str
    target: str
    similarity: float
    score: float


@dataclass(frozen=True)
class Explanation:
    """Where an edge stands, and the known edges that are most like it.

    Similar known edges are evidence, not a cause: vectors are learned from all edges together.
    Single coordinates are not shown, for they mean nothing: turn all vectors, and every score
    stays while every coordinate changes.

    Attributes:
        rank: place of the target among the candidates, 1 for the best, as `recommend` orders them.
        num_candidates: all nodes but the source itself and, if a graph was given, the targets it
            is known to have; the explained target stays a candidate in any case.
        num_left_out: known targets of the source that are no candidates.
        percentile: how many of the other candidates stand below the target, from 0 to 100.
        known: whether the edge is in the graph; None without a graph.
        similar_sources: known edges to the same target, most similar sources first.
        similar_targets: known edges from the same source, most similar targets first. Both are
            empty without a graph.
    """

    source: str
    target: str
    score: float
    rank: int
    num_candidates: int
    num_left_out: int
    percentile: float
    known: bool | None
    similar_sources: tuple[KnownEdge, ...]
    similar_targets: tuple[KnownEdge, ...]

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
) -> Explanation:
    """Return the score and rank of an edge, and the known edges most like it.

    >>> vectors = np.array([[2, 1], [1, 2], [1, 3]], dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abc"))
    >>> graph = Graph.from_edges([1, 0], [2, 1], nodes=embeddings.nodes)
    >>> found = explain(embeddings, "a", "c", graph=graph)
    >>> found.score, found.rank, found.num_candidates
    (5.0, 1, 1)
    >>> [known.source for known in found.similar_sources]
    ['b']

    Args:
        source, target: names of two different nodes.
        graph: the known edges; nodes are matched by name.
        k: known edges of each kind.

    Raises:
        KeyError: a name is unknown.
        ValueError: source and target are the same node, which is never recommended to itself.
    """
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    u, v = map(int, embeddings.nodes.ids([source, target]))
    if u == v:
        raise ValueError(f"expected two different nodes, got {source!r} twice")
    edges = _over(embeddings.nodes, graph)
    targets_of_u = _targets_of(edges, u)
    left_out = np.setdiff1d(targets_of_u, [u, v])
    scores = embeddings.score_all_targets(np.array([u]))[0]
    rank = _rank(scores, v, np.append(left_out, u))
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
        similar_sources=_similar(embeddings, "source", u, _sources_of(edges, v), v, k),
        similar_targets=_similar(embeddings, "target", v, targets_of_u, u, k),
    )


def _over(nodes: NodeNames, graph: Graph | None) -> Graph:
    return Graph.from_edges([], [], nodes=nodes) if graph is None else graph.over(nodes)


def _targets_of(graph: Graph, node: int) -> NodeIds:
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]]


def _sources_of(graph: Graph, node: int) -> NodeIds:
    # One pass over the entries: turning the whole graph round for a single node costs far more.
    entries = np.flatnonzero(graph.indices == node)
    return np.searchsorted(graph.indptr, entries, side="right") - 1


def _rank(scores: Scores, node: int, left_out: NodeIds) -> int:
    """Return the place of a node by score, equal scores in ascending order of ids."""
    above = scores > scores[node]
    above[:node] |= scores[:node] == scores[node]
    above[left_out] = False
    return 1 + int(above.sum())


def _similar(
    embeddings: EdgeEmbeddings, side: Side, node: int, others: NodeIds, shared: int, k: int
) -> tuple[KnownEdge, ...]:
    """Return the known edges between `others` and their shared end whose other end is nearest.

    Args:
        side: the end at which edges differ: there, `node` is compared with the others.
        others: ids of nodes; `node` and `shared` themselves are left out.
    """
    others = np.setdiff1d(others, [node, shared])
    similarities = _cosines(embeddings, side, node, others)
    best = np.argsort(-similarities, kind="stable")[:k]
    ends = (others[best], np.full(best.size, shared))
    sources, targets = ends if side == "source" else ends[::-1]
    return tuple(
        KnownEdge(embeddings.nodes[int(u)], embeddings.nodes[int(v)], float(cosine), float(score))
        for u, v, cosine, score in zip(
            sources, targets, similarities[best], embeddings.score(sources, targets), strict=True
        )
    )


def _cosines(embeddings: EdgeEmbeddings, side: Side, node: int, others: NodeIds) -> Scores:
    """Return the cosine between a node and others on one side; 0 where a vector is 0."""
    ids = np.append(others, node)
    if embeddings.weights is None:
        vectors = embeddings.vectors(side, ids)
    else:
        # The same nearness on both sides and, like the scores, blind to a scale that moves from
        # the vectors to the weights. Signs are left out: no cosine sees them.
        vectors = embeddings.vectors("target", ids) * np.sqrt(np.abs(embeddings.weights))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    cosines: Scores = directions[:-1] @ directions[-1]
    return cosines
