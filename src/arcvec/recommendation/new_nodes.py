"""Vectors for nodes that the training has not seen, from their edges; known vectors stay.

Of a result only vectors are left, not the network that made them. So the vectors of a new node are
fitted themselves, to the likelihood of the training: each of its edges is one piece of evidence,
against all nodes it has no edge with, whose mass is that of the edges of an average node; reversed
one-way edges count as there, too. That is a logistic regression whose inputs, the vectors of known
nodes, are fixed. What few edges leave open is decided by what is usual: mean and covariance of the
vectors of known nodes, source and target together, so that edges in one direction tell of the
other. Edges among new nodes count once both ends have vectors, in a few rounds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, WeightedRows
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.recommendation.regressions import Evidence, Matrix, Prior, likeliest

logger = logging.getLogger(__name__)

ROUNDS = 2
BLOCK_NODES = 512
BLOCK_PAIRS = 1 << 13
NON_EDGES = 1024
"""Known nodes that stand for all those a new node has no edge with."""

PRIOR = 0.3
"""How much what is usual counts, in edges."""

REVERSED_WEIGHT = 0.3
"""What a reversed one-way edge counts where the settings of the result do not say."""


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
        edges: edges with at least one new node, by name; those between known nodes change nothing.
            Weights are not looked at.
        graph: the graph of the known nodes, which tells how many edges are usual and how often they
            are returned; by default the edges of the new nodes do.
        seed: decides which nodes stand for those without an edge.

    Raises:
        ValueError: there is no new node.
    """
    known, nodes = len(embeddings.nodes), _all_names(embeddings.nodes, edges)
    sides = _Sides.of(embeddings, seed)
    linked = sides.seen(edges).over(nodes)
    usual = _Usual.of(embeddings, linked, None if graph is None else sides.seen(graph))
    new = (linked.row_of_entry >= known) | (linked.indices >= known)
    if not new.all():
        logger.info("%d edges between known nodes are passed over", (~new).sum())
    vectors = np.tile(sides.mean, (len(nodes) - known, 1))
    among_new = (linked.row_of_entry >= known) & (linked.indices >= known)
    for number in range(ROUNDS if among_new.any() else 1):
        vectors = _fit_all(sides, usual, linked, vectors, with_new=number > 0)
    added = {
        "num_nodes": len(vectors),
        "num_edges": int(new.sum()) // (2 if sides.symmetric else 1),
    }
    return _appended(embeddings, nodes, vectors, added)


def _appended(
    embeddings: EdgeEmbeddings, nodes: NodeNames, vectors: Matrix, added: Mapping[str, int]
) -> EdgeEmbeddings:
    """Return the embeddings with rows more; those before keep their bytes."""
    settings = {
        **embeddings.settings,
        "added": [*embeddings.settings.get("added", []), added],
    }
    new = vectors.astype(embeddings.target.dtype)
    if embeddings.weights is not None:
        both = np.concatenate([embeddings.target, new])
        return EdgeEmbeddings.one_vector(
            both, embeddings.weights, nodes, directed=embeddings.directed, settings=settings
        )
    sources, targets = np.split(new, 2, axis=1)
    source = np.concatenate([np.asarray(embeddings.source), sources])
    target = np.concatenate([embeddings.target, targets])
    return EdgeEmbeddings(source, target, nodes, embeddings.directed, settings)


@dataclass(frozen=True, eq=False)
class _Usual:
    """What each kind of pair counts, by what is usual in the graph.

    Attributes:
        degree: out-edges of an average node, the mass of all non-edges of a node.
        reversed_label: how far a reversed one-way edge counts as an edge, from 0 to 1.
    """

    degree: float
    reversed_weight: float
    reversed_label: float

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, linked: Graph, graph: Graph | None) -> _Usual:
        known = len(embeddings.nodes)
        if graph is None:
            # Both directions: new nodes may have edges in one of them only.
            ends = (linked.row_of_entry >= known).sum() + (linked.indices >= known).sum()
            degree = ends / 2 / (linked.num_nodes - known)
        else:
            degree = graph.indices.size / max(1, graph.num_nodes)
        settings = _negative_settings(embeddings)
        weight, label = settings.get("reversed_weight"), settings.get("reversed_label")
        return cls(
            float(degree),
            REVERSED_WEIGHT if weight is None else weight,
            (linked if graph is None else graph).reciprocity if label is None else label,
        )


