"""What figures share: colours that the colour-blind can tell apart, opening and saving."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.storage.atomic import new_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 150
_MAX_NAME_LENGTH = 30
# Okabe and Ito's palette without its yellow, which is too pale on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

Colours: TypeAlias = NDArray[np.float64]  # (n, 3)

_GREY = np.array([0.75, 0.0, 0.0])
# The corners of the colour square in Oklab: lightness, green to red, blue to yellow. To the right
# blue turns to yellow, upwards dark to light: the two differences that the red-green blind see.
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


def colours_by_place(points: NDArray[np.float64]) -> Colours:
    """Return Oklab colours that vary with the place of (n, 2) points."""
    # The middle 98 % span the colour square: a few outliers must not use up the colours.
    low, high = np.percentile(points, [1, 99], axis=0)
    x, y = np.clip((points - low) / np.maximum(high - low, 1e-12), 0, 1).T[..., None]
    bottom, top = ((1 - x) * left + x * right for left, right in _CORNERS)
    return np.asarray((1 - y) * bottom + y * top)


def to_rgb(oklab: Colours) -> Colours:
    """Return sRGB colours, each number from 0 to 1, of Oklab colours.

    >>> to_rgb(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).round(3) + 0.0
    array([[1., 1., 1.],
           [0., 0., 0.]])
    """
    linear = np.clip((oklab @ _TO_LMS.T) ** 3 @ _TO_LINEAR_RGB.T, 0, 1)
    bright = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.asarray(np.where(linear <= 0.0031308, 12.92 * linear, bright))


def mean_of_targets(graph: Graph, values: Colours) -> Colours:
    """Return for each node the weighted mean of its targets' values; grey if it has none."""
    rows, num_nodes = graph.row_of_entry, graph.num_nodes
    weights = np.ones(rows.size) if graph.weights is None else graph.weights
    totals = np.bincount(rows, weights, num_nodes)[:, None]
    columns = (np.bincount(rows, weights * column[graph.indices], num_nodes) for column in values.T)
    means = np.stack(list(columns), axis=1) / np.maximum(totals, 1e-12)
    return np.where(totals > 0, means, _GREY)
