"""What all figures share."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.storage import new_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, which the colour-blind tell apart, without their yellow, which white
# paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

_DOTS_PER_INCH = 150
_LONGEST_NAME = 30


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


def shown_name(name: str) -> str:
    r"""Return the name of a node as figures write it: not too long, and plain text whatever it is.

    Control characters would make a drawing that no reader of XML opens, and what stands between
    dollars would be typeset as a formula.

    >>> shown_name("a$b$\x01" + 40 * "c")
    'a\\$b\\$\ufffdccccccccccccccccccccccccc'
    """
    printable = (one if one.isprintable() else "\ufffd" for one in name[:_LONGEST_NAME])
    return "".join(printable).replace("$", r"\$")


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG document without a background; equal figures, equal text."""
    text = StringIO()
    with _same_again():
        dated = {"Date": None}
        figure.savefig(text, format="svg", dpi=_DOTS_PER_INCH, metadata=dated, transparent=True)
    return text.getvalue()


def save_figure(figure: Figure, paths: Iterable[str | Path], *, overwrite: bool = False) -> None:
    """Write a figure to every path, in the format of its suffix; equal figures, equal bytes."""
    paths = list(paths)
    require_figure_names(paths)
    with _same_again():
        for path in paths:
            dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(Path(path).suffix)
            with new_file(Path(path), overwrite=overwrite) as partial:
                figure.savefig(partial, dpi=_DOTS_PER_INCH, metadata=dated)


def _same_again() -> AbstractContextManager[None]:
    """Give shapes in a drawing the same names in every run, which otherwise are random."""
    from matplotlib import rc_context

    context: AbstractContextManager[None] = rc_context({"svg.hashsalt": "arcvec"})
    return context