@dataclass(frozen=True, eq=False)
class _Sides:
    """All that is fitted of a node in one row, and what its scores with others are products with.

    Attributes:
        rows: (known, p), of known nodes: source and target side by side, or one vector for both.
        mean, precision: (p,) and (p, p), what is usual, and how far from it costs how much.
        sample: known nodes that stand for all.
        weights: of one vector for both sides; else None.
        symmetric: whether scores are the same in both directions.
    """

    rows: Matrix
    mean: Matrix
    precision: Matrix
    sample: NDArray[np.int64]
    weights: Matrix | None
    symmetric: bool

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, seed: int) -> _Sides:
        parts = [embeddings.target]
        if not isinstance(embeddings.source, WeightedRows):
            parts = [embeddings.source, embeddings.target]
        rows = np.concatenate(parts, axis=1, dtype=np.float64)
        centred = rows - rows.mean(axis=0)
        covariance = centred.T @ centred / max(1, len(rows))
        # A little in every direction, so that few known nodes do not rule any out.
        covariance += np.eye(len(covariance)) * (
            1e-3 * np.trace(covariance) / len(covariance) + 1e-9
        )
        weights = embeddings.weights
        sample = np.random.default_rng(seed).permutation(len(rows))[:NON_EDGES]
        return cls(
            rows,
            rows.mean(axis=0),
            np.linalg.inv(covariance),
            sample,
            None if weights is None else weights.astype(np.float64),
            not embeddings.directed or weights is not None,
        )

    def seen(self, graph: Graph) -> Graph:
        """Return the graph as scores see it: undirected where they are symmetric."""
        if not (self.symmetric and graph.directed):
            return graph
        return Graph.from_edges(*graph.edges(), nodes=graph.nodes, directed=False)

    def as_targets(self, rows: Matrix) -> Matrix:
        """Return what a new source is multiplied with to score its edges to these nodes."""
        if self.weights is not None:
            return rows * self.weights
        source, target = np.split(rows, 2, axis=1)
        if self.symmetric:
            return np.concatenate([target, source], axis=1) / 2
        return np.concatenate([target, np.zeros_like(target)], axis=1)

    def as_sources(self, rows: Matrix) -> Matrix:
        """Return what a new target is multiplied with to score the edges of these nodes to it."""
        if self.symmetric:
            return self.as_targets(rows)
        source = np.split(rows, 2, axis=1)[0]
        return np.concatenate([np.zeros_like(source), source], axis=1)


def _fit_all(
    sides: _Sides, usual: _Usual, linked: Graph, vectors: Matrix, *, with_new: bool
) -> Matrix:
    """Return new vectors of all new nodes, each fitted with those of all others as they are."""
    rows = np.concatenate([sides.rows, vectors])
    known = len(sides.rows)
    pairs = _pairs(sides, usual, linked, known, len(rows) if with_new else known)
    sample = rows[sides.sample]
    non_edges = [sides.as_targets(sample)] + ([] if sides.symmetric else [sides.as_sources(sample)])
    prior = Prior(sides.mean, PRIOR * sides.precision)
    fitted = np.empty_like(vectors)
    starts = np.searchsorted(pairs.owners, np.arange(len(vectors) + 1))
    for first, last in _blocks(starts):
        block = slice(starts[first], starts[last])
        nodes = np.arange(known + first, known + last)
        free = [_without_edges(linked, nodes, sides.sample)]
        if not sides.symmetric:
            free.append(_without_edges(linked.transposed, nodes, sides.sample))
        evidence = Evidence(
            inputs=np.where(
                pairs.as_targets[block, None],
                sides.as_targets(rows[pairs.others[block]]),
                sides.as_sources(rows[pairs.others[block]]),
            ),
            owners=pairs.owners[block] - first,
            weights=pairs.weights[block],
            labels=pairs.labels[block],
            num_nodes=last - first,
            non_edges=np.concatenate(non_edges).astype(np.float32),
            share=np.concatenate(free, axis=1, dtype=np.float32)
            * np.float32(usual.degree / max(1, len(sample))),
        )
        fitted[first:last] = likeliest(evidence, prior, vectors[first:last])
    return fitted


