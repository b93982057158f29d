"""Files and folders that all workers write together, and graphs that all of them map."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.storage.atomic import new_folder


@contextmanager
def shared_folder(
    workers: Alone, path: Path, *, overwrite: bool = False, checksums: bool = True
) -> Iterator[Path]:
    """Yield a temporary folder that all workers see; it becomes `path` when all are done."""
    with ExitStack() as stack:
        if workers.is_first:
            made = stack.enter_context(new_folder(path, overwrite=overwrite, checksums=checksums))
        yield Path(workers.agree(lambda: str(made)))
        workers.wait()
    workers.wait()  # until the folder has its name


def write_shared_rows(path: Path, rows: NDArray[Any], partition: Partition, workers: Alone) -> None:
    """Write an .npy file with a row for each node, in the order of ids, given the own rows."""
    first, ordered = _by_id(rows, partition, workers)
    shape = (partition.num_nodes, rows.shape[1])
    if workers.is_first:
        with path.open("wb") as file:
            header = {"descr": ordered.dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + int(np.prod(shape)) * ordered.itemsize)
    workers.wait()
    with path.open("r+b") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        file.seek(first * shape[1] * ordered.itemsize, os.SEEK_CUR)
        file.write(np.ascontiguousarray(ordered).data)
        file.flush()
        os.fsync(file.fileno())
    workers.wait()


def _by_id(rows: NDArray[Any], partition: Partition, workers: Alone) -> tuple[int, NDArray[Any]]:
    """Return the first id of this worker's range of ids, and the rows of that range."""
    nodes = partition.nodes_of(workers.rank)
    receivers = nodes // partition.rows_each
    order = np.argsort(receivers, kind="stable")
    cuts = np.cumsum(np.bincount(receivers, minlength=workers.count))[:-1]
    ids = workers.exchange(np.split(nodes[order].astype(np.int32), cuts))
    parts = workers.exchange(np.split(rows[order], cuts))
    first = partition.first(workers.rank)
    ordered = np.empty((partition.num_rows(workers.rank), rows.shape[1]), rows.dtype)
    for some, part in zip(ids, parts, strict=True):
        ordered[some - first] = part
    return first, ordered


def graphs_folder(checkpoint: Path) -> Path:
    """Return the folder of the graphs that many workers map while they fit."""
    return checkpoint.with_suffix(".graphs")


def shared_graph(
    workers: Alone, folder: Path | None, make: Callable[[], Graph], *, both_ways: bool = True
) -> Graph:
    """Return a graph that the first worker makes, and that many workers map from a folder.

    Args:
        both_ways: map the transposed graph too, which alternating walks need.
    """
    if workers.count == 1:
        return make()
    assert folder is not None
    if workers.is_first:
        shutil.rmtree(folder, ignore_errors=True)
        save_graph(make(), folder)
    workers.wait()
    graph = load_graph(folder)
    return mapped_both_ways(workers, graph, folder) if both_ways else graph


def mapped_both_ways(workers: Alone, graph: Graph, folder: Path) -> Graph:
    """Return the graph with its transposed graph mapped from a folder beside the given one."""
    if workers.count == 1 or not graph.directed:
        return graph
    beside = folder.with_name(f"{folder.name}-transposed")
    transposed = shared_graph(workers, beside, lambda: graph.transposed, both_ways=False)
    return graph.with_transposed(transposed)
