"""Figures of both spaces of a result: the best projection, the paper's circle and its colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.view import figures
from arcvec.view import plane as geometry
from arcvec.view.figures import COLOURS, new_figure, shown_name, training_figure
from arcvec.view.plane import Kind, Plane, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_TICK = 0.6  # of the highest degree; the circle has radius 1
_ALPHA = 0.7  # pale colours are hard to compare
_MAX_LABELS = 14


def result_figure(
    embeddings: EdgeEmbeddings,
    *,
    kind: Kind = "auto",
    graph: Graph | None = None,
    nodes: Sequence[str] = (),
) -> tuple[Figure, dict[str, float]]:
    """Return a figure of a result, and what "circle" and "colours" show in numbers.

    Args:
        kind: see `choose_kind` for "auto".
        graph: whose degrees and edges are drawn, matched by name; "training" needs none.
        nodes: names of the targets whose edges "circle" and "colours" draw; by default a few.
    """
    kind = geometry.choose_kind(embeddings) if kind == "auto" else kind
    if nodes and kind not in ("circle", "colours"):
        raise ValueError(
            f'expected no nodes for the kind "{kind}"; "circle" and "colours" draw edges of nodes'
        )
    if kind == "training":
        return training_figure(embeddings), {}
    if graph is None:
        raise ValueError(
            f'the kind "{kind}" draws degrees and edges: expected a graph, got none; '
            "pass --graph with a graph folder, split folder or edge file"
        )
    if kind == "spaces":
        return spaces_figure(embeddings, geometry.graph_over(graph, embeddings.nodes)), {}
    plane = Plane.of(embeddings, graph)
    selected = plane.graph.nodes.ids(nodes) if nodes else None
    draw = circle_figure if kind == "circle" else colours_figure
    return draw(plane, selected), geometry.measure_plane(plane)


def spaces_figure(embeddings: EdgeEmbeddings, graph: Graph) -> Figure:
    """Return a figure of the best projection of both spaces; nodes of highest degree are named."""
    figure = new_figure(13, 6.2)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    both_degrees = (graph.out_degrees, graph.in_degrees)
    sides = list(zip(panels, geometry.project(embeddings), both_degrees, strict=True))
    panels[0].set_title("as source (coloured by out-degree)")
    panels[1].set_title("as target (coloured by in-degree)")
    style: dict[str, Any] = {"cmap": "viridis_r", "norm": "log", "alpha": 0.75, "linewidths": 0}
    for axes, points, degrees in sides:
        for line in (axes.axhline, axes.axvline):
            line(0, color="0.85", linewidth=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        order = np.argsort(degrees)  # high degrees on top
        shown, style["rasterized"] = degrees[order], len(points) > 2000
        dots = axes.scatter(*points[order].T, 6 + 3 * np.sqrt(shown), shown + 1, **style)
        figure.colorbar(dots, ax=axes, label="degree + 1", pad=0.01)
    figure.draw_without_rendering()  # computes the layout, which the labels need
    for axes, points, degrees in sides:
        _label_highest(axes, points, degrees, embeddings.nodes)
    return figure


def _label_highest(
    axes: Axes, points: Points, degrees: NDArray[np.int64], nodes: NodeNames
) -> None:
    """Name the nodes of highest degree, leaving out names that would cover another."""
    from matplotlib.transforms import Bbox

    pixels = axes.transData.transform(points)
    placed: list[Bbox] = []
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9, "zorder": 3}
    for node in np.argsort(-degrees, kind="stable")[: 6 * _MAX_LABELS]:
        name = shown_name(nodes[int(node)])
        left, bottom = pixels[node]
        box = Bbox.from_bounds(left, bottom, 6.5 * len(name) + 8, 13)
        if len(placed) < _MAX_LABELS and not any(map(box.overlaps, placed)):
            placed.append(box)
            axes.annotate(name, points[node], xytext=(5, 3), **style)


def circle_figure(plane: Plane, selected: NodeIds | None = None) -> Figure:
    """Return the paper's figure of ego-Facebook: degree ticks, both spaces, edges of targets."""
    if not geometry.unit_norms(plane.source, plane.target):
        raise ValueError(
            "expected vectors of norm 1, which lie on a circle, got others; "
            "fit with --dim 4 --model.unit-norm, or draw them with --kind colours"
        )
    out, into = ("out-", "in-") if plane.graph.directed else ("", "")
    limit_of = {
        f"(a) source space, ticks: {out}degree": 1.1 + LONGEST_TICK,
        f"(b) target space, ticks: {into}degree": 1.1 + LONGEST_TICK,
        "(c) both spaces, bands: number of nodes": 1.4,
        "(d) selected targets and their edges (how many)": 1.4,
    }
    from matplotlib.patches import Circle

    figure, panels = _four_panels(limit_of)
    for axes in panels:
        axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.8", linewidth=0.8, zorder=0))
    both_degrees = (plane.graph.out_degrees, plane.graph.in_degrees)
    highest = max(int(degrees.max(initial=1)) for degrees in both_degrees)
    sides = zip((plane.source, plane.target), both_degrees, COLOURS, panels, strict=False)
    for points, degrees, colour, axes in sides:
        # Ticks point outwards, where there is more room.
        ends = points * (1 + (degrees / highest * LONGEST_TICK)[:, None])
        _draw_segments(axes, points, ends, colour, linewidths=0.7, alpha=0.5, rasterized=True)
        _scatter(axes, points, colour)
        _draw_scale(axes, highest)
        _scatter(panels[3], points, colour, alpha=0.08)
    _draw_both(panels[2], plane)
    chosen = geometry.choose_targets(plane, 4) if selected is None else selected
    for target, colour in zip(chosen, cycle(COLOURS[2:]), strict=False):
        _draw_edges(panels[3], plane, int(target), colour)
    return figure


