"""What all figures share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.storage import new_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def save_figure(figure: Figure, paths: Iterable[str | Path], *, overwrite: bool = False) -> None:
    """Write a figure to every path, in the format of its suffix."""
    for path in paths:
        with new_file(Path(path), overwrite=overwrite) as partial:
            figure.savefig(partial, dpi=150)
