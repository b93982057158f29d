"""Figures inside a page."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arcvec.plot.figures import svg_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIXELS_PER_INCH = 96


@dataclass(frozen=True)
class Picture:
    """A drawing that needs no file beside the page.

    Attributes:
        address: a data URI: inside it, names of shapes do not meet those of another drawing.
        words: what it shows, for those who do not see it.
        width, height: in pixels; a page that knows them does not jump.
    """

    address: str
    words: str
    width: int
    height: int


def picture_of(figure: Figure, words: str) -> Picture:
    """Return a figure as a picture, described in words."""
    data = b64encode(svg_text(figure).encode()).decode()
    width, height = (round(side * _PIXELS_PER_INCH) for side in figure.get_size_inches())
    return Picture(f"data:image/svg+xml;base64,{data}", words, width, height)
