"""A checkpoint: a folder of snapshots, one for each finished part of a fit and of what runs now.

A snapshot is a folder of safetensors files and a JSON header, written whole or not at all. Each
worker writes the rows of its own nodes; any number of workers can read them.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.shared import shared_folder
from arcvec.storage.atomic import new_folder
from arcvec.storage.headers import read_header, verify_checksums, write_json

logger = logging.getLogger(__name__)

FORMAT, FORMAT_VERSION = "arcvec-checkpoint", 2
HEADER = "checkpoint.json"
_NAMES = re.compile(r"order|(member|running)-\d+")
_KEPT_RUNNING = 2
# Rows; snapshots of fewer nodes are kept in memory where no folder is given.
_SMALL_TABLE = 1 << 18

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is kept of a part of a fit.

    Attributes:
        rows: tensors with a row for each node of this worker.
        shared: tensors that are the same on all workers.
        state: JSON values.
    """

    rows: Tensors
    shared: Tensors
    state: dict[str, Any]

    @classmethod
    def of(
        cls,
        sides: Mapping[str, Sides | None],
        state: dict[str, Any],
        rows: Tensors | None = None,
        shared: Tensors | None = None,
    ) -> Snapshot:
        """Return a snapshot of sides by name, beside further tensors."""
        rows, shared = dict(rows or {}), dict(shared or {})
        for name, one in sides.items():
            for tensors, more in zip((rows, shared), one.by_kind() if one else (), strict=False):
                tensors |= {f"{name}.{key}": tensor for key, tensor in more.items()}
        return cls(rows, shared, state)

    def sides(self, name: str) -> Sides | None:
        """Return the sides of a name, if there are any."""
        both = {**self.rows, **self.shared}
        start = f"{name}."
        found = {key.removeprefix(start): both[key] for key in both if key.startswith(start)}
        return Sides(**found) if found else None


