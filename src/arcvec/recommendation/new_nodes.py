"""Vectors for nodes that were not in the training, from their edges; known vectors do not change.

They are fitted with the likelihood of the training, by a logistic regression on the vectors of
known nodes, whose mean and covariance, source and target together, are the prior: edges in one
direction inform the other. Edges among new nodes count in a second round, when both have vectors.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.log_odds import Matrix, fit_log_odds
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames

logger = logging.getLogger(__name__)

NUM_NEGATIVES = 1024  # known nodes that stand for all nodes without an edge to a new one
PRIOR_WEIGHT = 0.3  # in edges
REVERSED_WEIGHT = 0.3  # of a reversed one-way edge if the settings of the result have none


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
    if embeddings.is_symmetric:
        edges, graph = edges.undirected, graph and graph.undirected
    linked = edges.over(nodes)
    likelihood = _Likelihood(embeddings, linked, graph, seed)
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
        return EdgeEmbeddings.one_vector(
            np.concatenate([embeddings.target, new]),
            weights,
            nodes,
            columns=embeddings.columns,
            directed=directed,
            settings=settings,
        )
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
        non_edge, reversed_edge: weights and labels; all negatives weigh as much as the out-edges
            of an average node.
    """

    def __init__(
        self, embeddings: EdgeEmbeddings, linked: Graph, graph: Graph | None, seed: int
    ) -> None:
        weights = embeddings.weights
        self.weights = None if weights is None else weights.astype(np.float64)
        self.columns = embeddings.columns
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
        degree = float(ends / 2 / max(1, graph.num_nodes - first))
        self.non_edge = degree / max(1, len(self.sample)), 0.0
        trained = embeddings.settings.get("settings", {}).get("negatives", {})
        weight, label = trained.get("reversed_weight"), trained.get("reversed_label")
        self.reversed_edge = (
            REVERSED_WEIGHT if weight is None else weight,
            graph.return_probability if label is None else label,
        )

    def inputs(self, rows: Matrix, *, of_sources: bool) -> Matrix:
        """Return inputs whose product with the row of a new node is its score with `rows`."""
        if self.weights is not None and self.columns is None:
            return rows * self.weights
        if self.weights is not None:
            as_source, as_target = np.empty_like(rows), rows[:, self.columns] * self.weights
            as_source[:, self.columns] = rows * self.weights
            if self.symmetric:
                return np.asarray((as_source + as_target) / 2)
            return as_source if of_sources else np.asarray(as_target)
        source, target = np.split(rows, 2, axis=1)
        if self.symmetric:
            return np.concatenate([target, source], axis=1) / 2
        zeros = np.zeros_like(source)
        return np.concatenate([target, zeros] if of_sources else [zeros, source], axis=1)

    def fit(self, linked: Graph, vectors: Matrix, num_known: int) -> Matrix:
        """Return new vectors of all new nodes, by their edges with nodes below `num_known`."""
        rows = np.concatenate([self.rows, vectors])
        nodes = range(len(self.rows), len(rows))
        return np.array([self._fit_node(node, linked, rows, num_known) for node in nodes])

    def _fit_node(self, node: int, linked: Graph, rows: Matrix, num_known: int) -> Matrix:
        targets, sources = (
            np.setdiff1d(graph.indices[graph.indptr[node] : graph.indptr[node + 1]], node)
            for graph in (linked, linked.transposed)
        )
        targets, sources = targets[targets < num_known], sources[sources < num_known]
        # The other ends, whether the node is the source of the pair, weight and label.
        without = partial(np.setdiff1d, assume_unique=True)
        negatives = without(self.sample, targets)
        pairs = [(targets, True, 1.0, 1.0), (negatives, True, *self.non_edge)]
        if not self.symmetric:
            pairs += [
                (sources, False, 1.0, 1.0),
                (without(self.sample, sources), False, *self.non_edge),
                (without(sources, targets), True, *self.reversed_edge),
                (without(targets, sources), False, *self.reversed_edge),
            ]
        inputs = [self.inputs(rows[others], of_sources=forward) for others, forward, *_ in pairs]
        sizes = [len(part) for part in inputs]
        weights, labels = (np.repeat([kind[i] for kind in pairs], sizes) for i in (2, 3))
        return fit_log_odds(np.concatenate(inputs), labels, weights, self.mean, self.precision)
