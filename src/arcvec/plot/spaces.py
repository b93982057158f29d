"""Both spaces in the plane: where a node stands as a source, and where as a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.plot.figures import new_figure, save_figure, shown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS = 14


def project(embeddings: EdgeEmbeddings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return source and target vectors in the plane, (num_nodes, 2) each.

    Of all pairs of planes these keep the scores best: the inner product of the two projections is
    the best approximation of rank 2 to the table of all scores.
    """
    source, target = embeddings.vectors("source"), embeddings.vectors("target")
    source_basis, source_part = np.linalg.qr(source.astype(np.float64))
    target_basis, target_part = np.linalg.qr(target.astype(np.float64))
    left, values, right = np.linalg.svd(source_part @ target_part.T)
    scale = np.sqrt(values[:2])
    missing = ((0, 0), (0, 2 - scale.size))  # one number a side lies on a line
    return (
        np.pad(source_basis @ left[:, :2] * scale, missing),
        np.pad(target_basis @ right[:2].T * scale, missing),
    )


def draw_spaces(
    embeddings: EdgeEmbeddings, graph: Graph, path: str | Path, *, overwrite: bool = False
) -> None:
    """Write a figure of the source space and the target space, side by side."""
    save_figure(spaces_figure(embeddings, graph), [path], overwrite=overwrite)


def spaces_figure(embeddings: EdgeEmbeddings, graph: Graph) -> Figure:
    """Return a figure of the source space and the target space, side by side.

    Colour tells the degree on that side; the nodes of highest degree carry their names. Two nodes
    that point the same way across the panels are likely joined by an edge.
    """
    figure = new_figure(13, 6.2)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    spaces = project(embeddings)
    degrees = (graph.out_degrees, graph.in_degrees)
    titles = ("as source (coloured by out-degree)", "as target (coloured by in-degree)")
    for axes, points, degree, title in zip(panels, spaces, degrees, titles, strict=True):
        dots = _scatter(axes, points, degree)
        axes.set_title(title)
        figure.colorbar(dots, ax=axes, label="degree + 1", pad=0.01)
    figure.draw_without_rendering()  # settles where points lie, which the labels need
    for axes, points, degree in zip(panels, spaces, degrees, strict=True):
        _label(axes, points, degree, embeddings)
    return figure


def _scatter(axes: Axes, points: NDArray[np.float64], degree: NDArray[np.int64]) -> Any:
    order = np.argsort(degree)  # high degrees on top
    axes.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.85", linewidth=0.8, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    return axes.scatter(
        points[order, 0],
        points[order, 1],
        c=degree[order] + 1,
        s=6 + 3 * np.sqrt(degree[order]),
        cmap="viridis_r",
        norm="log",
        alpha=0.75,
        linewidths=0,
        rasterized=len(points) > 2000,
    )


def _label(
    axes: Axes,
    points: NDArray[np.float64],
    degree: NDArray[np.int64],
    embeddings: EdgeEmbeddings,
) -> None:
    """Name the nodes of highest degree, leaving out names that would cover another."""
    pixels = axes.transData.transform(points)
    placed: list[tuple[float, float, float, float]] = []
    for node in np.argsort(-degree, kind="stable")[: 6 * _LABELS]:
        name = shown_name(embeddings.nodes[int(node)])
        left, bottom = pixels[node]
        box = (left, bottom, left + 6.5 * len(name) + 8, bottom + 13)
        if len(placed) == _LABELS or any(_overlap(box, other) for other in placed):
            continue
        placed.append(box)
        axes.annotate(
            name, points[node], xytext=(5, 3), textcoords="offset points", fontsize=9, zorder=3
        )


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    apart = one[0] > other[2] or other[0] > one[2] or one[1] > other[3] or other[1] > one[3]
    return not apart
