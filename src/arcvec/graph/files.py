"""The files of graph folders and split folders, checked when read.

A graph folder holds `indptr.npy`, `indices.npy`, `weights.npy`, `nodes.txt` and `meta.json`; a
split folder holds arrays of edges and an `index.json` of names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray, NodeNames, require_inside
from arcvec.storage.arrays import blocks, load_array
from arcvec.storage.atomic import new_folder
from arcvec.storage.headers import read_header, read_json, verify_checksums, write_json

FORMAT = "arcvec-graph"
FORMAT_VERSION = 1


def save_graph(graph: Graph, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a graph folder atomically."""
    with new_folder(Path(path), overwrite=overwrite) as folder:
        write_graph(graph, folder)


def write_graph(graph: Graph, folder: Path) -> None:
    """Write the files of a graph into an existing folder."""
    for name in ("indptr", "indices", "weights"):
        if getattr(graph, name) is not None:
            np.save(folder / f"{name}.npy", getattr(graph, name), allow_pickle=False)
    graph.nodes.save(folder / "nodes.txt")
    facts = {"directed": graph.directed, "weighted": graph.weights is not None}
    counts = ("num_nodes", "num_edges", "num_self_loops")
    write_meta(folder, **facts, **{name: getattr(graph, name) for name in counts})


def write_meta(folder: Path, **facts: int) -> None:
    """Write the `meta.json` of a graph folder."""
    write_json(folder / "meta.json", {"format": FORMAT, "format_version": FORMAT_VERSION, **facts})


def load_graph(path: str | Path, *, mmap: bool = True) -> Graph:
    """Return the graph in a graph folder, by default memory-mapped, after checking its files."""
    folder = Path(path)
    verify_checksums(folder)
    if not (folder / "meta.json").is_file():
        raise FileNotFoundError(
            f"{folder}: expected a graph folder with meta.json; "
            "make one with: arcvec ingest EDGES -o GRAPH"
        )
    keys = ("directed", "weighted", "num_nodes")
    meta = read_header(folder / "meta.json", FORMAT, [FORMAT_VERSION], keys)
    num_nodes = int(meta["num_nodes"])
    indptr = _load_column(folder / "indptr.npy", np.int64, num_nodes + 1, mmap=mmap)
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(
            f"{folder / 'indptr.npy'}: expected row starts that begin at 0 and never fall"
        )
    num_entries = int(indptr[-1])
    indices = _load_column(folder / "indices.npy", np.int32, num_entries, mmap=mmap)
    _check_indices(folder / "indices.npy", indices, indptr)
    weights = None
    if meta["weighted"]:
        weights = _load_column(folder / "weights.npy", np.float32, num_entries, mmap=mmap)
        for block in blocks(num_entries):
            if not (np.isfinite(weights[block]) & (weights[block] > 0)).all():
                raise ValueError(f"{folder / 'weights.npy'}: expected positive, finite weights")
    names = folder / "nodes.txt"
    nodes = NodeNames.load(names)
    if len(nodes) != num_nodes:
        raise ValueError(f"{names}: expected {num_nodes} names, one a line, got {len(nodes)}")
    nodes = nodes if mmap else NodeNames(np.array(nodes.text))
    return Graph(indptr, indices, nodes, bool(meta["directed"]), weights)


def _load_column(path: Path, dtype: DTypeLike, length: int, *, mmap: bool) -> NDArray[Any]:
    array = load_array(path, mmap=mmap)
    if array.dtype != dtype or array.shape != (length,):
        raise ValueError(
            f"{path}: expected {length} numbers of {np.dtype(dtype)}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array


def _check_indices(path: Path, indices: NDArray[np.int32], indptr: NDArray[np.int64]) -> None:
    num_nodes = indptr.size - 1
    for block in blocks(indices.size):
        # One entry more, to compare neighbours across two blocks too.
        targets = np.asarray(indices[block.start : block.stop + 1])
        if targets.min() < 0 or targets.max() >= num_nodes:
            raise ValueError(f"{path}: expected node ids from 0 to {num_nodes - 1}")
        falls = block.start + 1 + np.flatnonzero(targets[1:] <= targets[:-1])
        if (indptr[np.searchsorted(indptr, falls)] != falls).any():
            raise ValueError(f"{path}: expected ascending targets in every row, without repeats")


def read_index(path: Path) -> NodeNames:
    """Return the names in an `index.json`, which maps each name to its id."""
    _require_split_file(path)
    content = read_json(path)
    index: Any = content.get("index") if isinstance(content, dict) else None
    if not (
        isinstance(index, dict)
        and all(isinstance(i, int) for i in index.values())
        and sorted(index.values()) == list(range(len(index)))
    ):
        raise ValueError(
            f'{path}: expected "index" to map each node name to an id of its own, from 0 upwards'
        )
    return NodeNames.from_strings(sorted(index, key=index.__getitem__))


def write_index(path: Path, nodes: NodeNames, counts: Mapping[str, int]) -> None:
    """Write an `index.json`: the id of each name, and some counts."""
    # Written name by name: a dictionary of millions of names would take gigabytes.
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "index": {')
        for i, name in enumerate(nodes):
            file.write(f"{',' if i else ''}\n    {json.dumps(name, ensure_ascii=False)}: {i}")
        file.write("\n  }" if len(nodes) else "}")
        for key, count in counts.items():
            file.write(f',\n  "{key}": {count}')
        file.write("\n}\n")


def read_edge_array(path: Path, num_nodes: int) -> EdgeArray:
    """Return the (m, 2) int32 array in an .npy file of any integer type, mapped if int32 there."""
    _require_split_file(path)
    edges = np.asarray(load_array(path))
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


def read_edge_weights(path: Path, num_edges: int) -> NDArray[np.floating] | None:
    """Return the weights in an .npy file, one per edge; None if there is no such file."""
    require_inside(path)
    if not path.is_file():
        return None
    weights = np.asarray(load_array(path))
    if weights.shape != (num_edges,) or weights.dtype.kind != "f":
        raise ValueError(
            f"{path}: expected {num_edges} weights, one per edge, "
            f"got {weights.dtype} {weights.shape}"
        )
    return weights


def _require_split_file(path: Path) -> None:
    require_inside(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; expected a split folder, made by: arcvec split GRAPH -o SPLIT"
        )
