"""Train and test edges with their negatives: the protocol of link prediction, and its folder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.components import random_forest, shuffled_positions
from arcvec.graph.files import read_edge_array, read_edge_weights, read_index, write_index
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.graph.non_edges import put_aside_non_edges, reversed_one_way_blocks
from arcvec.notebook import html_table
from arcvec.storage.arrays import ArrayOnDisk, blocks, open_binary, true_positions
from arcvec.storage.atomic import new_folder
from arcvec.storage.headers import read_header, verify_checksums, write_json

FORMAT_VERSION = 1

TRAIN, TEST, VALIDATION = "train.txt.npy", "test.txt.npy", "validation.txt.npy"
WEIGHTS, DIRECTED_NEGATIVES = "train.weights.npy", "test.directed.neg.txt.npy"
_NEGATIVES = {name: name.replace(".txt", ".neg.txt") for name in (TRAIN, TEST, VALIDATION)}
_FILES = {
    "test": TEST,
    "train_negatives": _NEGATIVES[TRAIN],
    "test_negatives": _NEGATIVES[TEST],
    "directed_negatives": DIRECTED_NEGATIVES,
    "validation": VALIDATION,
    "validation_negatives": _NEGATIVES[VALIDATION],
}

Positions: TypeAlias = NDArray[np.integer]
"""Positions in the order of `Graph.edges`: uint32 if that suffices."""

Parts: TypeAlias = dict[str, Iterable[NDArray[Any]]]
"""The arrays of a split by file name, each as its blocks in order."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Split:
    """The edges of a graph cut into train and test, with non-edges of the whole graph beside them.

    Attributes:
        train: the only part a method may see; it has all nodes of the whole graph.
        test, validation: (m, 2) int32 edges held out; `validation` is None if none was asked for.
        train_negatives, test_negatives, validation_negatives: uniform non-edges for each part.
        directed_negatives: `test_negatives` and the reverse of every one-way edge; None if
            undirected.
        settings: how the split was made: seed, fractions, fingerprint of the whole graph.
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
        return Graph.from_edges(*edges.T, nodes=self.train.nodes, directed=self.train.directed)

    def are_reversed(self, pairs: EdgeArray) -> NDArray[np.bool_]:
        """Return for each pair of nodes whether it is the reverse of an edge of the whole graph."""
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
    rest (self-loops included), or are all of the rest if it is smaller than asked. Each part gets
    as many negatives as it has edges, as far as the graph has non-edges.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> split_edges(cycle, test_fraction=0.25, seed=0)
    Split(Graph(4 nodes, 3 edges, directed, unweighted), 1 test edges)
    """
    written, settings = _make_parts(graph, test_fraction, validation_fraction, seed, None)
    arrays = {name: array.read() for name, array in written.items()}
    train = Graph.from_edges(
        *arrays[TRAIN].T, nodes=graph.nodes, directed=graph.directed, weights=arrays.get(WEIGHTS)
    )
    return _as_split(train, arrays, settings)


def _as_split(train: Graph, arrays: Mapping[str, EdgeArray], settings: Mapping[str, Any]) -> Split:
    parts = {part: arrays[name] for part, name in _FILES.items() if name in arrays}
    return Split(train=train, settings=settings, **parts)


