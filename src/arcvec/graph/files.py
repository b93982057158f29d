"""Graph folders: `indptr.npy`, `indices.npy`, `weights.npy`, `nodes.txt`, `meta.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcvec.checksums import verify_checksums
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.storage import load_array, new_folder, read_header, write_json

if TYPE_CHECKING:
    from arcvec.graph.edge_settings import EdgeFileSettings

FORMAT = "arcvec-graph"
FORMAT_VERSION = 1

_CHUNK = 1 << 22


def open_graph(path: str | Path, settings: EdgeFileSettings | None = None) -> Graph:
    """Return the graph at a path, whatever it is.

    A graph folder is memory-mapped; of a split folder only the train part is seen; anything else
    is read as raw edges.

    Raises:
        ValueError: settings for raw edges were set, but the path is a graph or split folder.
    """
    path = Path(path)
    if (path / "meta.json").is_file():
        _refuse_settings(path, "a graph folder", settings)
        return load_graph(path)
    from arcvec.graph.split import is_split, read_train

    if is_split(path):
        _refuse_settings(path, "a split folder", settings)
        return read_train(path)
    from arcvec.graph.ingest import read_edges

    return read_edges(path, settings)


def _refuse_settings(path: Path, kind: str, settings: EdgeFileSettings | None) -> None:
    if settings is None or not settings.model_fields_set:
        return
    flags = sorted(_flag(name, getattr(settings, name)) for name in settings.model_fields_set)
    raise ValueError(
        f"{path} is {kind}, read already; expected none of {', '.join(flags)}, which say how to "
        "read raw edge files; leave them out, or pass the raw file"
    )


def _flag(name: str, value: object) -> str:
    if name == "directed" and not value:
        return "--undirected"
    return f"--{name.replace('_', '-')}"


def save_graph(graph: Graph, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a graph folder, whole or not at all."""
    with new_folder(Path(path), overwrite=overwrite) as folder:
        write_graph(graph, folder)


def write_graph(graph: Graph, folder: Path) -> None:
    """Write the files of a graph into an existing folder."""
    np.save(folder / "indptr.npy", graph.indptr, allow_pickle=False)
    np.save(folder / "indices.npy", graph.indices, allow_pickle=False)
    if graph.weights is not None:
        np.save(folder / "weights.npy", graph.weights, allow_pickle=False)
    graph.nodes.save(folder / "nodes.txt")
    write_meta(
        folder,
        directed=graph.directed,
        weighted=graph.weights is not None,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        num_self_loops=graph.num_self_loops,
    )


def write_meta(
    folder: Path,
    *,
    directed: bool,
    weighted: bool,
    num_nodes: int,
    num_edges: int,
    num_self_loops: int,
) -> None:
    """Write the `meta.json` of a graph folder."""
    meta = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "directed": directed,
        "weighted": weighted,
        "num_nodes": num_nodes,
        "num_edges": num_edges,
        "num_self_loops": num_self_loops,
    }
    write_json(folder / "meta.json", meta)


def load_graph(path: str | Path, *, mmap: bool = True) -> Graph:
    """Return the graph in a graph folder, memory-mapped unless told otherwise.

    Raises:
        FileNotFoundError: the folder, or a file in it, is missing.
        ValueError: a file does not fit the others; the message names it.
    """
    folder = Path(path)
    verify_checksums(folder)
    meta = _read_meta(folder)
    num_nodes = int(meta["num_nodes"])
    indptr = _load_array(folder / "indptr.npy", np.int64, num_nodes + 1, mmap=mmap)
    _check_indptr(folder / "indptr.npy", indptr)
    num_entries = int(indptr[-1])
    indices = _load_array(folder / "indices.npy", np.int32, num_entries, mmap=mmap)
    _check_indices(folder / "indices.npy", indices, indptr)
    weights = None
    if meta["weighted"]:
        weights = _load_array(folder / "weights.npy", np.float32, num_entries, mmap=mmap)
        _check_weights(folder / "weights.npy", weights)
    nodes = _load_names(folder / "nodes.txt", num_nodes, mmap=mmap)
    return Graph(indptr, indices, nodes, bool(meta["directed"]), weights)


def _read_meta(folder: Path) -> dict[str, Any]:
    if not (folder / "meta.json").is_file():
        raise FileNotFoundError(
            f"{folder}: expected a graph folder with meta.json; "
            "make one with: arcvec ingest EDGES -o GRAPH"
        )
    keys = ("directed", "weighted", "num_nodes")
    return read_header(folder / "meta.json", FORMAT, [FORMAT_VERSION], keys)


def _load_array(path: Path, dtype: DTypeLike, length: int, *, mmap: bool) -> NDArray[Any]:
    array = load_array(path, mmap=mmap)
    if array.dtype != dtype or array.shape != (length,):
        raise ValueError(
            f"{path}: expected {length} numbers of {np.dtype(dtype)}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array


def _load_names(path: Path, num_nodes: int, *, mmap: bool) -> NodeNames:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: missing from the graph folder")
    try:
        nodes = NodeNames.load(path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if len(nodes) != num_nodes:
        raise ValueError(f"{path}: expected {num_nodes} names, one a line, got {len(nodes)}")
    return nodes if mmap else NodeNames(np.array(nodes.text))


def _check_indptr(path: Path, indptr: NDArray[np.int64]) -> None:
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"{path}: expected row starts that begin at 0 and never fall")


def _check_indices(path: Path, indices: NDArray[np.int32], indptr: NDArray[np.int64]) -> None:
    num_nodes = indptr.size - 1
    for start in range(0, indices.size, _CHUNK):
        # One entry more, so that neighbours across two chunks are compared too.
        chunk = np.asarray(indices[start : start + _CHUNK + 1])
        if chunk.min() < 0 or chunk.max() >= num_nodes:
            raise ValueError(f"{path}: expected node ids from 0 to {num_nodes - 1}")
        falls = start + 1 + np.flatnonzero(chunk[1:] <= chunk[:-1])
        if (indptr[np.searchsorted(indptr, falls)] != falls).any():
            raise ValueError(f"{path}: expected ascending targets in every row, without repeats")


def _check_weights(path: Path, weights: NDArray[np.float32]) -> None:
    for start in range(0, weights.size, _CHUNK):
        chunk = weights[start : start + _CHUNK]
        if not (np.isfinite(chunk) & (chunk > 0)).all():
            raise ValueError(f"{path}: expected positive, finite weights")


@contextmanager
def growing_array(
    path: Path, dtype: DTypeLike, row_shape: tuple[int, ...] = ()
) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Yield a function that appends rows to an .npy file, which is never mapped into memory.

    Args:
        row_shape: of one row; by default rows are single numbers.
    """
    with path.open("wb") as file:
        length = 0

        def write_header() -> None:
            # numpy pads headers so that the length can grow in place.
            header = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype))
            np.lib.format.write_array_header_1_0(file, {**header, "shape": (length, *row_shape)})

        def append(values: NDArray[Any]) -> None:
            nonlocal length
            file.write(np.ascontiguousarray(values, dtype).data)
            length += len(values)

        write_header()
        yield append
        file.seek(0)
        write_header()
