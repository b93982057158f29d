"""The single files of a split folder: arrays of edges, their weights, the index of names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.blocks import EdgeArray, blocks
from arcvec.graph.files import growing_array
from arcvec.graph.names import NodeNames, require_inside
from arcvec.storage import load_array, read_json

WEIGHTS = "train.weights.npy"


def read_index(path: Path) -> NodeNames:
    """Return the names in an `index.json`, which maps each name to its id."""
    _require_file(path)
    content = read_json(path)
    index: Any = content.get("index") if isinstance(content, dict) else None
    if not _numbers_from_zero(index):
        raise ValueError(
            f'{path}: expected "index" to map each node name to an id of its own, from 0 upwards'
        )
    return NodeNames.from_strings(sorted(index, key=index.__getitem__))


def _numbers_from_zero(index: Any) -> bool:
    return (
        isinstance(index, dict)
        and all(isinstance(i, int) for i in index.values())
        and sorted(index.values()) == list(range(len(index)))
    )


def write_index(path: Path, nodes: NodeNames, counts: Mapping[str, int]) -> None:
    """Write an `index.json`: the id of each name, and some counts."""
    # By hand, as `write_json` would: millions of names are no dictionary before they are text.
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "index": {')
        for i, name in enumerate(nodes):
            file.write(f"{',' if i else ''}\n    {json.dumps(name, ensure_ascii=False)}: {i}")
        file.write("\n  }" if len(nodes) else "}")
        for key, count in counts.items():
            file.write(f',\n  "{key}": {count}')
        file.write("\n}\n")


def write_rows(path: Path, arrays: Iterable[NDArray[Any]]) -> int:
    """Write weights or pairs as an .npy file, block by block, and return how many there are."""
    dtype, row_shape = (np.float32, ()) if path.name == WEIGHTS else (np.int32, (2,))
    num_rows = 0
    with growing_array(path, dtype, row_shape) as append:
        for rows in arrays:
            append(rows)
            num_rows += len(rows)
    return num_rows


def read_edge_array(path: Path, num_nodes: int) -> EdgeArray:
    """Return the (m, 2) int32 array in an .npy file of any integer type, its ids checked.

    It is mapped into memory if it is of int32.
    """
    edges = _load(path)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"{path}: expected integer pairs of shape (m, 2), got {edges.dtype} {edges.shape}"
        )
    for block in blocks(len(edges)):
        ids = edges[block]
        outside = ids[(ids < 0) | (ids >= num_nodes)]
        if outside.size:
            raise ValueError(
                f"{path}: expected node ids from 0 to {num_nodes - 1}, as in index.json, "
                f"got {outside[0]}"
            )
    return edges.astype(np.int32, copy=False)


def read_weights(path: Path, num_edges: int) -> NDArray[np.floating]:
    """Return the weights in an .npy file, one an edge."""
    weights = _load(path)
    if weights.shape != (num_edges,) or weights.dtype.kind != "f":
        raise ValueError(
            f"{path}: expected {num_edges} weights, one an edge, "
            f"got {weights.dtype} {weights.shape}"
        )
    return weights


def _load(path: Path) -> NDArray[Any]:
    _require_file(path)
    return np.asarray(load_array(path))


def _require_file(path: Path) -> None:
    require_inside(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; expected a split folder, made by: arcvec split GRAPH -o SPLIT"
        )
