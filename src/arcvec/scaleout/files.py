"""Files and folders that all workers write together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers
from arcvec.storage import new_folder


@contextmanager
def shared_folder(
    workers: Workers, path: Path, *, overwrite: bool = False, checksums: bool = True
) -> Iterator[Path]:
    """Yield the same empty temporary folder to all workers; it becomes `path` when all are done.

    Args:
        path: on a file system that all workers see.
        overwrite, checksums: see `new_folder`.
    """
    with ExitStack() as stack:
        if workers.is_first:
            made = stack.enter_context(new_folder(path, overwrite=overwrite, checksums=checksums))
        yield Path(workers.agree(lambda: str(made)))
        workers.wait_for_all()
    # Nobody leaves before the folder has its name.
    workers.wait_for_all()


def write_rows(
    path: Path,
    rows: NDArray[np.float32],
    dtype: DTypeLike,
    partition: Partition,
    workers: Workers,
) -> None:
    """Write an .npy file of a row for each node, in the order of ids; no worker ever has them all.

    Args:
        path: on a file system that all workers see.
        rows: of this worker's nodes.
    """
    first, ordered = _by_id(rows.astype(dtype), partition, workers)
    shape = (partition.num_nodes, rows.shape[1])
    if workers.is_first:
        with path.open("wb") as file:
            header = {"descr": ordered.dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + int(np.prod(shape)) * ordered.itemsize)
    workers.wait_for_all()
    with path.open("r+b") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        file.seek(first * shape[1] * ordered.itemsize, os.SEEK_CUR)
        file.write(np.ascontiguousarray(ordered).data)
        file.flush()
        os.fsync(file.fileno())
    workers.wait_for_all()


def _by_id(rows: NDArray[Any], partition: Partition, workers: Workers) -> tuple[int, NDArray[Any]]:
    """Return the first id of this worker's range of ids, and the rows of that range."""
    nodes = partition.nodes_of(workers.rank)
    receivers = nodes // partition.rows_each
    order = np.argsort(receivers, kind="stable")
    cuts = np.cumsum(np.bincount(receivers, minlength=workers.count))[:-1]
    ids = workers.exchange_arrays(np.split(nodes[order].astype(np.int32), cuts), "result")
    parts = workers.exchange_arrays(np.split(rows[order], cuts), "result")
    first = partition.first(workers.rank)
    ordered = np.empty((partition.num_rows(workers.rank), rows.shape[1]), rows.dtype)
    for some, part in zip(ids, parts, strict=True):
        ordered[some - first] = part
    return first, ordered
