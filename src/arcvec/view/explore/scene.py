"""What the explorer draws: where every node is on both sides, how large, in which colours."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.ingest.layout import literal_path
from arcvec.view.figures import COLOURS, Colours, colours_by_place, mean_of_targets
from arcvec.view.plane import Points, fits_plane, project

logger = logging.getLogger(__name__)

Bytes: TypeAlias = NDArray[np.uint8]

# All are visible on light and dark pages, and to the red-green blind: blue, pink, orange, gold;
# the corners of the colour square.
_RAMP = np.array([[0.31, 0.44, 0.76], [0.77, 0.31, 0.56], [0.96, 0.45, 0.21], [0.97, 0.72, 0.14]])
_CORNERS = np.array(
    [[[0.34, 0.32, 0.74], [0.88, 0.31, 0.25]], [[0.35, 0.70, 0.95], [0.92, 0.71, 0.08]]]
)
_GREY = "#868686"
_CATEGORY_COLOURS = (*COLOURS, "#8C6BB1", "#B8860B")
_READERS = dict.fromkeys((".csv", ".tsv"), "read_csv(?, header = true")
_READERS[".parquet"] = "read_parquet(?"
_STEPS_PER_PIXEL = 16  # of diameters, which are sent as bytes


@dataclass(frozen=True, eq=False)
class Colouring:
    """An sRGB colour for every node on both sides; CSS colours and words for its legend."""

    name: str
    source: Bytes
    target: Bytes
    note: str
    ramp: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")
    swatches: tuple[tuple[str, str], ...] = ()

    def legend(self) -> dict[str, object]:
        """Return everything but the colours of nodes."""
        return {name: v for name, v in vars(self).items() if name not in ("source", "target")}


def by_degree(graph: Graph) -> Colouring:
    """Return colours by out-degree of sources and in-degree of targets, on one log scale."""
    degrees = graph.out_degrees, graph.transposed.out_degrees
    most = max(int(side.max(initial=0)) for side in degrees)
    source, target = (_on_ramp(np.log1p(side) / max(np.log1p(most), 1e-12)) for side in degrees)
    note = "Sources by out-degree, targets by in-degree." if graph.directed else "By degree."
    return Colouring("degree", source, target, note, _css_ramp(), ("0", f"{most:,} edges"))


def by_neighbours(graph: Graph, target: Points) -> Colouring:
    """Return the paper's colours: targets by place, sources by the mean colour of their targets."""
    places = colours_by_place(target, _CORNERS)
    source = mean_of_targets(graph, places)
    note = "Targets by their place, sources by the mean colour of their targets."
    return Colouring("neighbours", _rgb_bytes(source), _rgb_bytes(places), note)


def by_place(source: Points, target: Points) -> Colouring:
    """Return colours by place on both sides, for results without a graph."""
    colours = _rgb_bytes(colours_by_place(np.concatenate([source, target]), _CORNERS))
    note = "By place. With --graph also by degree and by neighbours."
    return Colouring("place", colours[: len(source)], colours[len(source) :], note)


def by_number(name: str, values: NDArray[np.float64]) -> Colouring:
    """Return colours on the ramp between the 2nd and the 98th percentile; grey where NaN."""
    known = np.isfinite(values)
    low, high = np.percentile(values[known], [2, 98]) if known.any() else (0.0, 1.0)
    colours = _on_ramp((np.where(known, values, low) - low) / max(high - low, 1e-12))
    colours[~known] = _css_bytes(_GREY)
    note = _table_note(name, int((~known).sum()))
    return Colouring(name, colours, colours, note, _css_ramp(), (f"{low:.6g}", f"{high:.6g}"))


def by_category(name: str, values: Sequence[str | None]) -> Colouring:
    """Return a colour for each of the most frequent values; grey for the others and for None."""
    counts = Counter(value for value in values if value is not None)
    frequent = counts.most_common(len(_CATEGORY_COLOURS))
    css_of: dict[str | None, str] = dict(zip(dict(frequent), _CATEGORY_COLOURS, strict=False))
    colours = np.array([_css_bytes(css_of.get(value, _GREY)) for value in values])
    swatches = [(css_of[value], f"{value} ({count:,})") for value, count in frequent]
    others = counts.total() - sum(dict(frequent).values())
    if others:
        swatches.append((_GREY, f"others ({others:,})"))
    note = _table_note(name, len(values) - counts.total())
    return Colouring(name, colours, colours, note, swatches=tuple(swatches))


def read_colourings(path: Path, nodes: NodeNames) -> list[Colouring]:
    """Return a colouring by each column of a table but the first, which holds the nodes' names.

    The table is a .csv, .tsv or .parquet file whose first row names the columns.
    """
    columns, rows = _read_table(path)
    row_of = {str(row[0]): row for row in rows}
    matched = [row_of.get(name, (None,) * len(columns)) for name in nodes]
    found = sum(name in row_of for name in nodes)
    if not found:
        raise ValueError(
            f'{path}: expected node names in its first column, "{columns[0]}", got {len(rows):,} '
            f"rows none of which is among the {len(nodes):,} nodes of the result"
        )
    if found < len(nodes):
        logger.info("%s has no row for %d of %d nodes", path, len(nodes) - found, len(nodes))
    colourings = []
    for name, values in list(zip(columns, zip(*matched, strict=True), strict=True))[1:]:
        if {type(value) for value in values} <= {int, float, Decimal, type(None)}:
            colourings.append(by_number(name, np.array(values, dtype=float)))  # None becomes NaN
        else:
            words = [None if value is None else str(value) for value in values]
            colourings.append(by_category(name, words))
    return colourings


