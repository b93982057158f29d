"""Both spaces of two numbers a side, coloured so that edges show: the paper's figure of PPI."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds
from arcvec.plot.colour_plane import Colours, colours_by_place, to_rgb
from arcvec.plot.directions import Points
from arcvec.plot.figures import COLOURS
from arcvec.plot.panels import draw_edges, four_panels, scatter, write_beside
from arcvec.plot.plane import Plane, choose_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ALPHA = 0.7  # more than where colour says nothing: pale colours are hard to compare
_NO_EDGES = np.array([0.75, 0.0, 0.0])  # grey


def colours_figure(plane: Plane, selected: NodeIds | None = None) -> Figure:
    """Return the four panels: each space in colours, both, and edges and cones of some targets.

    Args:
        selected: targets whose edges are drawn; by default two, in different directions.
    """
    titles = (
        "(a) source space, mean colour of each node's targets",
        "(b) target space, coloured by place",
        "(c) both spaces (dots: source, triangles: target)",
        "(d) selected targets, edges (how many), 90° cones",
    )
    chosen = choose_targets(plane, 2) if selected is None else selected
    shown = (
        [plane.source],
        [plane.target],
        [plane.source, plane.target],
        [plane.source, plane.target[chosen]],
    )
    figure, panels = four_panels(titles, [_limit(points) for points in shown])
    for axes, points in zip(panels, shown, strict=True):
        _draw_axes(axes)
        _tell_how_many_are_beyond(axes, points)
    places = colours_by_place(plane.target)
    source_colours, target_colours = to_rgb(mean_of_targets(plane.graph, places)), to_rgb(places)
    for axes in (panels[0], panels[2]):
        scatter(axes, plane.source, source_colours, alpha=_ALPHA)
    for axes in panels[1:3]:
        scatter(axes, plane.target, target_colours, alpha=_ALPHA, marker="^")
    _draw_selected(panels[3], plane, chosen)
    return figure


def mean_of_targets(graph: Graph, values: Colours) -> Colours:
    """Return the row-normalised adjacency times `values`; grey where a node has no out-edge."""
    from scipy.sparse import csr_array

    weights = np.ones(graph.indices.size) if graph.weights is None else graph.weights
    shape = (graph.num_nodes, graph.num_nodes)
    adjacency = csr_array((weights, graph.indices, graph.indptr), shape=shape)
    totals = adjacency.sum(axis=1)[:, None]
    means = adjacency @ values / np.maximum(totals, 1e-12)
    return np.where(totals > 0, means, _NO_EDGES)


def _limit(points: Sequence[Points]) -> float:
    """Return the half width of a panel that shows points, but for a few that lie far out."""
    reaches = [np.abs(side).max(axis=1, initial=1e-9) for side in points if len(side)]
    limits = [
        min(reach.max(), 1.5 * np.quantile(reach, 0.999, method="higher")) for reach in reaches
    ]
    return 1.08 * float(max(limits))


def _tell_how_many_are_beyond(axes: Axes, points: Sequence[Points]) -> None:
    limit = axes.get_xlim()[1]
    count = sum(int((np.abs(side).max(axis=1, initial=0) > limit).sum()) for side in points)
    if count:
        words = f"{count:,} {'node' if count == 1 else 'nodes'} beyond the rim"
        axes.text(0.02, 0.02, words, transform=axes.transAxes, fontsize=10, color="0.3")


def _draw_axes(axes: Axes) -> None:
    """Draw the axes in black, the diagonals in grey, and how long the unit is in this panel."""
    ends = np.array(axes.get_xlim())
    for slope in (1, -1):
        axes.plot(ends, slope * ends, color="0.8", linewidth=0.8, zorder=0)
    axes.plot(ends, 0 * ends, color="black", linewidth=0.8, zorder=0)
    axes.plot(0 * ends, ends, color="black", linewidth=0.8, zorder=0)
    unit = 10.0 ** np.floor(np.log10(ends[1]))
    axes.plot([unit], [0], "|", color="black", markersize=8, zorder=7)
    write_beside(axes, np.array([unit, 0.0]), "black", f"{unit:g}", offset=(-3, 10))


def _draw_selected(axes: Axes, plane: Plane, selected: NodeIds) -> None:
    scatter(axes, plane.source, "0.6", alpha=0.3)
    for target, colour in zip(selected, cycle(COLOURS), strict=False):
        _draw_cone(axes, plane.target[target], colour)
        draw_edges(axes, plane, int(target), colour)


def _draw_cone(axes: Axes, place: NDArray[np.float64], colour: str) -> None:
    """Shade where sources have a positive inner product with a target.

    The paper calls it the 90-degree cone and says that it is the area of positive inner products:
    these are all directions within 90 degrees on either side, half of the plane.
    """
    from matplotlib.patches import Wedge

    direction = float(np.degrees(np.arctan2(place[1], place[0])))
    radius = axes.get_xlim()[1]
    cone = Wedge((0, 0), radius, direction - 90, direction + 90, color=colour, alpha=0.12, zorder=0)
    cone.set_linewidth(0)
    axes.add_patch(cone)
