"""What figures of two numbers a side draw alike: panels, nodes, edges, words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcvec.plot.directions import Points
from arcvec.plot.figures import new_figure, shown_name
from arcvec.plot.plane import Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def four_panels(titles: Sequence[str], limits: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Return a figure of two by two panels without frames, each from -limit to limit."""
    figure = new_figure(11, 11.4)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.12)
    panels = list(figure.subplots(2, 2).ravel())
    for axes, title, limit in zip(panels, titles, limits, strict=True):
        axes.set_title(title, fontsize=13)
        axes.set_aspect("equal")
        axes.set_xlim(-limit, limit)
        axes.set_ylim(-limit, limit)
        axes.set_axis_off()
    return figure, panels


def scatter(axes: Axes, points: Points, colour: Any, **style: Any) -> Any:
    """Draw nodes as dots, the smaller and the more transparent the more there are."""
    num_nodes = max(len(points), 1)
    default = {
        "s": float(np.clip(24_000 / num_nodes, 7, 40)),
        "alpha": float(np.clip(30 / num_nodes**0.5, 0.25, 0.9)),
        "linewidths": 0,
        # Thousands of dots would make a drawing of megabytes.
        "rasterized": True,
    }
    return axes.scatter(points[:, 0], points[:, 1], c=colour, **(default | style))


def draw_edges(axes: Axes, plane: Plane, target: int, colour: str) -> None:
    """Draw a target with its name and number of edges, and these edges to the source space."""
    from matplotlib.collections import LineCollection

    place, ends = plane.target[target], plane.source[plane.sources_of(target)]
    segments = np.stack([np.broadcast_to(place, ends.shape), ends], axis=1)
    alpha = float(np.clip(6 / max(len(ends), 1) ** 0.5, 0.25, 0.8))
    lines = LineCollection(list(segments), colors=colour, linewidths=0.9, alpha=alpha, zorder=3)
    axes.add_collection(lines)
    scatter(axes, ends, colour, s=14, alpha=0.9, zorder=4)
    star = {"marker": "*", "s": 260, "edgecolors": "white", "linewidths": 0.8, "alpha": 1}
    scatter(axes, place[None], colour, zorder=6, rasterized=False, **star)
    # Away from the origin: there are fewer edges.
    offset = 14 * place / max(float(np.linalg.norm(place)), 1e-12)
    words = f"{shown_name(plane.graph.nodes[target])} ({len(ends):,})"
    write_beside(axes, place, colour, words, offset)


def write_beside(
    axes: Axes, place: NDArray[np.float64], colour: str, words: str, offset: Any
) -> None:
    """Write words beside a place, white around them so that dots do not drown them.

    Args:
        offset: (x, y) in points; words go on to that side.
    """
    from matplotlib.patheffects import withStroke

    text = axes.annotate(
        words,
        tuple(place),
        xytext=tuple(offset),
        textcoords="offset points",
        horizontalalignment="left" if offset[0] > 0 else "right",
        verticalalignment="center",
        fontsize=11,
        color=colour,
        zorder=8,
    )
    text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
