"""In numbers what the figures of two numbers a side show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arcvec.plot.directions import (
    Points,
    count_by_sector,
    mean_direction,
    part_in_cone,
    unit_vectors,
)
from arcvec.plot.plane import Plane


@dataclass(frozen=True)
class PlaneMeasures:
    """How the two spaces lie to each other.

    Attributes:
        edges_in_cone: part of the edges u -> v whose target lies within 90 degrees of the source,
            an undirected edge counted in both directions.
        pairs_in_cone: the same part of all pairs of nodes: what chance would give.
        shared_directions: how much of their directions the two spaces share, from 0 (disjoint) to
            1 (the same): the overlap of the two histograms by sectors.
        source_degree_nearness, target_degree_nearness: rank correlation, over the nodes of a side,
            of degree and nearness to the mean direction of the other side; NaN if all are equal.
    """

    edges_in_cone: float
    pairs_in_cone: float
    shared_directions: float
    source_degree_nearness: float
    target_degree_nearness: float

    def __str__(self) -> str:
        return (
            f"within 90 degrees of each other: {self.edges_in_cone:.1%} of the edges, "
            f"{self.pairs_in_cone:.1%} of all pairs of nodes\n"
            f"directions that source and target space share: {self.shared_directions:.1%}\n"
            "rank correlation of degree and nearness to the other space: "
            f"{self.source_degree_nearness:.2f} (sources), "
            f"{self.target_degree_nearness:.2f} (targets)"
        )


def measure_plane(plane: Plane) -> PlaneMeasures:
    """Return the measures of a plane, whose graph has an edge."""
    source, target, graph = plane.source, plane.target, plane.graph
    products = np.einsum("ij,ij->i", source[graph.row_of_entry], target[graph.indices])
    shared = np.minimum(count_by_sector(source), count_by_sector(target)).sum() / len(source)
    return PlaneMeasures(
        edges_in_cone=float((products > 0).mean()),
        pairs_in_cone=part_in_cone(source, target),
        shared_directions=float(shared),
        source_degree_nearness=_degree_nearness(graph.out_degrees, source, target),
        target_degree_nearness=_degree_nearness(graph.in_degrees, target, source),
    )


def _degree_nearness(degrees: NDArray[np.int64], points: Points, others: Points) -> float:
    from scipy.stats import rankdata

    nearness = unit_vectors(points) @ mean_direction(others)
    ranks = [rankdata(values) for values in (degrees, nearness)]
    if any(np.ptp(values) == 0 for values in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])
