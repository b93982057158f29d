"""How `torch.distributed.checkpoint` keeps numbers: plain bytes, and JSON to say what they are.

Torch's own files have their index pickled, and whoever reads a pickle runs what is in it. Here each
worker writes one file of numbers, and the first worker an index with the checksums of all of them.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
)
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.futures import Future

from arcvec.checksums import sealed
from arcvec.storage import read_header, write_json

INDEX = "index.json"
FORMAT, FORMAT_VERSION = "arcvec-checkpoint-part", 1
_FILE = re.compile(r"worker-\d+\.bin")
_TYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64}


class PlainWriter(StorageWriter):
    """Writes the numbers of this worker to a file, and on the first worker the index of all files.

    Args:
        folder: must exist, for all workers.
        state: JSON to keep beside the numbers.
    """

    def __init__(self, folder: Path, rank: int, state: dict[str, Any]) -> None:
        self.folder, self.rank, self.state = folder, rank, state

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Do nothing: there is one writer for each checkpoint."""

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the folder is there."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Return the plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Return the plans as they are."""
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the numbers of this worker, one tensor after the other."""
        name, digest, results = f"worker-{self.rank}.bin", hashlib.sha256(), []
        places: list[dict[str, Any]] = []
        with (self.folder / name).open("wb") as file:
            for item in plan.items:
                tensor = planner.resolve_data(item)
                assert isinstance(tensor, torch.Tensor)
                numbers = tensor.detach().cpu().contiguous().numpy().reshape(-1).view(np.uint8)
                place = {"file": name, "at": file.tell()}
                file.write(numbers.data)
                digest.update(numbers.data)
                places.append(place)
                results.append(WriteResult(item.index, numbers.nbytes, place))
            file.flush()
            os.fsync(file.fileno())
        for place in places:
            place["sha256"] = digest.hexdigest()
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the index, on one worker, when all have written their numbers."""
        written = {result.index: result.storage_data for part in results for result in part}
        tensors = {}
        for name, about in metadata.state_dict_metadata.items():
            assert isinstance(about, TensorStorageMetadata)
            chunks = []
            for chunk in about.chunks:
                place = written[MetadataIndex(name, chunk.offsets)]
                ends = {"first": list(chunk.offsets), "shape": list(chunk.sizes)}
                chunks.append({**ends, "file": place["file"], "at": place["at"]})
            kind = str(about.properties.dtype).removeprefix("torch.")
            tensors[name] = {"type": kind, "shape": list(about.size), "chunks": chunks}
        files = {place["file"]: place["sha256"] for place in written.values()}
        index = {"tensors": tensors, "files": files, "state": self.state}
        header = {"format": FORMAT, "format_version": FORMAT_VERSION}
        write_json(self.folder / INDEX, sealed({**header, **index}))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Tell that any folder will do."""
        return True


class PlainReader(StorageReader):
    """Reads what `PlainWriter` wrote, on any number of workers.

    Raises:
        OSError, ValueError: the index is missing or not what was written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = read_index(folder)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Do nothing: there is one reader for each checkpoint."""

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return which tensors there are, and in which pieces."""
        tensors, places = {}, {}
        for name, about in self.index["tensors"].items():
            chunks = []
            for chunk in about["chunks"]:
                first, shape = torch.Size(chunk["first"]), torch.Size(chunk["shape"])
                chunks.append(ChunkStorageMetadata(first, shape))
                places[MetadataIndex(name, first)] = {**chunk, "type": about["type"]}
            properties = TensorProperties(dtype=_TYPES[about["type"]])
            tensors[name] = TensorStorageMetadata(properties, torch.Size(about["shape"]), chunks)
        return Metadata(dict(tensors), storage_data=places)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Remember where the pieces are."""
        self.places = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read what this worker needs, which may be parts of the pieces of several."""
        for item in plan.items:
            piece = self._piece(self.places[item.storage_index])
            for axis, (first, length) in enumerate(
                zip(item.storage_offsets, item.lengths, strict=True)
            ):
                piece = piece.narrow(axis, first, length)
            target = planner.resolve_tensor(item).detach()
            target.copy_(piece)
            planner.commit_tensor(item, target)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _piece(self, place: dict[str, Any]) -> torch.Tensor:
        shape, kind = tuple(place["shape"]), np.dtype(place["type"])
        if not all(shape):
            return torch.empty(shape, dtype=_TYPES[place["type"]])
        # Copied on write, which never happens: torch wants numbers that may be written.
        numbers = np.memmap(
            self.folder / place["file"], kind, mode="c", offset=place["at"], shape=shape or (1,)
        )
        return torch.from_numpy(numbers).reshape(shape)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Tell that any folder will do."""
        return True


def read_index(folder: Path) -> dict[str, Any]:
    """Return the index of a checkpoint."""
    keys = ("tensors", "files", "state")
    index = read_header(folder / INDEX, FORMAT, [FORMAT_VERSION], keys, is_sealed=True)
    strange = [name for name in index["files"] if not _FILE.fullmatch(name)]
    if strange:
        raise ValueError(f"{folder / INDEX}: expected files of workers, got {strange[0]!r}")
    return index