def colours_figure(plane: Plane, selected: NodeIds | None = None) -> Figure:
    """Return the paper's figure of PPI: each space in colours, both, edges and cones of targets."""
    from matplotlib.patches import Wedge

    chosen = geometry.choose_targets(plane, 2) if selected is None else selected
    source, target = plane.source, plane.target
    shown: dict[str, list[Points]] = {
        "(a) source space, mean colour of each node's targets": [source],
        "(b) target space, coloured by place": [target],
        "(c) both spaces (dots: source, triangles: target)": [source, target],
        "(d) selected targets, edges (how many), 90° cones": [source, target[chosen]],
    }
    limits = []
    for some in shown.values():  # a few outliers lie beyond the rim
        reaches = (np.abs(side).max(axis=1, initial=1e-9) for side in some if len(side))
        ends = ((r.max(), 1.5 * np.quantile(r, 0.999, method="higher")) for r in reaches)
        limits.append(1.08 * float(max(map(min, ends))))
    figure, panels = _four_panels(dict(zip(shown, limits, strict=True)))
    for axes in panels:
        _draw_axes(axes)
    places = figures.colours_by_place(target)
    source_colours = figures.mean_of_targets(plane.graph, places)
    for axes in (panels[0], panels[2]):
        _scatter(axes, source, source_colours, alpha=_ALPHA)
    for axes in panels[1:3]:
        _scatter(axes, target, places, alpha=_ALPHA, marker="^")
    _scatter(panels[3], source, "0.6", alpha=0.3)
    for node, colour in zip(chosen, cycle(COLOURS), strict=False):
        # Sources in this half of the plane have a positive inner product with the target.
        middle = math.degrees(math.atan2(*target[node, ::-1]))
        cone = Wedge((0, 0), limits[3], middle - 90, middle + 90, color=colour, alpha=0.12)
        panels[3].add_patch(cone).set(zorder=0, linewidth=0)
        _draw_edges(panels[3], plane, int(node), colour)
    return figure


