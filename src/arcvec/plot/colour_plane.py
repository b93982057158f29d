"""Colours for places in the plane: near places, similar colours, also for the colour-blind."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Colours: TypeAlias = NDArray[np.float64]
"""(n, 3)."""

# The corners of the colour square in Oklab, where distances are differences that people see and
# means are mixtures: lightness, green to red, blue to yellow. From left to right blue turns to
# yellow, from bottom to top dark to light: the two differences that the red-green blind see.
_CORNERS = np.array(
    [
        [[0.35, 0.03, -0.16], [0.55, 0.16, 0.09]],  # bottom: indigo, vermilion
        [[0.74, -0.06, -0.11], [0.84, 0.01, 0.16]],  # top: sky blue, yellow
    ]
)
_TO_LMS = np.array(
    [
        [1, 0.3963377774, 0.2158037573],
        [1, -0.1055613458, -0.0638541728],
        [1, -0.0894841775, -1.2914855480],
    ]
)
_TO_LINEAR_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def colours_by_place(points: NDArray[np.float64]) -> Colours:
    """Return Oklab colours that vary with the place, (n, 3).

    The middle 98 % of both coordinates span the colour square; points beyond have the colour of
    its rim, so that a few far ones do not take all the colours.
    """
    low, high = np.percentile(points, [1, 99], axis=0)
    x, y = np.clip((points - low) / np.maximum(high - low, 1e-12), 0, 1).T[..., None]
    bottom, top = ((1 - x) * left + x * right for left, right in _CORNERS)
    colours: Colours = (1 - y) * bottom + y * top
    return colours


def to_rgb(oklab: Colours) -> Colours:
    """Return sRGB colours, each number from 0 to 1, of Oklab colours.

    >>> to_rgb(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).round(3) + 0.0
    array([[1., 1., 1.],
           [0., 0., 0.]])
    """
    linear = np.clip((oklab @ _TO_LMS.T) ** 3 @ _TO_LINEAR_RGB.T, 0, 1)
    bright = 1.055 * linear ** (1 / 2.4) - 0.055
    rgb: Colours = np.where(linear <= 0.0031308, 12.92 * linear, bright)
    return rgb
