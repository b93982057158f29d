"""Directions of points in the plane, seen from the origin."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = NDArray[np.float64]
"""(n, 2): places in the plane."""

SECTORS = 120
"""Directions are counted in sectors of 3 degrees."""


def unit_vectors(points: Points) -> Points:
    """Return points of norm 1 in the same directions; the origin stays where it is."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    directions: Points = points / np.where(norms > 0, norms, 1)
    return directions


def mean_direction(points: Points) -> NDArray[np.float64]:
    """Return the (2,) unit vector in the mean direction of all points, however far they are."""
    (direction,) = unit_vectors(unit_vectors(points).mean(axis=0, keepdims=True))
    return np.asarray(direction)


def angles_from_mean(points: Points) -> NDArray[np.float64]:
    """Return directions in radians, from -pi to pi, 0 being the mean direction of all points.

    >>> np.degrees(angles_from_mean(np.array([[0.0, 2.0], [1.0, 0.0]]))).round()
    array([ 45., -45.])
    """
    x, y = mean_direction(points)
    angles: NDArray[np.float64] = np.arctan2(points @ [-y, x], points @ [x, y])
    return angles


def count_by_sector(points: Points) -> NDArray[np.int64]:
    """Return how many points lie in each of the `SECTORS`, from -180 to 180 degrees."""
    angles = np.arctan2(points[:, 1], points[:, 0])
    return np.histogram(angles, bins=SECTORS, range=(-np.pi, np.pi))[0]


def part_in_cone(source: Points, target: Points) -> float:
    """Return the part of all pairs that are less than 90 degrees apart, without a look at each.

    >>> part_in_cone(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0], [1.0, -9.0], [-2.0, 0.0]]))
    0.6666666666666666
    """
    angles = np.sort(np.arctan2(target[:, 1], target[:, 0]))
    # Three turns, so that no cone begins before the first or ends after the last angle.
    turns = np.concatenate([angles - 2 * np.pi, angles, angles + 2 * np.pi])
    middles = np.arctan2(source[:, 1], source[:, 0])
    since = np.searchsorted(turns, middles - np.pi / 2, side="right")
    until = np.searchsorted(turns, middles + np.pi / 2, side="left")
    return float((until - since).sum() / (len(source) * len(target)))
