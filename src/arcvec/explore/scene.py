"""What the explorer draws: where every node is on both sides, how large, in which colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arcvec.explore.colourings import Colouring, by_degree, by_neighbours, by_place
from arcvec.explore.node_table import read_colourings
from arcvec.plot.directions import Points
from arcvec.plot.plane import fits_plane
from arcvec.plot.spaces import project
from arcvec.serve.result import Served

_SIZE_UNIT = 16
"""Diameters are told in sixteenths of a pixel, so that they fit a byte."""


@dataclass(frozen=True, eq=False)
class Scene:
    """All nodes of a result in the plane.

    Attributes:
        source, target: (n, 2) places; their inner product is the score, or comes near to it.
        exact: whether it is: the result has two numbers a side, and nothing was projected.
        one_space: whether one vector serves both sides, so that one panel shows all.
        degrees: of sources and of targets; zeros without a graph.
    """

    source: Points
    target: Points
    exact: bool
    one_space: bool
    degrees: tuple[NDArray[np.int64], NDArray[np.int64]]
    colourings: tuple[Colouring, ...]

    @classmethod
    def of(cls, served: Served, table: Path | None = None) -> Scene:
        """Return the scene of a result.

        Args:
            table: with columns to colour nodes by; see `read_colourings`.

        Raises:
            ValueError: the result has no nodes, or the table is not one of them.
        """
        embeddings, known = served.embeddings, served.known
        if not len(embeddings.nodes):
            raise ValueError("expected a result with nodes to show, got one without any")
        exact = fits_plane(embeddings)
        source, target = _as_stored(served) if exact else project(embeddings)
        more = [] if table is None else read_colourings(table, embeddings.nodes)
        own = [by_place(source, target)]
        if served.has_graph:
            own = [by_degree(known), by_neighbours(known, target)]
        return cls(
            source,
            target,
            exact,
            embeddings.weights is not None,
            (known.out_degrees, known.transposed.out_degrees),
            (*own, *(_renamed(one, {other.name for other in own}) for one in more)),
        )

    def places(self) -> bytes:
        """Return for each side n places, n ids in the order of drawing, n diameters.

        In this order: float32 x and y of sources, of targets; uint32 ids of sources, of targets;
        uint8 diameters of sources, of targets.
        """
        parts: list[NDArray[np.generic]] = [
            np.asarray(side, dtype="<f4") for side in (self.source, self.target)
        ]
        # Nodes of many edges are drawn last, above the others.
        parts += [np.argsort(side, kind="stable").astype("<u4") for side in self.degrees]
        parts += [_diameters(side) for side in self.degrees]
        return b"".join(part.tobytes() for part in parts)

    def colours(self, name: str) -> bytes:
        """Return three bytes for each source, then for each target.

        Raises:
            KeyError: there is no such colouring.
        """
        for colouring in self.colourings:
            if colouring.name == name:
                return colouring.source.tobytes() + colouring.target.tobytes()
        raise KeyError(_unknown_colouring(name, [one.name for one in self.colourings]))

    def describe(self, served: Served, title: str) -> dict[str, object]:
        """Return what the page must know before it draws."""
        embeddings = served.embeddings
        return {
            "title": title,
            "num_nodes": len(embeddings.nodes),
            "num_edges": served.known.num_edges if served.has_graph else None,
            "dim": embeddings.dim,
            "directed": embeddings.directed and not self.one_space,
            "has_graph": served.has_graph,
            "exact": self.exact,
            "one_space": self.one_space,
            "boxes": {"source": _box(self.source), "target": _box(self.target)},
            "colourings": [colouring.legend() for colouring in self.colourings],
        }


def _box(points: Points) -> list[float]:
    """Return the least x and y and the largest of a view of the origin and nearly all points."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    margin = 0.25 * (high - low) + 1e-9  # a few points far out do not make the others small
    low = np.minimum(np.maximum(low - margin, points.min(axis=0)), 0)
    high = np.maximum(np.minimum(high + margin, points.max(axis=0)), 0)
    return [*low.tolist(), *np.maximum(high, low + 1e-9).tolist()]


def _as_stored(served: Served) -> tuple[Points, Points]:
    source, target = served.embeddings.source, served.embeddings.target
    return np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)


def _diameters(degrees: NDArray[np.int64]) -> NDArray[np.uint8]:
    smallest = 2.2 if degrees.size > 20_000 else 3.2 if degrees.size > 2000 else 4.6
    diameters = np.sqrt(smallest**2 + 2.5 * np.sqrt(degrees))
    return np.clip(np.round(diameters * _SIZE_UNIT), 1, 255).astype(np.uint8)


def _renamed(colouring: Colouring, taken: set[str]) -> Colouring:
    return (
        replace(colouring, name=f"{colouring.name}, of the table")
        if colouring.name in taken
        else colouring
    )


def _unknown_colouring(name: str, names: Sequence[str]) -> str:
    return f"unknown colouring {name!r}: expected one of {', '.join(names)}"
