"""Figures: colours that the colour-blind can tell apart, saving, curves and bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.storage.atomic import new_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from arcvec.recommendation.calibration import ReliabilityBin

SUFFIXES = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 150
_MAX_NAME_LENGTH = 30
# Okabe and Ito's palette without its yellow, which is too pale on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_GREYS = ("0.3", "0.5", "0.65")
_MARKERS = "sD^vPX<>"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)))
_LEVEL_DASHES = ((0, (1, 1)), (0, (5, 1)), (0, (5, 1, 1, 1)), (0, (8, 3)))
_NUM_COLUMNS = 3  # of panels

Colours: TypeAlias = NDArray[np.float64]  # (n, 3) sRGB, from 0 to 1
# By dataset and method: (dims, 3) of dim, mean, spread; a dim of NaN is a method without one.
Curves = Mapping[str, Mapping[str, NDArray[np.float64]]]
Styles = dict[str, dict[str, Any]]  # by method: arguments of matplotlib's lines

_GREY = np.full(3, 0.68)
# The corners of the colour square. To the right blue turns to yellow, upwards dark to light: the
# two differences that the red-green blind see.
CORNERS = np.array(
    [
        [[0.20, 0.13, 0.55], [0.78, 0.21, 0.16]],  # bottom: indigo, vermilion
        [[0.35, 0.71, 0.95], [0.97, 0.76, 0.19]],  # top: sky blue, yellow
    ]
)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with: pip install 'arcvec[plot]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def add_grid(axes: Axes, lines: Literal["both", "y"] = "both") -> None:
    """Draw a light grid below the data, and no frame above and to the right."""
    axes.grid(axis=lines, color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def require_figure_names(paths: Iterable[str | Path]) -> None:
    """Raise a `ValueError` if a suffix is none of the formats that figures are written in."""
    for path in map(Path, paths):
        if path.suffix not in SUFFIXES:
            raise ValueError(f"{path}: expected a name ending in {', '.join(SUFFIXES)}")


def shown_name(name: str) -> str:
    r"""Return the name of a node as figures write it: short, valid in XML, and no formula.

    >>> shown_name("a$b$\x01" + 40 * "c")
    'a\\$b\\$\ufffdccccccccccccccccccccccccc'
    """
    printable = (one if one.isprintable() else "\ufffd" for one in name[:_MAX_NAME_LENGTH])
    return "".join(printable).replace("$", r"\$")


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG document without a background; equal figures, equal text."""
    text = StringIO()
    _save(figure, text, "svg", transparent=True)
    return text.getvalue()


def save_figure(figure: Figure, paths: Iterable[str | Path], *, overwrite: bool = False) -> None:
    """Write a figure to every path, in the format of its suffix; equal figures, equal bytes."""
    chosen = [Path(path) for path in paths]
    require_figure_names(chosen)
    for path in chosen:
        with new_file(path, overwrite=overwrite) as partial:
            _save(figure, partial, path.suffix[1:])


def _save(figure: Figure, file: Path | StringIO, suffix: str, **options: Any) -> None:
    from matplotlib import rc_context

    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    options |= {"dpi": _DOTS_PER_INCH, "metadata": undated.get(suffix)}
    with rc_context({"svg.hashsalt": "arcvec"}):  # by default ids in an SVG are random
        figure.savefig(file, format=suffix, **options)


def colours_by_place(points: NDArray[np.float64], corners: Colours = CORNERS) -> Colours:
    """Return colours that vary with the place of (n, 2) points, mixed of those at the corners."""
    # The middle 98 % span the colour square: a few outliers must not use up the colours.
    low, high = np.percentile(points, [1, 99], axis=0)
    x, y = np.clip((points - low) / np.maximum(high - low, 1e-12), 0, 1).T[..., None]
    bottom, top = ((1 - x) * left + x * right for left, right in corners)
    return np.asarray((1 - y) * bottom + y * top)


def mean_of_targets(graph: Graph, values: Colours) -> Colours:
    """Return for each node the weighted mean of its targets' values; grey if it has none."""
    rows, num_nodes = graph.row_of_entry, graph.num_nodes
    weights = np.ones(rows.size) if graph.weights is None else graph.weights
    totals = np.bincount(rows, weights, num_nodes)[:, None]
    columns = (np.bincount(rows, weights * column[graph.indices], num_nodes) for column in values.T)
    means = np.stack(list(columns), axis=1) / np.maximum(totals, 1e-12)
    return np.where(totals > 0, means, _GREY)


