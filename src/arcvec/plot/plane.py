"""Results of two numbers a side, which need no projection: points, edges, nodes worth showing."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.plot.directions import Points, angles_from_mean

logger = logging.getLogger(__name__)

_NORM_TOLERANCE = 2e-3
"""Of vectors stored in half precision."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Both spaces of a result of two numbers a side, as stored, and the edges between them.

    Attributes:
        source, target: the paper's L^T f(Y) and R f(Y), also where the graph is undirected and a
            score is the mean of both directions. Of one vector for both sides, that vector as
            target and the same times the weights as source: their product is the score.
        graph: its nodes in the order of the points.
    """

    source: Points
    target: Points
    graph: Graph

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph) -> Plane:
        """Return the plane of a result; nodes of the graph are matched by name.

        Raises:
            ValueError: the result has not two numbers a side, or the graph no edge among its nodes.
        """
        if not fits_plane(embeddings):
            shared = "" if embeddings.weights is None else " in one vector for both sides"
            raise ValueError(
                "expected a result of dim 4, two numbers a side, which a plane can show, got "
                f"dim {embeddings.dim}{shared}; fit with --dim 4 --model.kind asymmetric (and "
                "--model.unit-norm for the circle), or draw the best projection with --kind spaces"
            )
        source = np.asarray(embeddings.source, dtype=np.float64)
        target = np.asarray(embeddings.target, dtype=np.float64)
        drawn = graph_over(graph, embeddings.nodes)
        if drawn.num_edges == 0:
            raise ValueError("expected a graph with edges to draw, got none")
        return cls(source, target, drawn)

    @property
    def on_circle(self) -> bool:
        """Whether every point has norm 1."""
        return unit_norms(self.source) and unit_norms(self.target)

    def sources_of(self, target: int) -> NDArray[np.int32]:
        """Return the nodes with an edge to `target`."""
        rows = self.graph.transposed
        return rows.indices[rows.indptr[target] : rows.indptr[target + 1]]


def fits_plane(embeddings: EdgeEmbeddings) -> bool:
    """Tell whether a result has two numbers a side: dim 4, or 2 in one vector for both sides."""
    return bool(embeddings.target.shape[1] == 2)


def unit_norms(vectors: ArrayLike) -> bool:
    """Tell whether every row has norm 1, up to the precision of storage."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    return bool((np.abs(norms - 1) < _NORM_TOLERANCE).all())


def graph_over(graph: Graph, nodes: NodeNames) -> Graph:
    """Return the edges of `graph` among the nodes in `nodes`, with the ids they have there."""
    unknown = len(set(graph.nodes) - set(nodes))
    if unknown == graph.num_nodes:
        raise ValueError(
            f"expected the graph of the result, got one of {unknown:,} nodes none of which "
            f"is among the {len(nodes):,} of the result"
        )
    if unknown:
        logger.info("%d nodes of the graph are not in the result and left out", unknown)
    return graph.over(nodes)


def choose_targets(plane: Plane, count: int) -> NodeIds:
    """Return targets to show the edges of: spread over the directions, well connected, no hubs.

    The directions of all but the outermost targets are cut into `count` equal sectors; from the
    middle half of each, or from all of it if that is empty, comes the node of highest in-degree up
    to the 95th percentile. Empty sectors give none.
    """
    degrees = plane.graph.in_degrees
    angles = angles_from_mean(plane.target)
    first, last = np.percentile(angles, [5, 95])
    places = (angles - first) / max(last - first, 1e-12) * count
    sectors, off_middle = np.floor(places), np.abs(places % 1 - 0.5) > 0.25
    eligible = (degrees > 0) & (degrees <= np.percentile(degrees[degrees > 0], 95))
    best_first = np.lexsort((-degrees, off_middle))
    best_first = best_first[eligible[best_first]]
    found = (best_first[sectors[best_first] == sector][:1] for sector in range(count))
    return np.concatenate(list(found))
