"""From edge files to a graph, by way of a DuckDB database: in memory, or on disk if larger."""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.components import largest_component
from arcvec.graph.files import load_graph, write_graph, write_meta
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import is_split, read_train
from arcvec.ingest import table
from arcvec.ingest.layout import EdgeFileSettings, EdgeLayout, find_layouts, is_number
from arcvec.settings import merge_settings
from arcvec.storage.arrays import ArrayOnDisk, open_binary
from arcvec.storage.atomic import new_folder, require_writable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["EdgeFileSettings", "IngestReport", "ingest_edges", "open_graph", "read_edges"]

logger = logging.getLogger(__name__)

Progress: TypeAlias = Callable[[str], None]
"""Called with a few words at the start of each step."""


@dataclass(frozen=True)
class IngestReport:
    """What was read, and what became of it."""

    num_nodes: int
    num_edges: int
    num_lines: int  # edges in the files, one per line or row
    num_duplicates: int  # lines that repeat an edge; reversed ones too, if undirected
    num_self_loops: int  # lines from a node to itself, dropped or kept
    directed: bool
    weighted: bool
    notes: tuple[str, ...] = ()  # sentences for the user


def ingest_edges(
    path: str | Path,
    out: str | Path,
    settings: EdgeFileSettings | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> IngestReport:
    """Read edges into a graph folder, written atomically, and return what was found.

    Node ids follow the names, shorter ones first, then by their bytes: numbers come in numeric
    order, and neither the order of the lines nor the number of threads matters. A node that only
    has a dropped self-loop stays, without edges. Memory stays near `settings.memory_limit` for any
    number of edges, with two exceptions: the edges of a single node are held at once, and
    `largest_component` works on the whole graph.
    """
    path, out = Path(path), Path(out)
    settings = settings or EdgeFileSettings()
    require_writable(out, overwrite=overwrite, inputs=[path])
    layouts = find_layouts(path, settings)
    with (
        new_folder(out, overwrite=overwrite) as folder,
        tempfile.TemporaryDirectory(dir=folder) as work,
    ):
        kept = None if settings.largest_component else folder
        graph, report = _ingest(layouts, settings, Path(work), kept, progress or logger.debug)
        if kept is None:
            write_graph(graph, folder)
        return report


def read_edges(path: str | Path, settings: EdgeFileSettings | None = None, **changes: Any) -> Graph:
    """Return the graph of raw edge files, in memory: text, csv, tsv, Parquet, or a folder of them.

    `changes` are fields of `EdgeFileSettings`, as in `directed=False` or `weight="amount"`.
    """
    settings = merge_settings(EdgeFileSettings, settings or {}, changes)
    layouts = find_layouts(Path(path), settings)
    with _work_folder(layouts, settings) as work:
        graph, report = _ingest(layouts, settings, work, None, logger.debug)
    for note in report.notes:
        logger.info("%s: %s", path, note)
    return graph


def read_pairs(
    path: str | Path, settings: EdgeFileSettings | None = None
) -> tuple[list[str], list[str]]:
    """Return the names of sources and targets in raw edge files, in the order of the lines."""
    settings = settings or EdgeFileSettings()
    layouts = [replace(layout, weight=None) for layout in find_layouts(Path(path), settings)]
    with (
        _work_folder(layouts, settings) as work,
        table.work_database(work, settings.memory_limit, keep_order=True) as connection,
    ):
        table.load_raw_edges(connection, layouts, settings.comment)
        rows = connection.execute("SELECT source::VARCHAR, target::VARCHAR FROM raw").fetchall()
    return [source for source, _ in rows], [target for _, target in rows]


@contextmanager
def _work_folder(
    layouts: Sequence[EdgeLayout], settings: EdgeFileSettings
) -> Iterator[Path | None]:
    """Yield a folder for the database of large files; None for small ones."""
    size = sum(layout.path.stat().st_size for layout in layouts)
    if size <= table.MAX_BYTES_IN_MEMORY and "memory_limit" not in settings.model_fields_set:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="arcvec-") as folder:
        yield Path(folder)