def _four_panels(limit_of: dict[str, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure of two by two panels without frames, by title from -limit to limit."""
    figure = new_figure(11, 11.4)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.12)
    panels = list(figure.subplots(2, 2).ravel())
    for axes, (title, limit) in zip(panels, limit_of.items(), strict=True):
        axes.set_title(title, fontsize=13)
        axes.set(aspect="equal", xlim=(-limit, limit), ylim=(-limit, limit))
        axes.set_axis_off()
    return figure, panels


def _scatter(axes: Axes, points: Points, colour: Any, **style: Any) -> None:
    """Draw nodes as dots; the more there are, the smaller and the more transparent."""
    num_nodes = max(len(points), 1)
    default = {
        "s": float(np.clip(24_000 / num_nodes, 7, 40)),
        "alpha": float(np.clip(30 / num_nodes**0.5, 0.25, 0.9)),
        "linewidths": 0,
        "rasterized": True,  # thousands of dots as vectors would take megabytes
    }
    axes.scatter(points[:, 0], points[:, 1], c=colour, **(default | style))


def _draw_segments(axes: Axes, starts: Points, ends: Points, colour: str, **style: Any) -> None:
    from matplotlib.collections import LineCollection

    segments = np.stack(np.broadcast_arrays(starts, ends), axis=1)
    axes.add_collection(LineCollection(list(segments), colors=colour, **style))


def _draw_edges(axes: Axes, plane: Plane, target: int, colour: str) -> None:
    """Draw a target with its name and number of edges, and these edges to the source space."""
    place, ends = plane.target[target], plane.source[plane.sources_of(target)]
    alpha = float(np.clip(6 / max(len(ends), 1) ** 0.5, 0.25, 0.8))
    _draw_segments(axes, place, ends, colour, linewidths=0.9, alpha=alpha, zorder=3)
    _scatter(axes, ends, colour, s=14, alpha=0.9, zorder=4)
    star = {"marker": "*", "s": 260, "edgecolors": "white", "linewidths": 0.8, "alpha": 1}
    _scatter(axes, place[None], colour, zorder=6, rasterized=False, **star)
    text = f"{shown_name(plane.graph.nodes[target])} ({len(ends):,})"
    # Away from the origin: there are fewer edges.
    _write_beside(axes, place, colour, text, offset=14 * geometry.unit_vectors(place))


def _write_beside(axes: Axes, place: Any, colour: str, text: str, offset: Any) -> None:
    """Write text beside a place, with a white outline; `offset` is (x, y) in points."""
    from matplotlib.patheffects import withStroke

    side = "left" if offset[0] > 0 else "right"
    style: dict[str, Any] = {"ha": side, "va": "center", "fontsize": 11}
    written = axes.annotate(text, tuple(place), tuple(offset), textcoords="offset points", **style)
    written.set(color=colour, zorder=8)
    written.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def _draw_scale(axes: Axes, highest: int) -> None:
    """Draw, in the middle, how long a tick of a round degree is: 1, 2, 5, 10, 20, 50, ..."""
    power = 10 ** (len(str(highest)) - 1)
    shown = max(step for step in (power, 2 * power, 5 * power) if step <= highest)
    length = shown / highest * LONGEST_TICK
    axes.plot([-length / 2, length / 2], [0, 0], color="0.3", linewidth=1.5)
    axes.text(0, 0.05, f"degree {shown:,}", horizontalalignment="center", fontsize=10, color="0.3")


def _draw_both(axes: Axes, plane: Plane) -> None:
    """Draw both spaces, and bands of how many nodes lie in each direction, which dots hide."""
    from matplotlib.lines import Line2D

    counts = [geometry.count_by_sector(points) for points in (plane.source, plane.target)]
    edges = np.linspace(-np.pi, np.pi, geometry.SECTORS + 1)
    around = np.repeat(edges, 2)[1:-1]  # both ends of every sector: steps, not slopes
    turns, handles = np.concatenate([around, around[::-1]]), []
    for i, name in enumerate(("source", "target")):
        # Sources outside, targets inside, so that neither space hides the other.
        outwards, colour = 1 - 2 * i, COLOURS[i]
        _scatter(axes, (1 + 0.015 * outwards) * getattr(plane, name), colour)
        outer = 1 + 0.33 * outwards * np.repeat(counts[i] / np.max(counts), 2)
        radii = np.concatenate([np.ones(around.size), outer[::-1]])
        x, y = radii * np.cos(turns), radii * np.sin(turns)
        axes.fill(x, y, color=colour, alpha=0.35, linewidth=0)
        handles.append(Line2D([], [], marker="o", linestyle="", color=colour, label=name))
    axes.legend(handles=handles, loc="center", frameon=False, fontsize=12)


def _draw_axes(axes: Axes) -> None:
    """Draw the axes in black, the diagonals in grey, and how long the unit is in this panel."""
    ends = np.array(axes.get_xlim())
    for y, colour in ((ends, "0.8"), (-ends, "0.8"), (0 * ends, "black")):
        axes.plot(ends, y, color=colour, linewidth=0.8, zorder=0)
    axes.plot(0 * ends, ends, color="black", linewidth=0.8, zorder=0)
    unit = 10.0 ** np.floor(np.log10(ends[1]))
    axes.plot([unit], [0], "|", color="black", markersize=8, zorder=7)
    _write_beside(axes, (unit, 0), "black", f"{unit:g}", offset=(-3, 10))