class Checkpoint:
    """The snapshots of one fit, by name.

    Args:
        folder: on a file system that all workers see; None keeps snapshots for this process only,
            those of large graphs in a temporary folder.
        identity: settings, seed, graph and version, which a resumed fit must share.
        resume: continue with the snapshots in the folder; otherwise they are removed.

    Raises:
        FileNotFoundError: there is nothing to resume.
        ValueError: the snapshots belong to another fit.
    """

    def __init__(
        self,
        folder: Path | None,
        partition: Partition,
        workers: Alone,
        identity: dict[str, Any],
        *,
        resume: bool = False,
    ) -> None:
        self.partition, self.workers = partition, workers
        self._memory: dict[str, Snapshot] = {}
        self._temporary = None
        if folder is None and partition.num_nodes > _SMALL_TABLE:
            self._temporary = tempfile.TemporaryDirectory(prefix="arcvec-")
            folder = Path(self._temporary.name)
        self.folder = folder
        self.identity = identity
        self.is_kept = folder is not None and self._temporary is None
        if folder is not None and resume and self.is_kept:
            workers.after_first(lambda: _require_same(folder, identity))
        elif folder is not None:
            workers.after_first(self._create)

    def _create(self) -> None:
        """Write a folder without snapshots, in the place of an older one."""
        if self.folder is None or not self.workers.is_first:
            return
        header = {"format": FORMAT, "format_version": FORMAT_VERSION, "identity": self.identity}
        with new_folder(self.folder, overwrite=True, checksums=False) as partial:
            write_json(partial / HEADER, header)

    def save(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot under a name, in the place of an older one; called by all workers."""
        if self.folder is None:
            rows, shared = _copies(snapshot.rows), _copies(snapshot.shared)
            self._memory[name] = Snapshot(rows, shared, snapshot.state)
            return
        if not (self.folder / HEADER).is_file():
            self._create()  # somebody removed it
        with shared_folder(self.workers, self.folder / name, overwrite=True) as folder:
            _write(folder / f"rows-{self.workers.rank}.safetensors", snapshot.rows)
            if self.workers.is_first:
                _write(folder / "shared.safetensors", snapshot.shared)
                header = {"format": FORMAT, "format_version": FORMAT_VERSION}
                cut = {"num_nodes": self.partition.num_nodes, "workers": self.workers.count}
                write_json(folder / HEADER, {**header, **cut, "state": snapshot.state})

    def load(self, name: str) -> Snapshot | None:
        """Return a snapshot, memory-mapped; None where there is none, or a damaged one."""
        if self.folder is None:
            return self._memory.get(name)
        folder = self.folder / name
        if not self.workers.agree(lambda: folder.is_dir() and _is_whole(folder)):
            return None
        header = read_header(folder / HEADER, FORMAT, [FORMAT_VERSION], ["state", "workers"])
        wrote = Partition(self.partition.num_nodes, header["workers"])
        rows, shared = self._own_rows(folder, wrote), _read(folder / "shared.safetensors")
        self.workers.wait()  # nobody removes what another still reads
        return Snapshot(rows, shared, header["state"])

    def _own_rows(self, folder: Path, wrote: Partition) -> Tensors:
        """Return the rows of this worker's nodes, from those of the workers that wrote them."""
        paths = [folder / f"rows-{rank}.safetensors" for rank in range(wrote.workers)]
        if wrote == self.partition:
            return _read(paths[self.workers.rank])
        nodes = self.partition.nodes_of(self.workers.rank)
        owners, rows = wrote.owners(nodes), torch.from_numpy(wrote.rows(nodes))
        parts = [_read(path) for path in paths]
        own = {}
        for key, first in parts[0].items():
            own[key] = first.new_empty((len(nodes), *first.shape[1:]))
            for rank, part in enumerate(parts):
                mine = torch.from_numpy(owners == rank)
                own[key][mine] = part[key][rows[mine]]
        return own

    def save_running(self, snapshot: Snapshot) -> None:
        """Keep what runs now; the newest two are kept, as the newest may get damaged."""
        if not self.is_kept:
            return
        numbers = self.workers.agree(self._running)
        self.save(f"running-{max(numbers, default=0) + 1}", snapshot)
        if self.workers.is_first:
            for number in numbers[: 1 - _KEPT_RUNNING]:
                self.remove(f"running-{number}")
        self.workers.wait()

    def load_running(self) -> Snapshot | None:
        """Return the newest whole snapshot of what ran last; None where there is none."""
        numbers = self.workers.agree(self._running) if self.is_kept else []
        snapshots = (self.load(f"running-{number}") for number in reversed(numbers))
        return next((snapshot for snapshot in snapshots if snapshot is not None), None)

    def _running(self) -> list[int]:
        assert self.folder is not None
        names = (path.name.partition("-") for path in _snapshots(self.folder))
        return sorted(int(number) for kind, _, number in names if kind == "running")

    def remove(self, name: str) -> None:
        """Forget a snapshot, if there is one; called by the first worker, or by all."""
        self._memory.pop(name, None)
        if self.folder is not None and self.workers.is_first:
            shutil.rmtree(self.folder / name, ignore_errors=True)


def has_snapshots(folder: Path) -> bool:
    """Return whether a folder has a checkpoint to resume from."""
    return (folder / HEADER).is_file() and bool(_snapshots(folder))


def _snapshots(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*") if _NAMES.fullmatch(path.name)]


def _require_same(folder: Path, identity: dict[str, Any]) -> None:
    if not (folder / HEADER).is_file():
        raise FileNotFoundError(f"{folder}: no checkpoint to resume from; fit without --resume")
    try:
        header = read_header(folder / HEADER, FORMAT, [FORMAT_VERSION], ["identity"])
    except ValueError as error:
        raise ValueError(f"{error}; or delete {folder} and fit without --resume") from None
    for name, value in identity.items():
        if header["identity"].get(name) != value:
            raise ValueError(
                f"{folder}: cannot resume, the checkpoint was made with another {name}; "
                "use the same, or fit without --resume"
            )


def _is_whole(folder: Path) -> bool:
    try:
        verify_checksums(folder)
        read_header(folder / HEADER, FORMAT, [FORMAT_VERSION], ["state", "workers", "num_nodes"])
    except (OSError, ValueError):
        logger.warning("%s is torn or damaged: an earlier one is taken", folder)
        return False
    return True


def _copies(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _write(path: Path, tensors: Tensors) -> None:
    save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)


def _read(path: Path) -> Tensors:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: expected tensors of a checkpoint ({error})") from None
