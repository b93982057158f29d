"""Train and test edges with their negatives: the protocol of link prediction, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.checksums import verify_checksums
from arcvec.graph.blocks import EdgeArray, PairFile, blocks
from arcvec.graph.edge_files import (
    WEIGHTS,
    read_edge_array,
    read_index,
    read_weights,
    write_index,
    write_rows,
)
from arcvec.graph.graph import Graph
from arcvec.graph.held_out import EdgePlaces, draw_held_out, sizes_that_fit, true_places
from arcvec.graph.names import NodeNames
from arcvec.graph.non_edges import put_aside_non_edges, reversed_one_way_blocks
from arcvec.notebook import html_table
from arcvec.storage import new_folder, read_header, write_json

FORMAT_VERSION = 1

NEGATIVES = {
    "train.txt.npy": "train.neg.txt.npy",
    "test.txt.npy": "test.neg.txt.npy",
    "validation.txt.npy": "validation.neg.txt.npy",
}

Parts: TypeAlias = dict[str, Iterable[NDArray[Any]]]
"""Arrays of a split by the names of their files, each as its blocks in order."""


@dataclass(frozen=True, eq=False)
class Split:
    """The edges of a graph cut into train and test, with non-edges of the whole graph beside them.

    Attributes:
        train: the only part a method may see; it has all nodes of the whole graph.
        test, validation: (m, 2) int32 edges held out; `validation` is None if none was asked for.
        train_negatives, test_negatives, validation_negatives: uniform non-edges for each part.
        directed_negatives: `test_negatives` and the reverse of every one-way edge; None if
            undirected.
        settings: how the split came about: seed, fractions, fingerprint of the whole graph.
    """

    train: Graph
    test: EdgeArray
    train_negatives: EdgeArray
    test_negatives: EdgeArray
    directed_negatives: EdgeArray | None = None
    validation: EdgeArray | None = None
    validation_negatives: EdgeArray | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def graph(self) -> Graph:
        """The whole graph: train, validation and test edges together, without weights."""
        held_out = [part for part in (self.validation, self.test) if part is not None]
        edges = np.concatenate([np.stack(self.train.edges(), axis=1), *held_out])
        return _graph_of(edges, self.train.nodes, self.train.directed)

    @property
    def reversed_negatives(self) -> EdgeArray | None:
        """Those of `directed_negatives` which are the reverse of an edge; None if undirected."""
        negatives = self.directed_negatives
        if negatives is None:
            return None
        return negatives[self.are_reversed(negatives)]

    def are_reversed(self, pairs: EdgeArray) -> NDArray[np.bool_]:
        """Tell which of some pairs of nodes are the reverse of an edge of the whole graph."""
        return self.graph.has_edges(pairs[:, 1], pairs[:, 0])

    def __repr__(self) -> str:
        return f"Split({self.train!r}, {len(self.test):,} test edges)"

    def _repr_html_(self) -> str:
        parts = {
            "validation edges": self.validation,
            "test edges": self.test,
            "test negatives": self.test_negatives,
            "test negatives with reversed edges": self.directed_negatives,
        }
        rows = {
            "nodes": f"{self.train.num_nodes:,}",
            "direction": "directed" if self.train.directed else "undirected",
            "train edges": f"{self.train.num_edges:,}",
            **{name: None if part is None else f"{len(part):,}" for name, part in parts.items()},
            "seed": self.settings.get("seed"),
        }
        return html_table("Split", rows)


def split_edges(
    graph: Graph, *, test_fraction: float = 0.5, validation_fraction: float = 0.0, seed: int
) -> Split:
    """Return a random split whose train part is as connected as the whole graph.

    A random spanning forest stays in train; test and validation edges are drawn uniformly from the
    rest (self-loops included). Where the rest is smaller than what was asked, all of it is held
    out. Each part gets as many negatives as it has edges, as far as the graph has non-edges.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> split_edges(cycle, test_fraction=0.25, seed=0)
    Split(Graph(4 nodes, 3 edges, directed, unweighted), 1 test edges)
    """
    train, test, validation = cut_edges(graph, test_fraction, validation_fraction, seed)
    sizes = [train.num_edges, len(test), len(validation)]
    train_negatives, test_negatives, validation_negatives = draw_negatives(graph, sizes, seed)
    with_validation = validation_fraction > 0
    return Split(
        train=train,
        test=test,
        train_negatives=train_negatives,
        test_negatives=test_negatives,
        directed_negatives=(
            np.concatenate([*_with_reversed([test_negatives], graph)]) if graph.directed else None
        ),
        validation=validation if with_validation else None,
        validation_negatives=validation_negatives if with_validation else None,
        settings=_settings(graph, test_fraction, validation_fraction, seed),
    )


def cut_edges(
    graph: Graph, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[Graph, EdgeArray, EdgeArray]:
    """Return the train part, the test and the validation edges of `split_edges`; no negatives."""
    # Copies, as those drawn are the beginning of an array of all that might have been.
    test, validation = map(np.array, draw_held_out(graph, test_fraction, validation_fraction, seed))
    train = graph.without_edges_at(np.concatenate([test, validation]))
    return train, _edges_at(graph, test), _edges_at(graph, validation)


def draw_negatives(graph: Graph, sizes: list[int], seed: int) -> list[EdgeArray]:
    """Return disjoint arrays of non-edges of the given sizes."""
    with _put_aside_negatives(graph, sizes, seed) as drawn:
        return [drawn.read(part) for part in _parts_of_negatives(drawn, sizes)]


def _put_aside_negatives(
    graph: Graph, sizes: list[int], seed: int, folder: Path | None = None
) -> PairFile:
    return put_aside_non_edges(graph, sum(sizes), np.random.default_rng([seed, 1]), folder)


def _parts_of_negatives(drawn: PairFile, sizes: list[int]) -> list[slice]:
    """Return which of the negatives drawn are of each part, given how many it asks for."""
    if len(drawn) < sum(size > 0 for size in sizes):
        raise ValueError(f"expected a graph with non-edges for negatives, got {len(drawn)}")
    bounds = np.cumsum([0, *sizes_that_fit(sizes, len(drawn), "non-edges")]).tolist()
    return [slice(*part) for part in pairwise(bounds)]


def _with_reversed(negatives: Iterable[EdgeArray], graph: Graph) -> Iterator[EdgeArray]:
    for block in negatives:
        # Negatives that are reversed edges by chance would stand here twice.
        yield block[~graph.has_edges(block[:, 1], block[:, 0])]
    yield from reversed_one_way_blocks(graph)


def _settings(
    graph: Graph, test_fraction: float, validation_fraction: float, seed: int
) -> dict[str, Any]:
    return {
        "seed": seed,
        "test_fraction": test_fraction,
        "validation_fraction": validation_fraction,
        "graph_fingerprint": graph.fingerprint,
    }


def _edges_at(graph: Graph, places: NDArray[np.integer]) -> EdgeArray:
    return np.stack(graph.edges_at(places), axis=1)


def _graph_of(
    edges: EdgeArray,
    nodes: NodeNames,
    directed: bool,
    weights: NDArray[np.floating] | None = None,
) -> Graph:
    return Graph.from_edges(
        edges[:, 0], edges[:, 1], nodes=nodes, directed=directed, weights=weights
    )


def is_split(path: str | Path) -> bool:
    """Tell whether a folder holds a split, the authors' or ours."""
    return (Path(path) / "train.txt.npy").is_file() and (Path(path) / "index.json").is_file()


