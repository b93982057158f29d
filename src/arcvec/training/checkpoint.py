"""Checkpoints: one safetensors file with every tensor and the rest of the state as JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from arcvec.storage import new_file


def save_checkpoint(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Replace the checkpoint at once: a reader sees the old one or the new one, whole."""
    from safetensors.torch import save_file

    with new_file(path, overwrite=True) as partial:
        contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
        text = json.dumps(state)
        metadata = {"state": text, "checksum": _digest(contiguous, text)}
        save_file(contiguous, partial, metadata=metadata)


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the state of a checkpoint."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"{path}: no checkpoint to resume from; fit without --resume")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
            state = json.loads(metadata["state"])
            if metadata["checksum"] != _digest(tensors, metadata["state"]):
                raise ValueError("its checksum differs: it is damaged")
            progress, identity = state["progress"], state["identity"]
            assert isinstance(progress, dict)
            assert isinstance(identity, dict)
    except (SafetensorError, TypeError, KeyError, ValueError, AssertionError) as error:
        raise ValueError(
            f"{path}: expected a checkpoint, got a file that cannot be read ({error}); "
            "delete it and fit without --resume"
        ) from None
    return tensors, state


def _digest(tensors: dict[str, Tensor], state: str) -> str:
    digest = hashlib.sha256(state.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