def _without_edges(graph: Graph, nodes: NodeIds, others: NodeIds) -> NDArray[np.bool_]:
    """Return which pairs are no edges: (nodes, others)."""
    pairs = np.repeat(nodes, len(others)), np.tile(others, len(nodes))
    return ~graph.has_edges(*pairs).reshape(len(nodes), len(others))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of new nodes with others, in ascending order of their owners, all of shape (i,).

    Attributes:
        owners: new nodes, from 0 on; others: nodes among all.
        as_targets: whether the other is the target of the owner, or its source.
    """

    owners: NDArray[np.int64]
    others: NDArray[np.int64]
    as_targets: NDArray[np.bool_]
    weights: Matrix
    labels: Matrix


def _pairs(sides: _Sides, usual: _Usual, linked: Graph, known: int, end: int) -> _Pairs:
    """Return the edges of new nodes and their reversed one-way edges, with nodes before `end`."""
    sources, targets = linked.row_of_entry.astype(np.int64), linked.indices.astype(np.int64)
    proper = sources != targets
    sources, targets = sources[proper], targets[proper]
    one_way = ~linked.has_edges(targets, sources)
    kinds = [(sources, targets, True, 1.0, 1.0)]
    if not sides.symmetric:
        turned = (usual.reversed_weight, usual.reversed_label)
        kinds += [
            (targets, sources, False, 1.0, 1.0),
            (targets[one_way], sources[one_way], True, *turned),
            (sources[one_way], targets[one_way], False, *turned),
        ]
    columns = [
        np.concatenate([np.broadcast_to(kind[i], kind[0].shape) for kind in kinds])
        for i in range(5)
    ]
    chosen = (columns[0] >= known) & (columns[1] < end)
    owners, others, as_targets, weights, labels = (column[chosen] for column in columns)
    order = np.argsort(owners, kind="stable")
    return _Pairs(
        owners[order] - known,
        others[order],
        as_targets[order].astype(np.bool_),
        weights[order].astype(np.float64),
        labels[order].astype(np.float64),
    )


def _blocks(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of nodes, a few hundred at a time, of not too many pairs."""
    first = 0
    while first < len(starts) - 1:
        full = int(np.searchsorted(starts, starts[first] + BLOCK_PAIRS, side="right")) - 1
        last = min(max(first + 1, full), first + BLOCK_NODES, len(starts) - 1)
        yield first, last
        first = last


def _all_names(known: NodeNames, edges: Graph) -> NodeNames:
    new = NodeNames.from_strings(name for name in edges.nodes if name not in known)
    if not len(new):
        raise ValueError(
            f"expected edges of new nodes, got {edges.num_nodes:,} nodes that the result has "
            "already; edges among known nodes need a new fit"
        )
    return NodeNames(np.concatenate([known.text, new.text]))


def _negative_settings(embeddings: EdgeEmbeddings) -> Mapping[str, Any]:
    """Return the settings of the negatives in the training; empty of other methods."""
    settings: Any = embeddings.settings.get("settings")
    negatives = settings.get("negatives") if isinstance(settings, Mapping) else None
    return negatives if isinstance(negatives, Mapping) else {}