def save_split(split: Split, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a split folder in the layout of the paper's authors, plus what theirs leaves out.

    Ours alone: `split.json` (settings), `train.weights.npy` of a weighted graph, and the
    validation files. Train edges are written in ascending order.
    """
    arrays = {
        "test.txt.npy": split.test,
        "train.neg.txt.npy": split.train_negatives,
        "test.neg.txt.npy": split.test_negatives,
        "test.directed.neg.txt.npy": split.directed_negatives,
        "validation.txt.npy": split.validation,
        "validation.neg.txt.npy": split.validation_negatives,
    }
    parts = _train_parts(split.train, np.ones(split.train.num_edges, dtype=np.bool_))
    parts |= {name: [array] for name, array in arrays.items() if array is not None}
    with new_folder(Path(path), overwrite=overwrite) as folder:
        rows = _write_parts(folder, parts)
        _write_headers(folder, split.train, rows, split.settings)


def write_split(
    graph: Graph,
    path: str | Path,
    *,
    test_fraction: float = 0.5,
    validation_fraction: float = 0.0,
    seed: int,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write the folder of `split_edges` without holding the split in memory.

    Two bytes are held for each edge, and some numbers for each node. The order in which edges are
    drawn, four bytes each, is mapped from the disk of the folder, and negatives are there twice for
    a while. The exception is a graph so dense that all its non-edges are listed: they are held.

    Returns:
        the number of rows in each array, by the name of its file.
    """
    fractions = test_fraction, validation_fraction
    with new_folder(Path(path), overwrite=overwrite) as folder:
        rows = _write_edges(folder, graph, *fractions, seed)
        rows |= _write_negatives(folder, graph, rows, seed)
        _write_headers(folder, graph, rows, _settings(graph, *fractions, seed))
    return rows


def _write_edges(
    folder: Path, graph: Graph, test_fraction: float, validation_fraction: float, seed: int
) -> dict[str, int]:
    """Cut the edges, write the parts, and return how many edges each has."""
    test, validation = draw_held_out(graph, test_fraction, validation_fraction, seed, folder)
    parts = _train_parts(graph, _all_but(graph.num_edges, test, validation))
    for name, places in (("test.txt.npy", test), ("validation.txt.npy", validation)):
        if places.size:
            parts[name] = _edge_blocks(graph, places)
    return _write_parts(folder, parts)


def _write_negatives(
    folder: Path, graph: Graph, rows: Mapping[str, int], seed: int
) -> dict[str, int]:
    """Draw negatives for the parts written, write them, and return how many each has."""
    names = [name for name in NEGATIVES if name in rows]
    sizes = [rows[name] for name in names]
    with _put_aside_negatives(graph, sizes, seed, folder) as drawn:
        slices = dict(zip(names, _parts_of_negatives(drawn, sizes), strict=True))
        parts: Parts = {NEGATIVES[name]: drawn.blocks(part) for name, part in slices.items()}
        if graph.directed:
            negatives = drawn.blocks(slices["test.txt.npy"])
            parts["test.directed.neg.txt.npy"] = _with_reversed(negatives, graph)
        return _write_parts(folder, parts)


def _all_but(num_edges: int, *left_out: EdgePlaces) -> NDArray[np.bool_]:
    """Return a mask of all edges but those at some places."""
    mask = np.ones(num_edges, dtype=np.bool_)
    for places in left_out:
        for block in blocks(places.size):
            mask[places[block]] = False
    return mask


def _train_parts(graph: Graph, in_train: NDArray[np.bool_]) -> Parts:
    """Return the edges of a graph for which a mask is true, and their weights, if it has any."""
    parts: Parts = {"train.txt.npy": (_edges_at(graph, at) for at in true_places(in_train))}
    weights = graph.weights
    if weights is not None:
        parts[WEIGHTS] = (weights[graph.entries_at(at)[1]] for at in true_places(in_train))
    return parts


def _edge_blocks(graph: Graph, places: EdgePlaces) -> Iterator[EdgeArray]:
    for block in blocks(places.size):
        yield _edges_at(graph, places[block])


def _write_parts(folder: Path, parts: Parts) -> dict[str, int]:
    """Write arrays block by block, and return how many rows each has."""
    return {name: write_rows(folder / name, arrays) for name, arrays in parts.items()}


def _write_headers(
    folder: Path, graph: Graph, rows: Mapping[str, int], settings: Mapping[str, Any]
) -> None:
    """Write what is not an array: names and counts, and how the split came about."""
    counts = {
        "num_pos_train_edges": rows["train.txt.npy"],
        "num_pos_test_edges": rows["test.txt.npy"],
        "num_neg_train_edges": rows["train.neg.txt.npy"],
        "num_neg_test_edges": rows["test.neg.txt.npy"],
    }
    write_index(folder / "index.json", graph.nodes, counts)
    header = {"format": "arcvec-split", "format_version": FORMAT_VERSION}
    write_json(folder / "split.json", {**header, "directed": graph.directed, **settings})


def read_split(path: str | Path) -> Split:
    """Return the split in a folder, the authors' or ours.

    The authors' folders do not say whether the graph is directed: it is where there is a
    `test.directed.neg.txt.npy`. Nodes are those of `index.json`, also ones without any edge.
    Arrays are memory-mapped, apart from the train part.
    """
    folder = Path(path)
    train = read_train(folder)
    num_nodes, settings = train.num_nodes, _read_settings(folder)
    del settings["directed"]
    return Split(
        train=train,
        test=read_edge_array(folder / "test.txt.npy", num_nodes),
        train_negatives=read_edge_array(folder / "train.neg.txt.npy", num_nodes),
        test_negatives=read_edge_array(folder / "test.neg.txt.npy", num_nodes),
        directed_negatives=(
            read_edge_array(folder / "test.directed.neg.txt.npy", num_nodes)
            if train.directed
            else None
        ),
        validation=_read_if_there(folder / "validation.txt.npy", num_nodes),
        validation_negatives=_read_if_there(folder / "validation.neg.txt.npy", num_nodes),
        settings=settings,
    )


def read_train(path: str | Path) -> Graph:
    """Return the train part of the split in a folder; of the others only checksums are read."""
    folder = Path(path)
    verify_checksums(folder)
    nodes = read_index(folder / "index.json")
    edges = read_edge_array(folder / "train.txt.npy", len(nodes))
    weights = read_weights(folder / WEIGHTS, len(edges)) if (folder / WEIGHTS).is_file() else None
    return _graph_of(edges, nodes, _read_settings(folder)["directed"], weights)


def _read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "split.json"
    if not path.is_file():
        return {"directed": (folder / "test.directed.neg.txt.npy").is_file()}
    settings = read_header(path, "arcvec-split", [FORMAT_VERSION], ["directed"])
    del settings["format_version"]
    return settings


def _read_if_there(path: Path, num_nodes: int) -> EdgeArray | None:
    return read_edge_array(path, num_nodes) if path.is_file() else None
