"""Points in the plane: projections of a result, directions from the origin, measures of both."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames

logger = logging.getLogger(__name__)

Points: TypeAlias = NDArray[np.float64]  # (n, 2)
Kind: TypeAlias = Literal["auto", "spaces", "circle", "colours", "training"]
SECTORS = 120  # of 3 degrees each, in which directions are counted
_NORM_TOLERANCE = 2e-3  # for vectors stored in half precision


@dataclass(frozen=True, eq=False)
class Plane:
    """Both spaces of a result with two numbers per side, as stored, and the edges between them."""

    source: Points
    target: Points
    graph: Graph

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph) -> Plane:
        """Return the plane of a result; nodes of the graph are matched by name."""
        if not fits_plane(embeddings):
            shared = "" if embeddings.weights is None else " in one vector for both sides"
            raise ValueError(
                "expected a result of dim 4, two numbers per side, which a plane can show, got "
                f"dim {embeddings.dim}{shared}; fit with --dim 4 --goal pairs --model.kind "
                "asymmetric (and --model.unit-norm for the circle), or draw the best projection "
                "with --kind spaces"
            )
        drawn = graph_over(graph, embeddings.nodes)
        if drawn.num_edges == 0:
            raise ValueError("expected a graph with edges to draw, got none")
        source = np.asarray(embeddings.source, dtype=np.float64)
        return cls(source, np.asarray(embeddings.target, dtype=np.float64), drawn)

    def sources_of(self, target: int) -> NDArray[np.int32]:
        """Return the nodes with an edge to `target`."""
        rows = self.graph.transposed
        return rows.indices[rows.indptr[target] : rows.indptr[target + 1]]


def fits_plane(embeddings: EdgeEmbeddings) -> bool:
    """Return whether a result has two numbers per side: dim 4, or 2 if the sides share a vector."""
    return bool(embeddings.target.shape[1] == 2)


def unit_norms(*spaces: ArrayLike) -> bool:
    """Return whether every row has norm 1, up to the precision of storage."""
    norms = np.linalg.norm(np.asarray(spaces, dtype=np.float64), axis=-1)
    return bool((np.abs(norms - 1) < _NORM_TOLERANCE).all())


def choose_kind(embeddings: EdgeEmbeddings) -> Kind:
    """Return "circle" or "colours" for two numbers per side, with norm 1 or not; else "spaces"."""
    if not fits_plane(embeddings):
        return "spaces"
    return "circle" if unit_norms(embeddings.source, embeddings.target) else "colours"


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


def project(embeddings: EdgeEmbeddings) -> tuple[Points, Points]:
    """Return both sides in the plane; their product is the best rank-2 approximation to scores."""
    source_basis, source_part = np.linalg.qr(embeddings.vectors("source").astype(np.float64))
    target_basis, target_part = np.linalg.qr(embeddings.vectors("target").astype(np.float64))
    left, values, right = np.linalg.svd(source_part @ target_part.T)
    scale = np.sqrt(values[:2])
    missing = ((0, 0), (0, 2 - scale.size))  # one number per side lies on a line
    return (
        np.pad(source_basis @ left[:, :2] * scale, missing),
        np.pad(target_basis @ right[:2].T * scale, missing),
    )


def choose_targets(plane: Plane, count: int) -> NodeIds:
    """Return targets to draw edges of: one in each of `count` sectors, of many edges, no hub."""
    degrees = plane.graph.in_degrees
    angles = angles_from_mean(plane.target)
    first, last = np.percentile(angles, [5, 95])
    turns = (angles - first) / max(last - first, 1e-12) * count
    sectors, off_middle = np.floor(turns), np.abs(turns % 1 - 0.5) > 0.25
    eligible = (degrees > 0) & (degrees <= np.percentile(degrees[degrees > 0], 95))
    best_first = np.lexsort((-degrees, off_middle))
    best_first = best_first[eligible[best_first]]
    found = (best_first[sectors[best_first] == sector][:1] for sector in range(count))
    return np.concatenate(list(found))


def unit_vectors(points: Points) -> Points:
    """Return points of norm 1 in the same directions; the origin stays where it is."""
    norms = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points / np.where(norms > 0, norms, 1))


def mean_direction(points: Points) -> NDArray[np.float64]:
    """Return the (2,) unit vector in the mean direction of all points, however far they are."""
    return unit_vectors(unit_vectors(points).mean(axis=0))


def angles_from_mean(points: Points) -> NDArray[np.float64]:
    """Return directions in radians, from -pi to pi, 0 being the mean direction of all points.

    >>> np.degrees(angles_from_mean(np.array([[0.0, 2.0], [1.0, 0.0]]))).round()
    array([ 45., -45.])
    """
    x, y = mean_direction(points)
    return np.asarray(np.arctan2(points @ [-y, x], points @ [x, y]))


def count_by_sector(points: Points) -> NDArray[np.int64]:
    """Return how many points lie in each of the `SECTORS`, from -180 to 180 degrees."""
    return np.histogram(np.arctan2(*points.T[::-1]), bins=SECTORS, range=(-np.pi, np.pi))[0]


def part_in_cone(source: Points, target: Points) -> float:
    """Return the fraction of all pairs less than 90 degrees apart, in O(n log n).

    >>> part_in_cone(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0], [1.0, -9.0], [-2.0, 0.0]]))
    0.6666666666666666
    """
    angles = np.sort(np.arctan2(*target.T[::-1]))
    # Three turns, so that no cone begins before the first or ends after the last angle.
    turns = np.concatenate([angles - 2 * np.pi, angles, angles + 2 * np.pi])
    middles = np.arctan2(*source.T[::-1])
    since = np.searchsorted(turns, middles - np.pi / 2, side="right")
    until = np.searchsorted(turns, middles + np.pi / 2, side="left")
    return float((until - since).sum() / (len(source) * len(target)))


def measure_plane(plane: Plane) -> dict[str, float]:
    """Return what the figures of a plane show, by name in words; its graph has an edge.

    Rank correlations are NaN if degrees, or directions, are the same for all nodes.
    """
    source, target, graph = plane.source, plane.target, plane.graph
    products = np.einsum("ij,ij->i", source[graph.row_of_entry], target[graph.indices])
    shared = np.minimum(count_by_sector(source), count_by_sector(target)).sum() / len(source)
    near_targets = _degree_nearness(graph.out_degrees, source, target)
    near_sources = _degree_nearness(graph.in_degrees, target, source)
    return {
        "edges whose ends are within 90 degrees": float((products > 0).mean()),
        "pairs of nodes within 90 degrees": part_in_cone(source, target),
        "directions that source and target space share": float(shared),
        "rank correlation of out-degree and nearness to the targets": near_targets,
        "rank correlation of in-degree and nearness to the sources": near_sources,
    }


def _degree_nearness(degrees: NDArray[np.int64], points: Points, others: Points) -> float:
    nearness = unit_vectors(points) @ mean_direction(others)
    if np.ptp(degrees) == 0 or np.ptp(nearness) == 0:
        return float("nan")
    ranks = []  # not by scipy.stats, which loads slowly: the service imports this module
    for values in (degrees, nearness):
        ordered = np.sort(values)
        ranks.append(np.searchsorted(ordered, values) + np.searchsorted(ordered, values, "right"))
    return float(np.corrcoef(ranks)[0, 1])
