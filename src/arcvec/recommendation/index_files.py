"""An index in the result folder, beside the vectors it was made of."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from arcvec.checksums import verify_checksums
from arcvec.embeddings import EdgeEmbeddings, Side
from arcvec.recommendation.approximate import DEPTHS, RECALL, VectorIndex, build_index, indexed_side
from arcvec.recommendation.candidates import Direction
from arcvec.storage import load_array, new_folder, read_header, write_json

logger = logging.getLogger(__name__)

FORMAT = "arcvec-index"
FORMAT_VERSION = 1
ARRAYS = ("probing", "starts", "tiles", "members")


def open_index(
    result: str | Path,
    embeddings: EdgeEmbeddings,
    direction: Direction = "targets",
    *,
    recall: float | None = None,
) -> VectorIndex:
    """Return the index in a result folder, memory-mapped; built first where none fits.

    None fits if there is none, if the vectors or arcvec's format have changed since, or if it was
    built for another recall.

    Args:
        result: the folder of which `embeddings` are.
        recall: see `build_index`; by default any will do, and .97 if the index must be built.
    """
    side = indexed_side(embeddings, direction)
    folder = index_folder(result, side)
    checksum = embeddings.fingerprint(side)
    if folder.exists():
        try:
            return _load(folder, side, checksum, recall)
        except (ValueError, OSError) as error:
            logger.info("the index is built again: %s", error)
    index = build_index(embeddings, direction, recall=RECALL if recall is None else recall)
    try:
        _save(index, folder, checksum)
    except OSError as error:  # a result that may only be read is searched all the same
        logger.info("the index is not kept: %s", error)
        return index
    return _load(folder, side, checksum, recall)


def index_folder(result: str | Path, side: Side) -> Path:
    """Return where in a result folder the index of one side is."""
    return Path(result) / f"index-{side}"


def _save(index: VectorIndex, folder: Path, checksum: str) -> None:
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "side": index.side,
        "vectors": checksum,
        "recall": index.recall,
        "depths": DEPTHS,
        "probes": index.probes,
    }
    with new_folder(folder, overwrite=True) as partial:
        for name in ARRAYS:
            np.save(partial / f"{name}.npy", getattr(index, name), allow_pickle=False)
        write_json(partial / "meta.json", header)


def _load(folder: Path, side: Side, checksum: str, recall: float | None) -> VectorIndex:
    """Return the index in a folder, or say why it does not fit."""
    verify_checksums(folder)
    header: dict[str, Any] = read_header(
        folder / "meta.json", FORMAT, [FORMAT_VERSION], ["vectors", "recall", "probes", "depths"]
    )
    if header["vectors"] != checksum:
        raise ValueError(f"{folder}: made of other vectors than those of the result")
    if tuple(header["depths"]) != DEPTHS:
        raise ValueError(f"{folder}: made for the depths {header['depths']}, expected {DEPTHS}")
    if recall not in (None, header["recall"]):
        raise ValueError(f"{folder}: made for a recall of {header['recall']}, expected {recall}")
    arrays = {name: load_array(folder / f"{name}.npy") for name in ARRAYS}
    return VectorIndex(side, header["recall"], probes=tuple(header["probes"]), **arrays)
