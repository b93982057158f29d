"""AUC against dim, or another number: one panel a dataset, one line a method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcvec.plot.figures import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREYS = ("0.3", "0.5", "0.65")
_MARKERS = "sD^vPX<>"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)))
_LEVEL_DASHES = ((0, (1, 1)), (0, (5, 1)), (0, (5, 1, 1, 1)), (0, (8, 3)))
_COLUMNS = 3

Curves = Mapping[str, Mapping[str, NDArray[np.float64]]]
"""By dataset and method: (dims, 3) of dim, mean, spread; a dim of NaN is a method without one."""

Styles = dict[str, dict[str, Any]]
"""By method: what matplotlib's lines take."""


def draw_curves(
    curves: Curves,
    paths: Iterable[str | Path],
    *,
    title: str = "",
    highlighted: str = "",
    across: str = "dim (numbers stored per node)",
    ticks: Sequence[float] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a figure of AUC against dim to every path, in the format of its suffix.

    Bars are the spread over seeds. A method without a dim is a thin grey line across.

    Args:
        highlighted: method drawn in a thick black line, above the others.
        across: what the curves have instead of dims.
        ticks: where that axis is labelled; by default at every dim.
    """
    if not any(curve.size for panel in curves.values() for curve in panel.values()):
        raise ValueError("expected results to draw, got none that are finished")
    num_columns = min(_COLUMNS, len(curves))
    num_rows = math.ceil(len(curves) / num_columns)
    styles = _styles(curves, highlighted)
    figure = new_figure(4.2 * num_columns + 2.6, 3.3 * num_rows + 0.5)
    panels = figure.subplots(num_rows, num_columns, squeeze=False, sharex=True).ravel()
    dims = sorted({d for panel in curves.values() for c in panel.values() for d in c[:, 0]})
    dims = [dim for dim in dims if not np.isnan(dim)]
    if ticks is not None and dims:
        dims = [tick for tick in ticks if dims[0] / 2 <= tick <= dims[-1] * 2]
    for axes, (dataset, lines) in zip(panels, curves.items(), strict=False):
        _draw_panel(axes, dataset, lines, styles)
        _label_dims(axes, dims)
    for axes in panels[len(curves) :]:
        axes.remove()
    _label_outside(panels[: len(curves)], num_columns, across)
    _add_legend(figure, styles)
    if title:
        figure.suptitle(title, x=0.01, horizontalalignment="left")
    save_figure(figure, paths, overwrite=overwrite)


def _draw_panel(
    axes: Axes, dataset: str, lines: Mapping[str, NDArray[np.float64]], styles: Styles
) -> None:
    axes.set_title(dataset)
    axes.set_xscale("log", base=2)
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    for method, curve in lines.items():
        if not curve.size:
            continue
        dims, means, spreads = curve.T
        if np.isnan(dims[0]):
            axes.axhline(means[0], **styles[method])
        else:
            bars = spreads if spreads.any() else None
            axes.errorbar(dims, means, yerr=bars, capsize=2, elinewidth=1, **styles[method])


def _label_dims(axes: Axes, dims: list[float]) -> None:
    axes.set_xticks(dims, [f"{dim:g}" for dim in dims])
    axes.minorticks_off()
    if not dims:
        axes.xaxis.set_visible(False)
    elif len(dims) == 1:
        axes.set_xlim(dims[0] / 2, dims[0] * 2)


def _label_outside(panels: Any, num_columns: int, across: str) -> None:
    """Name the axes at the rim; a panel with none below it shows its dims."""
    for i, axes in enumerate(panels):
        if i % num_columns == 0:
            axes.set_ylabel("AUC")
        if i + num_columns >= len(panels):
            axes.set_xlabel(across)
            axes.tick_params(labelbottom=True)


def _add_legend(figure: Figure, styles: Styles) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=method, **style) for method, style in styles.items()]
    figure.legend(handles=handles, loc="outside right center", frameon=False, handlelength=3.5)


def _styles(curves: Curves, highlighted: str) -> Styles:
    """Return how each method is drawn, the same in every panel; those without points left out."""
    level: dict[str, bool] = {}
    for method in dict.fromkeys(method for panel in curves.values() for method in panel):
        points = [panel[method] for panel in curves.values() if method in panel]
        points = [curve for curve in points if curve.size]
        if points:
            level[method] = bool(np.isnan(points[0][0, 0]))
    styles: Styles = {}
    counts = [0, 0]
    for method, is_level in level.items():
        if method == highlighted:
            styles[method] = _line("black", "-", 2.4, "o") | {"zorder": 4}
            continue
        i = counts[is_level]
        counts[is_level] += 1
        if is_level:
            dashes = _LEVEL_DASHES[i % len(_LEVEL_DASHES)]
            styles[method] = _line(_GREYS[i % len(_GREYS)], dashes, 1.2, None)
        else:
            dashes = _DASHES[i // len(COLOURS) % len(_DASHES)]
            styles[method] = _line(
                COLOURS[i % len(COLOURS)], dashes, 1.4, _MARKERS[i % len(_MARKERS)]
            )
    return styles


def _line(colour: str, dashes: Any, width: float, marker: str | None) -> dict[str, Any]:
    return {
        **{"color": colour, "linestyle": dashes, "linewidth": width},
        **{"marker": marker, "markersize": 5},
    }
