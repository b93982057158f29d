"""Vectors of norm 1 on the circle, with degrees and edges: the paper's figure of ego-Facebook."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import NodeIds
from arcvec.plot.directions import SECTORS, Points, count_by_sector
from arcvec.plot.figures import COLOURS
from arcvec.plot.panels import draw_edges, four_panels, scatter
from arcvec.plot.plane import Plane, choose_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOURCE_COLOUR, TARGET_COLOUR, *_SELECTED_COLOURS = COLOURS
LONGEST_TICK = 0.6
"""Length of the tick of the highest degree; the circle has radius 1."""


def circle_figure(plane: Plane, selected: NodeIds | None = None) -> Figure:
    """Return the four panels: each space with degree ticks, both, and edges of some targets.

    Args:
        selected: targets whose edges are drawn; by default a few, spread over the circle.

    Raises:
        ValueError: the vectors do not all have norm 1.
    """
    if not plane.on_circle:
        raise ValueError(
            "expected vectors of norm 1, which lie on a circle, got others; "
            "fit with --dim 4 --model.unit-norm, or draw them with --kind colours"
        )
    directed = plane.graph.directed
    titles = (
        f"(a) source space, ticks: {'out-' if directed else ''}degree",
        f"(b) target space, ticks: {'in-' if directed else ''}degree",
        "(c) both spaces, bands: number of nodes",
        "(d) selected targets and their edges (how many)",
    )
    with_ticks = 1.1 + LONGEST_TICK
    figure, panels = four_panels(titles, (with_ticks, with_ticks, 1.4, 1.4))
    sides = (
        (plane.source, plane.graph.out_degrees, SOURCE_COLOUR),
        (plane.target, plane.graph.in_degrees, TARGET_COLOUR),
    )
    highest = max(int(degrees.max(initial=1)) for _, degrees, _ in sides)
    for axes, (points, degrees, colour) in zip(panels, sides, strict=False):
        _draw_circle(axes)
        _draw_ticks(axes, points, degrees / highest * LONGEST_TICK, colour)
        scatter(axes, points, colour)
        _draw_scale(axes, highest)
    _draw_both(panels[2], plane)
    _draw_selected(panels[3], plane, choose_targets(plane, 4) if selected is None else selected)
    return figure


def _draw_circle(axes: Axes) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.8", linewidth=0.8, zorder=0))


def _draw_ticks(axes: Axes, points: Points, lengths: NDArray[np.float64], colour: str) -> None:
    """Draw a tick from every node outwards, where there is more room than inside."""
    from matplotlib.collections import LineCollection

    segments = np.stack([points, points * (1 + lengths[:, None])], axis=1)
    ticks = LineCollection(list(segments), colors=colour, linewidths=0.7, alpha=0.5)
    ticks.set_rasterized(True)
    axes.add_collection(ticks)


def _draw_scale(axes: Axes, highest: int) -> None:
    """Draw, in the middle, how long a tick of a round degree is."""
    shown = _round_below(highest)
    length = shown / highest * LONGEST_TICK
    axes.plot([-length / 2, length / 2], [0, 0], color="0.3", linewidth=1.5)
    axes.text(0, 0.05, f"degree {shown:,}", horizontalalignment="center", fontsize=10, color="0.3")


def _round_below(number: int) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50, ... that is not above a number.

    >>> [_round_below(number) for number in (1, 7, 99, 1045)]
    [1, 5, 50, 1000]
    """
    power = int("1" + "0" * (len(str(number)) - 1))
    return max(step for step in (power, 2 * power, 5 * power) if step <= number)


def _draw_both(axes: Axes, plane: Plane) -> None:
    from matplotlib.lines import Line2D

    _draw_circle(axes)
    # Sources outside, targets inside, so that neither space hides the other.
    sides = ((plane.source, 1, SOURCE_COLOUR), (plane.target, -1, TARGET_COLOUR))
    highest = max(count_by_sector(points).max() for points, *_ in sides)
    for points, outwards, colour in sides:
        scatter(axes, (1 + 0.015 * outwards) * points, colour)
        _draw_counts(axes, count_by_sector(points) / highest, outwards, colour)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour, label=name)
        for name, colour in (("source", SOURCE_COLOUR), ("target", TARGET_COLOUR))
    ]
    axes.legend(handles=handles, loc="center", frameon=False, fontsize=12)


def _draw_counts(axes: Axes, heights: NDArray[np.float64], outwards: int, colour: str) -> None:
    """Draw how many nodes lie in each direction, which dots on top of each other do not show."""
    edges = np.linspace(-np.pi, np.pi, SECTORS + 1)
    around = np.repeat(edges, 2)[1:-1]  # both ends of every sector: steps, not slopes
    inner = np.ones(around.size)
    outer = inner + 0.33 * outwards * np.repeat(heights, 2)
    radii, turns = np.concatenate([inner, outer[::-1]]), np.concatenate([around, around[::-1]])
    axes.fill(radii * np.cos(turns), radii * np.sin(turns), color=colour, alpha=0.35, linewidth=0)


def _draw_selected(axes: Axes, plane: Plane, selected: NodeIds) -> None:
    for points, colour in ((plane.source, SOURCE_COLOUR), (plane.target, TARGET_COLOUR)):
        scatter(axes, points, colour, alpha=0.08)
    _draw_circle(axes)
    coloured = zip(selected, cycle(_SELECTED_COLOURS), strict=False)
    # Short edges on top: long ones would cover them.
    for target, colour in sorted(coloured, key=lambda pair: _edge_length(plane, pair[0]))[::-1]:
        draw_edges(axes, plane, int(target), colour)


def _edge_length(plane: Plane, target: int) -> float:
    """Return the mean length of a target's edges; 0 if it has none."""
    lengths = np.linalg.norm(plane.source[plane.sources_of(target)] - plane.target[target], axis=1)
    return float(lengths.sum() / max(lengths.size, 1))