def draw_curves(
    curves: Curves,
    paths: Iterable[str | Path],
    *,
    title: str = "",
    highlighted: str = "",
    across: str = "dim (numbers stored per node)",
    upwards: str = "AUC",
    ticks: Sequence[float] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a figure of AUC against dim to every path, one panel per dataset, one line per method.

    Args:
        highlighted: method drawn in a thick black line, above the others.
        across, upwards: what the curves have instead of dims, and of AUC.
        ticks: where that axis is labelled; by default at every dim.
    """
    if not any(curve.size for panel in curves.values() for curve in panel.values()):
        raise ValueError("expected results to draw, got none that are finished")
    num_columns, styles = min(_NUM_COLUMNS, len(curves)), _styles(curves, highlighted)
    num_rows = math.ceil(len(curves) / num_columns)
    figure = new_figure(4.2 * num_columns + 2.6, 3.3 * num_rows + 0.5)
    panels = figure.subplots(num_rows, num_columns, squeeze=False, sharex=True).ravel()
    dims = sorted({d for panel in curves.values() for c in panel.values() for d in c[:, 0]})
    dims = [dim for dim in dims if not np.isnan(dim)]
    if ticks is not None and dims:
        dims = [tick for tick in ticks if dims[0] / 2 <= tick <= dims[-1] * 2]
    for i, (axes, (dataset, lines)) in enumerate(zip(panels, curves.items(), strict=False)):
        _draw_lines(axes, lines, styles)
        axes.set(title=dataset, ylabel="" if i % num_columns else upwards)
        axes.set_xticks(dims, [f"{dim:g}" for dim in dims])
        axes.minorticks_off()
        axes.xaxis.set_visible(bool(dims))
        if len(dims) == 1:
            axes.set_xlim(dims[0] / 2, dims[0] * 2)
        if i + num_columns >= len(curves):  # no panel below
            axes.set_xlabel(across)
            axes.tick_params(labelbottom=True)
    for axes in panels[len(curves) :]:
        axes.remove()
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=method, **style) for method, style in styles.items()]
    figure.legend(handles=handles, loc="outside right center", frameon=False, handlelength=3.5)
    if title:
        figure.suptitle(title, x=0.01, horizontalalignment="left")
    save_figure(figure, paths, overwrite=overwrite)


def _draw_lines(axes: Axes, lines: Mapping[str, NDArray[np.float64]], styles: Styles) -> None:
    axes.set_xscale("log", base=2)
    add_grid(axes, "y")
    for method, curve in lines.items():
        if not curve.size:
            continue
        dims, means, spreads = curve.T
        if np.isnan(dims[0]):
            axes.axhline(means[0], **styles[method])
        else:
            bars = spreads if spreads.any() else None
            axes.errorbar(dims, means, yerr=bars, capsize=2, elinewidth=1, **styles[method])


def _styles(curves: Curves, highlighted: str) -> Styles:
    """Return how each method is drawn, the same in every panel; those without points left out."""
    styles: Styles = {}
    greys, level_dashes = cycle(_GREYS), cycle(_LEVEL_DASHES)
    colours, markers = cycle(COLOURS), cycle(_MARKERS)
    dashes = cycle(dash for dash in _DASHES for _ in COLOURS)
    for method in dict.fromkeys(method for panel in curves.values() for method in panel):
        points = np.concatenate([panel[method] for panel in curves.values() if method in panel])
        if not points.size:
            continue
        if method == highlighted:
            style = {"color": "black", "linewidth": 2.4, "marker": "o", "zorder": 4}
        elif np.isnan(points[0, 0]):
            style = {"color": next(greys), "linewidth": 1.2, "linestyle": next(level_dashes)}
        else:
            style = {"color": next(colours), "linewidth": 1.4, "linestyle": next(dashes)}
            style["marker"] = next(markers)
        styles[method] = {"markersize": 5} | style
    return styles


def training_figure(embeddings: EdgeEmbeddings) -> Figure:
    """Return two panels, one above the other: loss, and validation AUC with its best step."""
    history = embeddings.settings.get("history")
    if not history or not history["step"]:
        raise ValueError(
            "expected a result that remembers the course of its training, got one without; "
            "it was made by an older version or another method: fit again with arcvec fit"
        )
    steps = np.array(history["step"])
    losses = np.array(history["loss"], dtype=np.float64)
    aucs = np.array(history["validation_auc"], dtype=np.float64)  # None becomes NaN
    members = np.array(history.get("member") or [0] * len(steps))
    measured = np.isfinite(aucs)
    figure = new_figure(8, 6.5)
    above, below = figure.subplots(2, 1, sharex=True)
    num_members = int(members[-1]) + 1
    for member in range(num_members):
        mine = members == member
        style = {"linewidth": 1.6, "alpha": 1.0 if member == 0 else 0.45}
        above.plot(steps[mine], losses[mine], color=COLOURS[0], **style)
        below.plot(steps[mine & measured], aucs[mine & measured], color=COLOURS[1], **style)
    title = f"Training, {num_members} members" if num_members > 1 else "Training"
    above.set(title=title, ylabel="loss")
    below.set(xlabel="step", ylabel="validation AUC")
    add_grid(above)
    add_grid(below)
    if measured.any():
        best = int(np.nanargmax(aucs))
        label = f"best: {aucs[best]:.4f} at step {steps[best]:,}"
        for axes in (above, below):
            axes.axvline(steps[best], color="0.4", linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        below.plot(steps[best], aucs[best], "o", color=COLOURS[1], markersize=7, label=label)
        below.legend(loc="lower right", frameon=False)
    else:
        below.text(0.5, 0.5, "no edges were held out", ha="center", transform=below.transAxes)
    return figure


def reliability_figure(bins: Sequence[ReliabilityBin]) -> Figure:
    """Return two panels: the frequency of edges at each probability, and how many pairs have it."""
    columns = zip(*((one.probability, one.edges, one.count) for one in bins), strict=True)
    probabilities, frequencies, counts = columns
    figure = new_figure(6, 6.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="0.5", linewidth=1, linestyle=(0, (4, 3)), label="exact")
    above.plot(probabilities, frequencies, "o-", color=COLOURS[0], linewidth=1.6, label="measured")
    above.set(ylabel="part that are edges", ylim=(-0.03, 1.03), xlim=(-0.03, 1.03))
    above.legend(loc="upper left", frameon=False)
    below.bar(probabilities, counts, width=0.05, color=COLOURS[0], alpha=0.6)
    below.set(xlabel="probability", ylabel="pairs")
    add_grid(above)
    add_grid(below)
    return figure