def _ingest(
    layouts: Sequence[EdgeLayout],
    settings: EdgeFileSettings,
    work: Path | None,
    folder: Path | None,
    progress: Progress,
) -> tuple[Graph, IngestReport]:
    """Return the graph of some files and what was found in them.

    The database is in `work`, and the graph is written to `folder`; None keeps them in memory.
    """
    first, weighted = layouts[0], layouts[0].weight is not None
    with table.work_database(work, settings.memory_limit) as connection:
        progress("reading edges")
        num_lines = table.load_raw_edges(connection, layouts, settings.comment)
        if num_lines == 0:
            raise ValueError(f"{first.path}: expected edges, got none")
        progress("naming nodes")
        nodes = _write_names(table.number_nodes(connection), folder)
        progress("sorting edges")
        num_kept, num_loop_lines = table.number_edges(connection, settings, weighted=weighted)
        try:
            graph, num_self_loops, symmetric = _merge_edges(
                connection, nodes, folder, directed=settings.directed, weighted=weighted
            )
        except OverflowError as error:
            raise ValueError(
                f"{first.path}: expected weights up to 3.4e38, but {error}; scale them down, or "
                'to do without weights, pass --weight ""'
            ) from None
        notes = [*first.notes, *_header_note(connection, first)]
    num_entries = graph.indices.size
    num_edges = num_entries if settings.directed else (num_entries + num_self_loops) // 2
    facts = {"directed": settings.directed, "weighted": weighted}
    if folder is not None:
        counts = {"num_nodes": len(nodes), "num_edges": num_edges}
        write_meta(folder, **facts, **counts, num_self_loops=num_self_loops)
    if num_loop_lines and settings.self_loops == "drop":
        count = counted(num_loop_lines, "self-loop")
        notes.append(f"{count} dropped; keep them with --self-loops keep")
    if num_kept > num_edges:
        reversed_too = "" if settings.directed else "; an edge and its reverse are one"
        notes.append(f"{counted(num_kept - num_edges, 'duplicate edge')} merged{reversed_too}")
    if settings.directed and symmetric:
        notes += ["every edge also occurs reversed: if the graph is undirected, pass --undirected"]
    if settings.largest_component:
        progress("finding the largest component")
        whole, graph = graph, largest_component(graph)
        if graph is not whole:
            notes.append(
                f"largest component kept: {graph.num_nodes:,} of "
                f"{counted(whole.num_nodes, 'node')}, {graph.num_edges:,} of "
                f"{counted(num_edges, 'edge')}"
            )
    report = IngestReport(
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges if settings.largest_component else num_edges,
        num_lines=num_lines,
        num_duplicates=num_kept - num_edges,
        num_self_loops=num_loop_lines,
        notes=tuple(notes),
        **facts,
    )
    return graph, report


def _write_names(names: Iterable[bytes], folder: Path | None) -> NodeNames:
    """Return node names given by blocks, written into the folder if there is one."""
    with open_binary(folder, "nodes.txt") as file:
        for block in names:
            file.write(block)
        if isinstance(file, io.BytesIO):
            return NodeNames(np.frombuffer(file.getvalue(), np.uint8))
        return NodeNames(np.memmap(file, np.uint8, "r"))


def _merge_edges(
    connection: DuckDBPyConnection,
    nodes: NodeNames,
    folder: Path | None,
    *,
    directed: bool,
    weighted: bool,
) -> tuple[Graph, int, bool]:
    """Return the graph of the view `entries`, written into the folder if there is one.

    Also return the number of its self-loops, and whether every edge also occurs reversed.
    """
    degrees = np.zeros(len(nodes) + 1, dtype=np.int64)
    num_self_loops, balance = 0, 0
    # Without weights, no file is written for them.
    weights_file = open_binary(folder if weighted else None, "weights.npy")
    with (
        ArrayOnDisk(np.empty(0, np.int32), open_binary(folder, "indices.npy")) as indices,
        ArrayOnDisk(np.empty(0, np.float32), weights_file) as weights,
        open_binary(folder, "indptr.npy") as indptr_file,
    ):
        for start, stop in table.row_blocks(connection):
            keys, sums = table.merged_entries(connection, start, stop, weighted=weighted)
            sources, targets = keys >> 32, keys & 0xFFFFFFFF
            indices.append(targets)
            weights.append(sums)
            stop = min(stop, len(nodes))
            degrees[start + 1 : stop + 1] = np.bincount(sources - start, minlength=stop - start)
            num_self_loops += int((sources == targets).sum())
            balance += _digest(keys) - _digest(targets << 32 | sources)
        indptr = np.cumsum(degrees)
        np.save(indptr_file, indptr, allow_pickle=False)
        values = weights.mapped() if weighted else None
        graph = Graph(indptr, indices.mapped(), nodes, directed, values)
    return graph, num_self_loops, balance % 2**64 == 0 and len(indices) > num_self_loops


def _digest(keys: NDArray[np.int64]) -> int:
    """Return a sum modulo 2**64 that is equal for equal sets of keys, and hardly for others."""
    mixed = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def counted(number: int | np.integer, noun: str) -> str:
    """Return a number and its noun: 1 edge, 2 edges."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _header_note(connection: DuckDBPyConnection, layout: EdgeLayout) -> Iterator[str]:
    """Yield a note if the first line of a csv is likely a header: its words occur nowhere else."""
    if layout.first_edge is None or any(map(is_number, layout.first_edge)):
        return
    query = "SELECT count(*) FROM raw WHERE source IN ($1, $2) OR target IN ($1, $2)"
    if connection.execute(query, list(layout.first_edge)).fetchall()[0][0] == 1:
        names = ", ".join(layout.first_edge)
        yield f"first line ({names}) read as an edge; if it names the columns, pass --header yes"


def open_graph(path: str | Path, settings: EdgeFileSettings | None = None) -> Graph:
    """Return the graph at a path: a graph folder, the train part of a split folder, or raw edges.

    A graph folder is memory-mapped. Settings are for raw edges only, and refused otherwise.
    """
    path = Path(path)
    kind = "graph" if (path / "meta.json").is_file() else "split" if is_split(path) else None
    if kind is None:
        return read_edges(path, settings)
    if settings is not None and settings.model_fields_set:
        flags = {f"--{name.replace('_', '-')}" for name in settings.model_fields_set}
        if "--directed" in flags and not settings.directed:
            flags = flags - {"--directed"} | {"--undirected"}
        raise ValueError(
            f"{path} is a {kind} folder, read already; expected none of "
            f"{', '.join(sorted(flags))}, which say how to read raw edge files; leave them out, or "
            "pass the raw file"
        )
    return load_graph(path) if kind == "graph" else read_train(path)