def cut_edges(
    graph: Graph, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[Graph, EdgeArray, EdgeArray]:
    """Return the train part, the test and the validation edges of `split_edges`; no negatives."""
    held_out = draw_held_out(graph, test_fraction, validation_fraction, seed)
    train = graph.without_edges_at(np.concatenate(held_out))
    test, validation = (_edges_at(graph, positions) for positions in held_out)
    return train, test, validation


def draw_held_out(
    graph: Graph,
    test_fraction: float,
    validation_fraction: float,
    seed: int,
    folder: Path | None = None,
) -> tuple[Positions, Positions]:
    """Return the positions of test and validation edges, none of them in a spanning forest."""
    if not 0 < test_fraction < 1:
        raise ValueError(f"expected test_fraction in (0, 1), got {test_fraction}")
    if not 0 <= validation_fraction < 1 - test_fraction:
        raise ValueError(
            f"expected validation_fraction in [0, 1 - test_fraction), got {validation_fraction}; "
            "train needs edges too"
        )
    if seed < 0:
        raise ValueError(f"expected a seed of at least 0, got {seed}")
    generator = np.random.default_rng([seed, 0])
    is_free = ~random_forest(graph, generator, folder)
    # A fresh permutation: in that of the forest, edges outside of it tend to come late.
    free = shuffled_positions(is_free, generator, folder)
    num_edges = graph.num_edges
    asked = [round(test_fraction * num_edges), round(validation_fraction * num_edges)]
    what = "edges outside a spanning forest"
    num_test, num_validation = _sizes_that_fit(asked, free.size, what)
    if num_test == 0 or (validation_fraction > 0 and num_validation == 0):
        raise ValueError(
            f"expected a graph large enough to hold out edges, got {num_edges} edges of which "
            f"{free.size} may leave without disconnecting train"
        )
    return free[:num_test], free[num_test : num_test + num_validation]


def _sizes_that_fit(asked: list[int], available: int, what: str) -> list[int]:
    """Return the sizes asked for, scaled down in proportion if they exceed what is available."""
    if sum(asked) <= available:
        return asked
    text = "asked for %d %s, the graph has %d: taking them all"
    logger.warning(text, sum(asked), what, available)
    bounds = np.cumsum([0, *asked]) * available // sum(asked)
    return [int(size) for size in np.diff(bounds)]


def _make_parts(
    graph: Graph, test_fraction: float, validation_fraction: float, seed: int, folder: Path | None
) -> tuple[dict[str, ArrayOnDisk], dict[str, Any]]:
    """Return the arrays of a new split by file name, in a folder or in memory, and its settings."""
    held_out = draw_held_out(graph, test_fraction, validation_fraction, seed, folder)
    in_train = np.ones(graph.num_edges, dtype=np.bool_)
    parts: Parts = {}
    for name, positions in zip((TEST, VALIDATION), held_out, strict=True):
        for block in blocks(positions.size):
            in_train[positions[block]] = False
        if positions.size:
            at_blocks = map(positions.__getitem__, blocks(positions.size))
            parts[name] = map(partial(_edges_at, graph), at_blocks)
    written = _write_parts(folder, _train_parts(graph, in_train) | parts)
    sizes = {name: len(written[name]) for name in _NEGATIVES if name in written}
    fractions = {"test_fraction": test_fraction, "validation_fraction": validation_fraction}
    settings = {"seed": seed, **fractions, "graph_fingerprint": graph.fingerprint}
    return written | _write_negatives(graph, sizes, seed, folder), settings


def _write_negatives(
    graph: Graph, sizes: Mapping[str, int], seed: int, folder: Path | None
) -> dict[str, ArrayOnDisk]:
    """Draw disjoint non-edges for parts of the given sizes, and write them."""
    num_asked = sum(sizes.values())
    generator = np.random.default_rng([seed, 1])
    with put_aside_non_edges(graph, num_asked, generator, folder) as drawn:
        if len(drawn) < sum(size > 0 for size in sizes.values()):
            raise ValueError(f"expected a graph with non-edges for negatives, got {len(drawn)}")
        fitting = _sizes_that_fit([*sizes.values()], len(drawn), "non-edges")
        bounds = pairwise(np.cumsum([0, *fitting]).tolist())
        slices = {name: slice(*part) for name, part in zip(sizes, bounds, strict=True)}
        parts: Parts = {_NEGATIVES[name]: drawn.blocks(part) for name, part in slices.items()}
        if graph.directed:
            parts[DIRECTED_NEGATIVES] = _with_reversed(drawn.blocks(slices[TEST]), graph)
        return _write_parts(folder, parts)


def _with_reversed(negatives: Iterable[EdgeArray], graph: Graph) -> Iterator[EdgeArray]:
    for block in negatives:
        # Without negatives that happen to be reversed edges, which follow below.
        yield block[~graph.has_edges(block[:, 1], block[:, 0])]
    yield from reversed_one_way_blocks(graph)


def _train_parts(graph: Graph, in_train: NDArray[np.bool_]) -> Parts:
    """Return the edges for which a mask is true, and their weights if the graph has any."""
    parts: Parts = {TRAIN: (_edges_at(graph, at) for at in true_positions(in_train))}
    weights = graph.weights
    if weights is not None:
        parts[WEIGHTS] = (weights[graph.entries_at(at)[1]] for at in true_positions(in_train))
    return parts


def _edges_at(graph: Graph, positions: Positions) -> EdgeArray:
    return np.stack(graph.edges_at(positions), axis=1)


def _write_parts(folder: Path | None, parts: Parts) -> dict[str, ArrayOnDisk]:
    """Write arrays block by block, into files of a folder or into memory."""
    written = {}
    for name, arrays in parts.items():
        rows: tuple[Any, ...] = (np.float32,) if name == WEIGHTS else (np.int32, (2,))
        with ArrayOnDisk(open_binary(folder, name), *rows) as written[name]:
            for array in arrays:
                written[name].append(array)
    return written


def is_split(path: str | Path) -> bool:
    """Return whether a folder holds a split, the authors' or ours."""
    return (Path(path) / TRAIN).is_file() and (Path(path) / "index.json").is_file()


def save_split(split: Split, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a split folder in the layout of the paper's authors, train edges ascending."""
    parts = _train_parts(split.train, np.ones(split.train.num_edges, dtype=np.bool_))
    for part, name in _FILES.items():
        if getattr(split, part) is not None:
            parts[name] = [getattr(split, part)]
    with new_folder(Path(path), overwrite=overwrite) as folder:
        _write_headers(folder, split.train, _write_parts(folder, parts), split.settings)


def write_split(
    graph: Graph,
    path: str | Path,
    *,
    test_fraction: float = 0.5,
    validation_fraction: float = 0.0,
    seed: int,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write the folder of `split_edges`, not held in memory; return the rows by file name.

    Memory holds two bytes per edge, some numbers per node, and all non-edges of a dense graph.
    """
    fractions = test_fraction, validation_fraction
    with new_folder(Path(path), overwrite=overwrite) as folder:
        written, settings = _make_parts(graph, *fractions, seed, folder)
        _write_headers(folder, graph, written, settings)
    return {name: len(array) for name, array in written.items()}


def _write_headers(
    folder: Path, graph: Graph, written: Mapping[str, ArrayOnDisk], settings: Mapping[str, Any]
) -> None:
    counts = {
        "num_pos_train_edges": len(written[TRAIN]),
        "num_pos_test_edges": len(written[TEST]),
        "num_neg_train_edges": len(written[_NEGATIVES[TRAIN]]),
        "num_neg_test_edges": len(written[_NEGATIVES[TEST]]),
    }
    write_index(folder / "index.json", graph.nodes, counts)
    header = {"format": "arcvec-split", "format_version": FORMAT_VERSION}
    write_json(folder / "split.json", {**header, "directed": graph.directed, **settings})


def read_split(path: str | Path) -> Split:
    """Return the split in a folder, the authors' or ours.

    The authors' folders do not say whether the graph is directed: it is if there is a
    `test.directed.neg.txt.npy`. Arrays are memory-mapped, apart from the train part.
    """
    folder = Path(path)
    train = read_train(folder)
    names = [TEST, _NEGATIVES[TRAIN], _NEGATIVES[TEST]]
    names += [DIRECTED_NEGATIVES] if train.directed else []
    validation = VALIDATION, _NEGATIVES[VALIDATION]
    names += [name for name in validation if (folder / name).is_file()]
    arrays = {name: read_edge_array(folder / name, train.num_nodes) for name in names}
    settings = _read_settings(folder)
    del settings["directed"]
    return _as_split(train, arrays, settings)


def read_train(path: str | Path) -> Graph:
    """Return the train part of the split in a folder; the others are only checked for damage."""
    folder = Path(path)
    verify_checksums(folder)
    nodes = read_index(folder / "index.json")
    edges = read_edge_array(folder / TRAIN, len(nodes))
    weights = read_edge_weights(folder / WEIGHTS, len(edges))
    directed = _read_settings(folder)["directed"]
    return Graph.from_edges(*edges.T, nodes=nodes, directed=directed, weights=weights)


def _read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "split.json"
    if not path.is_file():
        return {"directed": (folder / DIRECTED_NEGATIVES).is_file()}
    settings = read_header(path, "arcvec-split", [FORMAT_VERSION], ["directed"])
    del settings["format_version"]
    return settings
