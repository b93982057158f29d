"""From raw edge files to a graph, by way of a database on disk: larger than memory."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from arcvec.graph.edge_csr import number_edges, number_nodes, write_adjacency, write_names
from arcvec.graph.edge_layout import EdgeLayout, find_layouts
from arcvec.graph.edge_settings import EdgeFileSettings
from arcvec.graph.edge_table import load_raw_edges, work_database
from arcvec.graph.edge_text import is_number
from arcvec.graph.files import load_graph, write_graph, write_meta
from arcvec.graph.graph import Graph
from arcvec.settings import merge_settings
from arcvec.storage import new_folder, require_writable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["EdgeFileSettings", "IngestReport", "ingest_edges", "read_edges", "read_pairs"]

logger = logging.getLogger(__name__)

Progress: TypeAlias = Callable[[str], None]
"""Called with a few words at the start of each step."""


@dataclass(frozen=True)
class IngestReport:
    """What was read, and what became of it.

    Attributes:
        num_nodes, num_edges: of the graph; an undirected edge counts once.
        num_lines: edges in the files, one a line or row.
        num_duplicates: lines that repeat an edge; reversed ones too, if undirected.
        num_self_loops: lines from a node to itself, dropped or kept.
        notes: sentences for the user.
    """

    num_nodes: int
    num_edges: int
    num_lines: int
    num_duplicates: int
    num_self_loops: int
    directed: bool
    weighted: bool
    notes: tuple[str, ...] = ()


def ingest_edges(
    path: str | Path,
    out: str | Path,
    settings: EdgeFileSettings | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> IngestReport:
    """Read edges into a graph folder, whole or not at all, and return what was found.

    Node ids follow the names, shorter ones first, then by their bytes: numbers come in numeric
    order, and neither the order of the lines nor the number of threads matters. A node that only
    has a dropped self-loop stays, without edges. Memory stays near `settings.memory_limit` for any
    number of edges, with two exceptions: the edges of a single node are held at once, and
    `largest_component` works on the whole graph.

    Raises:
        FileNotFoundError, ValueError: see `find_layouts` and `load_raw_edges`.
        FileExistsError: `out` exists and `overwrite` is false.
    """
    path, out = Path(path), Path(out)
    settings = settings or EdgeFileSettings()
    require_writable(out, overwrite=overwrite, inputs=[path])
    layouts = find_layouts(path, settings)
    with new_folder(out, overwrite=overwrite) as folder:
        return _ingest(layouts, folder, settings, progress or logger.debug)


def read_edges(path: str | Path, settings: EdgeFileSettings | None = None, **changes: Any) -> Graph:
    """Return the graph of raw edge files, in memory.

    Args:
        path: text, csv, tsv or Parquet, plain or gzipped, or a folder of such files.
        changes: fields of `EdgeFileSettings`, as in `directed=False` or `weight="amount"`.
    """
    merged = merge_settings(EdgeFileSettings, settings or {}, changes)
    with tempfile.TemporaryDirectory(prefix="arcvec-") as folder:
        report = ingest_edges(path, Path(folder) / "graph", merged)
        for note in report.notes:
            logger.info("%s: %s", path, note)
        return load_graph(Path(folder) / "graph", mmap=False)


def read_pairs(
    path: str | Path, settings: EdgeFileSettings | None = None
) -> tuple[list[str], list[str]]:
    """Return the names of sources and targets in raw edge files, in the order of the lines."""
    settings = settings or EdgeFileSettings()
    layouts = [replace(layout, weight=None) for layout in find_layouts(Path(path), settings)]
    with (
        tempfile.TemporaryDirectory(prefix="arcvec-") as folder,
        work_database(Path(folder), settings.memory_limit, keep_order=True) as connection,
    ):
        load_raw_edges(connection, layouts, settings.comment)
        rows = connection.execute("SELECT source::VARCHAR, target::VARCHAR FROM raw").fetchall()
    return [source for source, _ in rows], [target for _, target in rows]


def _ingest(
    layouts: list[EdgeLayout], folder: Path, settings: EdgeFileSettings, progress: Progress
) -> IngestReport:
    with (
        tempfile.TemporaryDirectory(dir=folder) as work,
        work_database(Path(work), settings.memory_limit) as connection,
    ):
        progress("reading edges")
        num_lines = load_raw_edges(connection, layouts, settings.comment)
        if num_lines == 0:
            raise ValueError(f"{layouts[0].path}: expected edges, got none")
        # Where only a part of the graph is wanted, the whole of it does not stay.
        whole = Path(work) if settings.largest_component else folder
        report = _write_whole(connection, whole, layouts, settings, progress)
        if settings.largest_component:
            progress("finding the largest component")
            report = _write_largest_component(whole, folder, report)
    return report


def _write_whole(
    connection: DuckDBPyConnection,
    folder: Path,
    layouts: list[EdgeLayout],
    settings: EdgeFileSettings,
    progress: Progress,
) -> IngestReport:
    """Write the graph of the table `raw`, and return what was found in it."""
    weighted = layouts[0].weight is not None
    progress("naming nodes")
    num_nodes = number_nodes(connection)
    write_names(connection, folder / "nodes.txt", num_nodes)
    progress("sorting edges")
    read = number_edges(
        connection,
        directed=settings.directed,
        self_loops=settings.self_loops,
        weighted=weighted,
    )
    try:
        adjacency = write_adjacency(connection, folder, num_nodes, weighted=weighted)
    except OverflowError as error:
        raise ValueError(
            f"{layouts[0].path}: expected weights up to 3.4e38, but {error}; scale them down, or "
            'to do without weights, pass --weight ""'
        ) from None
    num_edges = adjacency.num_edges(directed=settings.directed)
    write_meta(
        folder,
        directed=settings.directed,
        weighted=weighted,
        num_nodes=num_nodes,
        num_edges=num_edges,
        num_self_loops=adjacency.num_self_loops,
    )
    report = IngestReport(
        num_nodes=num_nodes,
        num_edges=num_edges,
        num_lines=read.num_lines,
        num_duplicates=read.num_kept - num_edges,
        num_self_loops=read.num_self_loops,
        directed=settings.directed,
        weighted=weighted,
    )
    notes = [*layouts[0].notes, *_notes(report, settings, symmetric=adjacency.symmetric)]
    if _first_line_stands_alone(connection, layouts[0]):
        names = ", ".join(layouts[0].first_edge or ())
        notes.append(
            f"first line ({names}) read as an edge; if it names the columns, pass --header yes"
        )
    return replace(report, notes=tuple(notes))


def _notes(report: IngestReport, settings: EdgeFileSettings, *, symmetric: bool) -> Iterator[str]:
    if report.num_self_loops and settings.self_loops == "drop":
        count = _counted(report.num_self_loops, "self-loop")
        yield f"{count} dropped; keep them with --self-loops keep"
    if report.num_duplicates:
        reversed_too = "" if settings.directed else "; an edge and its reverse are one"
        yield f"{_counted(report.num_duplicates, 'duplicate edge')} merged{reversed_too}"
    if settings.directed and symmetric:
        yield "every edge also occurs reversed: if the graph is undirected, pass --undirected"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _first_line_stands_alone(connection: DuckDBPyConnection, layout: EdgeLayout) -> bool:
    """Tell whether the first line of a csv is likely a header: its words occur nowhere else."""
    if layout.first_edge is None or any(map(is_number, layout.first_edge)):
        return False
    source, target = layout.first_edge
    query = "SELECT count(*) FROM raw WHERE source IN ($1, $2) OR target IN ($1, $2)"
    return bool(connection.execute(query, [source, target]).fetchall()[0][0] == 1)


def _write_largest_component(whole: Path, folder: Path, report: IngestReport) -> IngestReport:
    from arcvec.graph.components import largest_component

    graph = largest_component(load_graph(whole))
    write_graph(graph, folder)
    if graph.num_nodes == report.num_nodes:
        return report
    note = (
        f"largest component kept: {graph.num_nodes:,} of {_counted(report.num_nodes, 'node')}, "
        f"{graph.num_edges:,} of {_counted(report.num_edges, 'edge')}"
    )
    return replace(
        report,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        notes=(*report.notes, note),
    )
