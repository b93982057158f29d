"""What the colour of a node can tell: its degree, its neighbours, or a column of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.plot.colour_plane import Colours, colours_by_place, to_rgb
from arcvec.plot.colours import mean_of_targets
from arcvec.plot.directions import Points
from arcvec.plot.figures import COLOURS

Bytes: TypeAlias = NDArray[np.uint8]

# From few to many, in Oklab: blue, pink, orange, gold. None is so light or so dark that a light or
# a dark page swallows it, and blue to gold is a difference that the red-green blind see.
_RAMP = np.array([[0.56, -0.01, -0.13], [0.6, 0.16, -0.03], [0.7, 0.13, 0.12], [0.82, 0.02, 0.16]])
_MISSING = np.array([0.62, 0.0, 0.0])
_CATEGORIES = 8
"""Told apart; the rest are others."""


@dataclass(frozen=True, eq=False)
class Colouring:
    """A colour for every node on both sides, and what to say about it.

    Attributes:
        name: what it is chosen by.
        source, target: (n, 3) uint8, sRGB.
        note: one line about what it shows.
        ramp: colours from low to high in CSS, with the two ends in words; empty if there are none.
        swatches: CSS colours and their words.
    """

    name: str
    source: Bytes
    target: Bytes
    note: str
    ramp: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")
    swatches: tuple[tuple[str, str], ...] = field(default=())

    def legend(self) -> dict[str, object]:
        """Return what the page says about it."""
        return {
            "name": self.name,
            "note": self.note,
            "ramp": self.ramp,
            "ends": self.ends,
            "swatches": self.swatches,
        }


def by_degree(graph: Graph) -> Colouring:
    """Return colours by out-degree of sources and in-degree of targets, on one scale of logs."""
    degrees = graph.out_degrees, graph.transposed.out_degrees
    most = max(int(side.max(initial=0)) for side in degrees)
    source, target = (_on_ramp(np.log1p(side) / max(np.log1p(most), 1e-12)) for side in degrees)
    note = "Sources by out-degree, targets by in-degree." if graph.directed else "By degree."
    return Colouring("degree", source, target, note, _css_ramp(), ("0", f"{most:,} edges"))


def by_neighbours(graph: Graph, target: Points) -> Colouring:
    """Return the paper's colours: targets by place, sources by the mean colour of their targets."""
    places = _seen_on_any_page(colours_by_place(target))
    source = mean_of_targets(graph, places)
    note = "Targets by their place, sources by the mean colour of their targets."
    return Colouring("neighbours", _as_bytes(to_rgb(source)), _as_bytes(to_rgb(places)), note)


def by_place(source: Points, target: Points) -> Colouring:
    """Return colours by place on both sides, for results without a graph."""
    rgb = to_rgb(_seen_on_any_page(colours_by_place(np.concatenate([source, target]))))
    return Colouring(
        "place",
        _as_bytes(rgb[: len(source)]),
        _as_bytes(rgb[len(source) :]),
        "By place. With --graph also by degree and by neighbours.",
    )


def by_number(name: str, values: NDArray[np.float64]) -> Colouring:
    """Return colours on the ramp between the 2nd and the 98th percentile; grey where NaN."""
    known = np.isfinite(values)
    low, high = np.percentile(values[known], [2, 98]) if known.any() else (0.0, 1.0)
    colours = _on_ramp((np.where(known, values, low) - low) / max(high - low, 1e-12))
    colours[~known] = _as_bytes(to_rgb(_MISSING[None]))
    note = f"By {name} in the table of nodes." + _missing_words(int((~known).sum()))
    return Colouring(name, colours, colours, note, _css_ramp(), (f"{low:.6g}", f"{high:.6g}"))


def by_category(name: str, values: Sequence[str | None]) -> Colouring:
    """Return a colour for each of the most frequent values; grey for others and for none."""
    counts = Counter(value for value in values if value is not None)
    shown = [value for value, _ in counts.most_common(_CATEGORIES)]
    palette = [*COLOURS, "#8C6BB1", "#B8860B"]
    colour_of = {value: _from_css(css) for value, css in zip(shown, palette, strict=False)}
    grey = _as_bytes(to_rgb(_MISSING[None]))[0]
    colours = np.array([colour_of.get(v, grey) for v in values], dtype=np.uint8).reshape(-1, 3)  # type: ignore[arg-type]
    swatches = [(css, f"{v} ({counts[v]:,})") for v, css in zip(shown, palette, strict=False)]
    others = sum(counts.values()) - sum(counts[value] for value in shown)
    if others:
        swatches.append((_css(_MISSING), f"others ({others:,})"))
    note = f"By {name} in the table of nodes." + _missing_words(sum(v is None for v in values))
    return Colouring(name, colours, colours, note, swatches=tuple(swatches))


def _seen_on_any_page(oklab: Colours) -> Colours:
    """Return colours whose lightness is never that of a light or of a dark page."""
    lightness = np.interp(oklab[:, :1], [0.35, 0.84], [0.5, 0.8])
    return np.concatenate([lightness, oklab[:, 1:]], axis=1)


def _missing_words(count: int) -> str:
    return f" Grey: {count:,} without a value." if count else ""


def _on_ramp(parts: NDArray[np.float64]) -> Bytes:
    places = np.clip(parts, 0, 1) * (len(_RAMP) - 1)
    below = np.minimum(places.astype(np.int64), len(_RAMP) - 2)
    beyond = (places - below)[:, None]
    return _as_bytes(to_rgb((1 - beyond) * _RAMP[below] + beyond * _RAMP[below + 1]))


def _css_ramp() -> tuple[str, ...]:
    return tuple(_css(colour) for colour in _RAMP)


def _css(oklab: NDArray[np.float64]) -> str:
    return "#" + _as_bytes(to_rgb(oklab[None])).tobytes().hex()


def _from_css(css: str) -> Bytes:
    return np.frombuffer(bytes.fromhex(css[1:]), dtype=np.uint8)


def _as_bytes(rgb: Colours) -> Bytes:
    return np.round(rgb * 255).astype(np.uint8)