def _read_table(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    if path.suffix not in _READERS:
        raise ValueError(f"{path}: expected a table whose name ends in .csv, .tsv or .parquet")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    query = f"SELECT * FROM {_READERS[path.suffix]}, hive_partitioning = false)"
    with duckdb.connect() as connection:
        try:
            table = connection.execute(query, [literal_path(path)])
            columns = [str(column[0]) for column in table.description or ()]
            rows = table.fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{path}: expected a table with a header, got: {reason}") from None
    if len(columns) < 2:
        raise ValueError(f"{path}: expected a column of names and at least one more, got {columns}")
    return columns, rows


def _table_note(name: str, num_missing: int) -> str:
    missing = f" Grey: {num_missing:,} without a value." if num_missing else ""
    return f"By {name} in the table of nodes.{missing}"


def _on_ramp(fractions: NDArray[np.float64]) -> Bytes:
    position = np.clip(fractions, 0, 1) * (len(_RAMP) - 1)
    stops = np.arange(len(_RAMP))
    return _rgb_bytes(np.stack([np.interp(position, stops, axis) for axis in _RAMP.T], axis=1))


def _css_ramp() -> tuple[str, ...]:
    return tuple(f"#{colour.tobytes().hex()}" for colour in _rgb_bytes(_RAMP))


def _css_bytes(css: str) -> Bytes:
    return np.frombuffer(bytes.fromhex(css[1:]), dtype=np.uint8)


def _rgb_bytes(colours: Colours) -> Bytes:
    return np.round(colours * 255).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Scene:
    """All nodes of a result in the plane; products of places are scores, or the nearest to them."""

    embeddings: EdgeEmbeddings
    graph: Graph | None
    source: Points
    target: Points
    exact: bool
    colourings: tuple[Colouring, ...]

    @classmethod
    def of(
        cls, embeddings: EdgeEmbeddings, graph: Graph | None = None, table: Path | None = None
    ) -> Scene:
        """Return the scene of a result; for the table see `read_colourings`."""
        if not len(embeddings.nodes):
            raise ValueError("expected a result with nodes to show, got one without any")
        exact = fits_plane(embeddings)
        sides = (embeddings.source, embeddings.target) if exact else project(embeddings)
        source, target = (np.asarray(side, dtype=np.float64) for side in sides)
        colourings = [by_place(source, target)]
        if graph is not None:
            colourings = [by_degree(graph), by_neighbours(graph, target)]
        taken = {colouring.name for colouring in colourings}
        for one in [] if table is None else read_colourings(table, embeddings.nodes):
            renamed = replace(one, name=f"{one.name}, of the table")
            colourings.append(renamed if one.name in taken else one)
        return cls(embeddings, graph, source, target, exact, tuple(colourings))

    @property
    def degrees(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of sources and of targets; zeros without a graph."""
        if self.graph is None:
            return (np.zeros(len(self.source), dtype=np.int64),) * 2
        return self.graph.out_degrees, self.graph.transposed.out_degrees

    def places(self) -> bytes:
        """Return float32 x and y, uint32 ids in the order of drawing, and uint8 diameters.

        Of each of these, first those of the sources, then those of the targets.
        """
        places = [side.astype("<f4").tobytes() for side in (self.source, self.target)]
        # Nodes of many edges are drawn last, above the others.
        order = [np.argsort(side, kind="stable").astype("<u4").tobytes() for side in self.degrees]
        return b"".join([*places, *order, *(_diameters(side).tobytes() for side in self.degrees)])

    def colours(self, name: str) -> bytes:
        """Return three bytes for each source, then for each target."""
        known = {colouring.name: colouring for colouring in self.colourings}
        if name not in known:
            raise KeyError(f"unknown colouring {name!r}: expected one of {', '.join(known)}")
        return known[name].source.tobytes() + known[name].target.tobytes()

    def describe(self, title: str) -> dict[str, object]:
        """Return what the page needs to know before it draws."""
        one_space = self.embeddings.has_one_space
        return {
            "title": title,
            "num_nodes": len(self.embeddings.nodes),
            "num_edges": None if self.graph is None else self.graph.num_edges,
            "dim": self.embeddings.dim,
            "directed": self.embeddings.directed and not one_space,
            "has_graph": self.graph is not None,
            "exact": self.exact,
            "one_space": one_space,
            "boxes": {"source": _box(self.source), "target": _box(self.target)},
            "colourings": [one.legend() for one in self.colourings],
        }


def _box(points: Points) -> list[float]:
    """Return the least x and y and the largest of a view of the origin and nearly all points."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    margin = 0.25 * (high - low) + 1e-9  # a few points far out do not make the others small
    low = np.minimum(np.maximum(low - margin, points.min(axis=0)), 0)
    high = np.maximum(np.minimum(high + margin, points.max(axis=0)), 0)
    return [*low.tolist(), *np.maximum(high, low + 1e-9).tolist()]


def _diameters(degrees: NDArray[np.int64]) -> NDArray[np.uint8]:
    smallest = 2.2 if degrees.size > 20_000 else 3.2 if degrees.size > 2000 else 4.6
    diameters = np.sqrt(smallest**2 + 2.5 * np.sqrt(degrees))
    return np.clip(np.round(diameters * _STEPS_PER_PIXEL), 1, 255).astype(np.uint8)
