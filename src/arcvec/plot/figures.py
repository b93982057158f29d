"""What all figures share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.storage import new_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, which the colour-blind tell apart, without their yellow, which white
# paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with: pip install 'arcvec[plot]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def require_figure_names(paths: Iterable[str | Path]) -> None:
    """Raise a `ValueError` if a suffix is none of the formats that figures are written in."""
    for path in map(Path, paths):
        if path.suffix not in SUFFIXES:
            raise ValueError(f"{path}: expected a name ending in {', '.join(SUFFIXES)}")


def save_figure(figure: Figure, paths: Iterable[str | Path], *, overwrite: bool = False) -> None:
    """Write a figure to every path, in the format of its suffix; equal figures, equal bytes."""
    from matplotlib import rc_context

    paths = list(paths)
    require_figure_names(paths)
    # Otherwise the names of shapes in a drawing are random, and dates differ from run to run.
    with rc_context({"svg.hashsalt": "arcvec"}):
        for path in paths:
            dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
            with new_file(Path(path), overwrite=overwrite) as partial:
                figure.savefig(partial, dpi=150, metadata=dated.get(Path(path).suffix))
