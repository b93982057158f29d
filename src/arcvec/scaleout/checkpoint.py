"""Checkpoints of many workers: a folder with the two newest, of which any number can go on.

A checkpoint is written under a temporary name, flushed, renamed, and only then named as the newest.
Whoever resumes checks the newest against its checksums, and takes the one before if it is torn.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Shard

from arcvec.checksums import sealed
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.storage import PlainReader, PlainWriter, read_index
from arcvec.scaleout.workers import Workers
from arcvec.storage import new_file, read_header, write_json

logger = logging.getLogger(__name__)

NEWEST = "checkpoint.json"
FORMAT, FORMAT_VERSION = "arcvec-checkpoint", 1
_ROW_TENSORS = ("table", "table.mean", "table.square")
_TYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64}


def has_checkpoint(folder: Path) -> bool:
    """Tell whether a folder has a checkpoint of many workers."""
    return (folder / NEWEST).is_file() and bool(_generations(folder))


def save_sharded(
    folder: Path,
    tensors: dict[str, Tensor],
    state: dict[str, Any],
    partition: Partition,
    workers: Workers,
) -> None:
    """Write a checkpoint as the newest one of a folder; called by all workers.

    Args:
        tensors: with a row for each node, those of the own nodes; all others are the same on all
            workers.
    """
    number = workers.agree(lambda: max(_generations(folder), default=0) + 1)
    partial = folder / f".partial-{number}"
    if workers.is_first:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    workers.wait_for_all()
    mesh = init_device_mesh("cpu", (workers.count,))
    values: dict[str, Any] = {
        name: _as_shard(tensor, mesh, partition) if is_by_rows(name) else tensor
        for name, tensor in tensors.items()
    }
    save(values, storage_writer=PlainWriter(partial, workers.rank, state))
    if workers.is_first:
        _flush(partial)
        partial.rename(_generation(folder, number))
        _name_newest(folder, number)
        for old in _generations(folder):
            if old < number - 1:
                shutil.rmtree(_generation(folder, old))
    workers.wait_for_all()


def load_sharded(
    folder: Path, partition: Partition, workers: Workers
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of this worker and the state of the newest checkpoint that is whole.

    It may have been written by another number of workers.

    Raises:
        FileNotFoundError: there is none.
        ValueError: none of them is whole.
    """
    known = workers.agree(lambda: _newest_first(folder))
    if not known:
        raise FileNotFoundError(f"{folder}: no checkpoint to resume from; fit without --resume")
    for number in known:
        reader = _whole(_generation(folder, number), workers)
        if reader is not None:
            return _load(reader, partition, workers)
        if workers.is_first:
            logger.warning(
                "checkpoint %s is torn or damaged: the one before it is taken",
                _generation(folder, number),
            )
    raise ValueError(f"{folder}: all checkpoints in it are damaged; fit without --resume")


def prepare_folder(folder: Path) -> None:
    """Make an empty folder for checkpoints; what another fit left there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _name_newest(folder, None)


def is_by_rows(name: str) -> bool:
    """Tell by its name whether a tensor of a state has a row for each node."""
    return name.removeprefix("kept.") in _ROW_TENSORS or name.endswith((".source", ".target"))


def _load(
    reader: PlainReader, partition: Partition, workers: Workers
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    mesh = init_device_mesh("cpu", (workers.count,))
    tensors, values = {}, {}
    for name, about in reader.index["tensors"].items():
        shape = list(about["shape"])
        by_rows = is_by_rows(name)
        if by_rows:
            if shape[0] != partition.num_nodes:
                raise ValueError(f"{reader.folder}: expected rows of {partition.num_nodes} nodes")
            shape[0] = partition.num_rows(workers.rank)
        tensors[name] = torch.empty(shape, dtype=_TYPES[about["type"]])
        values[name] = _as_shard(tensors[name], mesh, partition) if by_rows else tensors[name]
    load(values, storage_reader=reader)
    return tensors, reader.index["state"]


def _as_shard(rows: Tensor, mesh: DeviceMesh, partition: Partition) -> DTensor:
    """Return the own rows as a part of the whole, which is nowhere."""
    whole = torch.Size((partition.num_nodes, rows.shape[1]))
    return DTensor.from_local(
        rows.cpu(), mesh, [Shard(0)], run_check=False, shape=whole, stride=(rows.shape[1], 1)
    )


def _whole(folder: Path, workers: Workers) -> PlainReader | None:
    """Return a reader of a checkpoint, or None if it is torn; files are cut among the workers."""
    try:
        index = read_index(folder)
        mine = sorted(index["files"])[workers.rank :: workers.count]
        torn = any(_digest(folder / name) != index["files"][name] for name in mine)
    except (OSError, ValueError):
        torn = True
    return None if workers.any(torn) else PlainReader(folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _generation(folder: Path, number: int) -> Path:
    return folder / f"generation-{number}"


def _generations(folder: Path) -> list[int]:
    names = (path.name.removeprefix("generation-") for path in folder.glob("generation-*"))
    return sorted(int(name) for name in names if name.isdecimal())


def _newest_first(folder: Path) -> list[int]:
    """Return the checkpoints of a folder: the one it names as the newest, then those before."""
    if not (folder / NEWEST).is_file():
        return []
    generations = _generations(folder)[::-1]
    try:
        header = read_header(folder / NEWEST, FORMAT, [FORMAT_VERSION], ["newest"], is_sealed=True)
    except ValueError:
        return generations
    newest = header["newest"] or 0
    return [number for number in generations if number <= newest]


def _name_newest(folder: Path, number: int | None) -> None:
    with new_file(folder / NEWEST, overwrite=True) as path:
        header = {"format": FORMAT, "format_version": FORMAT_VERSION, "newest": number}
        write_json(path, sealed(header))


def _flush(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
