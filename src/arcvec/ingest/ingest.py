"""From edge files to a graph, by way of a DuckDB database, which spills to disk."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from arcvec.ingest.layout import EdgeFileSettings, EdgeLayout, find_layouts, is_number
from arcvec.ingest.table import (
    entry_blocks,
    load_raw_edges,
    merge_edges,
    number_nodes,
    work_database,
)
from arcvec.settings import merge_settings
from arcvec.storage.arrays import ArrayOnDisk, load_array, open_binary
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
    number of edges, except that `largest_component` works on the whole graph.
    """
    path, out = Path(path), Path(out)
    settings = settings or EdgeFileSettings()
    require_writable(out, overwrite=overwrite, inputs=[path])
    layouts = find_layouts(path, settings)
    with new_folder(out, overwrite=overwrite) as folder:
        return _ingest(layouts, settings, folder, folder, progress or logger.debug)[0]


def read_edges(path: str | Path, settings: EdgeFileSettings | None = None, **changes: Any) -> Graph:
    """Return the graph of raw edge files, in memory: text, csv, tsv, Parquet, or a folder of them.

    `changes` are fields of `EdgeFileSettings`, as in `directed=False` or `weight="amount"`.
    """
    settings = merge_settings(EdgeFileSettings, settings or {}, changes)
    layouts = find_layouts(Path(path), settings)
    with tempfile.TemporaryDirectory(prefix="arcvec-") as work:
        report, graph = _ingest(layouts, settings, Path(work), None, logger.debug)
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
        tempfile.TemporaryDirectory(prefix="arcvec-") as folder,
        work_database(Path(folder), settings.memory_limit) as connection,
    ):
        load_raw_edges(connection, layouts, settings.comment)
        rows = connection.execute("SELECT source::VARCHAR, target::VARCHAR FROM raw").fetchall()
    return [source for source, _ in rows], [target for _, target in rows]


def _ingest(
    layouts: Sequence[EdgeLayout],
    settings: EdgeFileSettings,
    work: Path,
    out: Path | None,
    progress: Progress,
) -> tuple[IngestReport, Graph]:
    """Return what was found in some files and their graph, written to `out`, or only in memory.

    What exceeds the memory limit is in the folder `work` for a while.
    """
    first, weighted = layouts[0], layouts[0].weight is not None
    facts = {"directed": settings.directed, "weighted": weighted}
    with work_database(work, settings.memory_limit) as connection:
        progress("reading edges")
        num_lines = load_raw_edges(connection, layouts, settings.comment)
        if num_lines == 0:
            raise ValueError(f"{first.path}: expected edges, got none")
        progress("naming nodes")
        nodes = _write_names(number_nodes(connection), out)
        progress("sorting edges")
        found = merge_edges(connection, settings, weighted=weighted)
        largest = found["largest_weight"] or 0.0
        if largest > float(np.finfo(np.float32).max):
            raise ValueError(
                f"{first.path}: expected weights up to 3.4e38, but the weights of a repeated edge "
                f"add up to {largest:.3g}; scale them down, or to do without weights, pass "
                '--weight ""'
            )
        entries = entry_blocks(connection, found["num_entries"])
        graph = _write_rows(entries, nodes, out, **facts)
        notes = [*first.notes, *_header_note(connection, first)]
    num_edges = found["num_entries"]
    if not settings.directed:
        num_edges = (num_edges + found["num_self_loops"]) // 2
    counts = {"num_nodes": found["num_nodes"], "num_edges": num_edges}
    if out is not None:
        write_meta(out, **facts, **counts, num_self_loops=found["num_self_loops"])
    num_duplicates = found["num_kept"] - num_edges
    if found["num_loop_lines"] and settings.self_loops == "drop":
        count = counted(found["num_loop_lines"], "self-loop")
        notes.append(f"{count} dropped; keep them with --self-loops keep")
    if num_duplicates:
        reversed_too = "" if settings.directed else "; an edge and its reverse are one"
        notes.append(f"{counted(num_duplicates, 'duplicate edge')} merged{reversed_too}")
    if settings.directed and found["is_symmetric"]:
        notes += ["every edge also occurs reversed: if the graph is undirected, pass --undirected"]
    if settings.largest_component:
        progress("finding the largest component")
        whole, graph = graph, largest_component(graph)
        if graph is not whole:
            if out is not None:
                write_graph(graph, out)
            counts = {"num_nodes": graph.num_nodes, "num_edges": graph.num_edges}
            notes.append(
                f"largest component kept: {graph.num_nodes:,} of "
                f"{counted(whole.num_nodes, 'node')}, {graph.num_edges:,} of "
                f"{counted(num_edges, 'edge')}"
            )
    report = IngestReport(
        **counts,
        num_lines=num_lines,
        num_duplicates=num_duplicates,
        num_self_loops=found["num_loop_lines"],
        notes=tuple(notes),
        **facts,
    )
    return report, graph


def _write_names(blocks: Iterator[bytes], out: Path | None) -> NodeNames:
    """Return names given by blocks of a `nodes.txt`, written and memory-mapped if `out` is one."""
    if out is None:
        return NodeNames(np.frombuffer(b"".join(blocks), dtype=np.uint8))
    with (out / "nodes.txt").open("wb") as file:
        file.writelines(blocks)
    return NodeNames(np.memmap(file.name, dtype=np.uint8, mode="r"))


def _write_rows(
    entries: Iterable[Mapping[str, NDArray[Any]]],
    nodes: NodeNames,
    out: Path | None,
    *,
    directed: bool,
    weighted: bool,
) -> Graph:
    """Return a graph given the columns of its entries by blocks, memory-mapped if `out` is one."""
    files: dict[str, tuple[str, type]] = {"target": ("indices.npy", np.int32)}
    if weighted:
        files["weight"] = ("weights.npy", np.float32)
    degrees = np.zeros(len(nodes) + 1, dtype=np.int64)
    with ExitStack() as stack:
        arrays = {
            column: stack.enter_context(ArrayOnDisk(open_binary(out, name), dtype))
            for column, (name, dtype) in files.items()
        }
        for block in entries:
            degrees[1:] += np.bincount(block["source"], minlength=len(nodes))
            for column, array in arrays.items():
                array.append(block[column])
    indptr = np.cumsum(degrees)
    if out is None:
        columns = {column: array.read() for column, array in arrays.items()}
    else:
        np.save(out / "indptr.npy", indptr, allow_pickle=False)
        columns = {column: load_array(out / name) for column, (name, _) in files.items()}
    return Graph(indptr, columns["target"], nodes, directed, columns.get("weight"))


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
