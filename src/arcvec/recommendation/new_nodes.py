"""Vectors for nodes that were not in the training, from their edges; known vectors do not change.

They are fitted with the likelihood of the training, by a logistic regression on the vectors of
known nodes, whose mean and covariance, source and target together, are the prior: edges in one
direction inform the other. Edges among new nodes count in a second round, when both have vectors.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation.regressions import Matrix, Regressions, likeliest

logger = logging.getLogger(__name__)

BLOCK_NODES, BLOCK_PAIRS = 512, 1 << 13
NUM_NEGATIVES = 1024  # known nodes that stand for all nodes without an edge to a new one
PRIOR_WEIGHT = 0.3  # in edges
REVERSED_WEIGHT = 0.3  # of a reversed one-way edge if the settings of the result have none

_PAIR = np.dtype(
    [("owner", "i8"), ("other", "i8"), ("is_source", "?"), ("weight", "f8"), ("label", "f8")]
)
"""A new node, a node it is paired with, whether it is the source of the two, weight and label."""


def add_nodes(
    embeddings: EdgeEmbeddings, edges: Graph, *, graph: Graph | None = None, seed: int = 0
) -> EdgeEmbeddings:
    """Return the embeddings with the new nodes of `edges` after the known ones.

    >>> vectors = np.array([[2, 0], [2, 0], [0, 2], [0, 2]], dtype=np.float32)
    >>> nodes = NodeNames.from_strings("abcd")
    >>> embeddings = EdgeEmbeddings(vectors, vectors, nodes, directed=False)
    >>> more = add_nodes(embeddings, Graph.from_edges([0, 0], [1, 2], nodes=["new", "a", "b"]))
    >>> list(more.nodes)
    ['a', 'b', 'c', 'd', 'new']
    >>> bool(more.score(np.array([4]), np.array([0])) > more.score(np.array([4]), np.array([2])))
    True

    Args:
        edges: edges of new nodes, by name; edges between known nodes, and weights, are ignored.
        graph: the graph of the known nodes, which gives the average degree and how often edges are
            returned; by default taken from `edges`.
    """
    known = len(embeddings.nodes)
    new = NodeNames.from_strings(name for name in edges.nodes if name not in embeddings.nodes)
    if not len(new):
        raise ValueError(
            f"expected edges of new nodes, got {edges.num_nodes:,} nodes that the result has "
            "already; edges among known nodes need a new fit"
        )
    nodes = NodeNames(np.concatenate([embeddings.nodes.text, new.text]))
    linked = _as_scored(embeddings, edges).over(nodes)
    usual = None if graph is None else _as_scored(embeddings, graph)
    likelihood = _Likelihood(embeddings, linked, usual, seed)
    num_new_ends = (linked.row_of_entry >= known).astype(np.int8) + (linked.indices >= known)
    if not num_new_ends.all():
        logger.info("%d edges between known nodes are passed over", (num_new_ends == 0).sum())
    vectors = likelihood.fit(linked, np.tile(likelihood.mean, (len(new), 1)), known)
    if (num_new_ends == 2).any():
        vectors = likelihood.fit(linked, vectors, len(nodes))
    num_edges = int((num_new_ends > 0).sum()) // (2 if embeddings.is_symmetric else 1)
    added = [*embeddings.settings.get("added", []), {"num_nodes": len(new), "num_edges": num_edges}]
    return _appended(embeddings, nodes, vectors, {**embeddings.settings, "added": added})


def _appended(
    embeddings: EdgeEmbeddings, nodes: NodeNames, vectors: Matrix, settings: Mapping[str, Any]
) -> EdgeEmbeddings:
    """Return the embeddings with more rows; earlier rows keep their bytes."""
    directed, weights = embeddings.directed, embeddings.weights
    new = vectors.astype(embeddings.target.dtype)
    if weights is not None:
        both = np.concatenate([embeddings.target, new])
        return EdgeEmbeddings.one_vector(both, weights, nodes, directed=directed, settings=settings)
    sources, targets = np.split(new, 2, axis=1)
    source = np.concatenate([np.asarray(embeddings.source), sources])
    target = np.concatenate([embeddings.target, targets])
    return EdgeEmbeddings(source, target, nodes, directed, settings)


class _Likelihood:
    """The likelihood of the edges of new nodes, given the vectors of known ones.

    Attributes:
        rows: (known, p), of known nodes: source and target side by side, or one vector for both.
        mean, precision: of the prior.
        sample: ids of the known nodes that serve as negatives.
        degree: out-edges of an average node, the total weight of a node's negatives.
    """

    def __init__(
        self, embeddings: EdgeEmbeddings, linked: Graph, graph: Graph | None, seed: int
    ) -> None:
        weights = embeddings.weights
        self.weights = None if weights is None else weights.astype(np.float64)
        self.symmetric = embeddings.is_symmetric
        parts = [np.asarray(embeddings.source)] if weights is None else []
        self.rows = np.concatenate([*parts, embeddings.target], axis=1, dtype=np.float64)
        self.mean = self.rows.mean(axis=0)
        centred = self.rows - self.mean
        covariance = centred.T @ centred / max(1, len(centred))
        # Some variance in every direction, so that few known nodes do not rule any out.
        variance = 1e-3 * np.trace(covariance) / len(covariance) + 1e-9
        covariance += variance * np.eye(len(covariance))
        self.precision = PRIOR_WEIGHT * np.linalg.inv(covariance)
        self.sample = np.random.default_rng(seed).permutation(len(self.rows))[:NUM_NEGATIVES]
        first = len(self.rows) if graph is None else 0
        graph = linked if graph is None else graph
        ends = (graph.row_of_entry >= first).sum() + (graph.indices >= first).sum()
        self.degree = float(ends / 2 / max(1, graph.num_nodes - first))
        weight, label = _reversed_edge(embeddings.settings)
        weight = REVERSED_WEIGHT if weight is None else weight
        self.reversed_edge = weight, graph.return_probability if label is None else label

    def inputs(self, rows: Matrix, *, of_sources: bool) -> Matrix:
        """Return inputs whose product with the row of a new node is its score with `rows`."""
        if self.weights is not None:
            return rows * self.weights
        source, target = np.split(rows, 2, axis=1)
        if self.symmetric:
            return np.concatenate([target, source], axis=1) / 2
        zeros = np.zeros_like(source)
        return np.concatenate([target, zeros] if of_sources else [zeros, source], axis=1)

    def fit(self, linked: Graph, vectors: Matrix, num_known: int) -> Matrix:
        """Return new vectors of all new nodes, by their edges with nodes below `num_known`."""
        known = len(self.rows)
        rows = np.concatenate([self.rows, vectors])
        pairs = self._pairs(linked, num_known)
        graphs = [linked] if self.symmetric else [linked, linked.transposed]
        negatives = [self.inputs(rows[self.sample], of_sources=graph is linked) for graph in graphs]
        negative_weight = np.float32(self.degree / max(1, len(self.sample)))
        fitted = np.empty_like(vectors)
        starts = np.searchsorted(pairs["owner"], known + np.arange(len(vectors) + 1))
        for first, last in _blocks(starts):
            mine = pairs[starts[first] : starts[last]]
            others = rows[mine["other"]]
            nodes = np.arange(known + first, known + last)
            ends = np.repeat(nodes, len(self.sample)), np.tile(self.sample, len(nodes))
            free = [~graph.has_edges(*ends).reshape(len(nodes), -1) for graph in graphs]
            regressions = Regressions(
                inputs=np.where(
                    mine["is_source"][:, None],
                    self.inputs(others, of_sources=True),
                    self.inputs(others, of_sources=False),
                ),
                owners=mine["owner"] - nodes[0],
                weights=mine["weight"],
                labels=mine["label"],
                mean=self.mean,
                precision=self.precision,
                negatives=np.concatenate(negatives).astype(np.float32),
                shared_weights=np.concatenate(free, axis=1, dtype=np.float32) * negative_weight,
            )
            fitted[first:last] = likeliest(regressions, vectors[first:last])
        return fitted

    def _pairs(self, linked: Graph, num_known: int) -> NDArray[Any]:
        """Return the edges of new nodes and their reversed one-way edges, by owner."""
        sources, targets = linked.row_of_entry, linked.indices
        proper = sources != targets
        sources, targets = sources[proper], targets[proper]
        kinds: list[tuple[Any, ...]] = [(sources, targets, True, 1.0, 1.0)]
        if not self.symmetric:
            one_way = ~linked.has_edges(targets, sources)
            kinds += [
                (targets, sources, False, 1.0, 1.0),
                (targets[one_way], sources[one_way], True, *self.reversed_edge),
                (sources[one_way], targets[one_way], False, *self.reversed_edge),
            ]
        columns = (np.broadcast_arrays(*kind) for kind in kinds)
        pairs = np.concatenate([np.rec.fromarrays(some, dtype=_PAIR) for some in columns])
        pairs = pairs[(pairs["owner"] >= len(self.rows)) & (pairs["other"] < num_known)]
        return pairs[np.argsort(pairs["owner"], kind="stable")]


def _blocks(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of nodes, a few hundred at a time, with a bounded number of pairs."""
    first = 0
    while first < len(starts) - 1:
        full = int(np.searchsorted(starts, starts[first] + BLOCK_PAIRS, side="right")) - 1
        last = min(max(first + 1, full), first + BLOCK_NODES, len(starts) - 1)
        yield first, last
        first = last


def _as_scored(embeddings: EdgeEmbeddings, graph: Graph) -> Graph:
    """Return the graph, undirected if scores are symmetric."""
    if not (embeddings.is_symmetric and graph.directed):
        return graph
    return Graph.from_edges(*graph.edges(), nodes=graph.nodes, directed=False)


def _reversed_edge(settings: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return weight and label of a reversed one-way edge in the training; None if not known."""
    for name in ("settings", "negatives"):
        inner = settings.get(name)
        settings = inner if isinstance(inner, Mapping) else {}
    return settings.get("reversed_weight"), settings.get("reversed_label")
