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
from arcvec.graph.files import load_graph, write_graph, write_meta
from arcvec.graph.graph import Graph
from arcvec.settings import merge_settings
from arcvec.storage import new_folder

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
    if out.absolute() in (path.absolute(), *path.absolute().parents):
        raise ValueError(f"{out}: the raw edges are in there; choose another output folder")
    layouts = find_layouts(path, settings)
    with new_folder(out, overwrite=overwrite) as folder:
        report = _ingest(layouts, folder, settings, progress or logger.debug)
    return report


def read_edges(
    path: str | Path, settings: EdgeFileSettings | None = None, **changes: Any
) -> Graph:
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
        # Where only a part of the graph is wanted, the whole of it is passing.
        whole = Path(work) if settings.largest_component else folder
        report = _write_whole_graph(connection, whole, layouts, settings, progress)
        if settings.largest_component:
            progress("looking for the largest component")
            report = _write_largest_component(whole, folder, report)
    return report


def _write_whole_graph(
    connection: DuckDBPyConnection,
    folder: Path,
    layouts: list[EdgeLayout],
    settings: EdgeFileSettings,
    progress: Progress,
) -> IngestReport:
    weighted = layouts[0].weight is not None
    progress("naming nodes")
    num_nodes = number_nodes(connection)
    write_names(connection, folder / "nodes.txt", num_nodes)
    progress("sorting edges")
    num_loops_read = number_edges(
        connection,
        directed=settings.directed,
        self_loops=settings.self_loops,
        weighted=weighted,
    )
    adjacency = write_adjacency(connection, folder, num_nodes, weighted=weighted)
    ...
