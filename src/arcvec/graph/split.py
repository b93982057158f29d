"""Train and test edges with their negatives: the protocol of link prediction, and its files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.checksums import verify_checksums
from arcvec.graph.edge_files import read_edge_array, read_index, read_weights
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.non_edges import EdgeArray, draw_non_edges, reversed_one_way_edges
from arcvec.notebook import html_table
from arcvec.storage import new_folder, read_header, write_json

FORMAT_VERSION = 1

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
        edges = np.concatenate([_edge_array(self.train), *held_out])
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
        directed_negatives=_with_reversed(test_negatives, graph) if graph.directed else None,
        validation=validation if with_validation else None,
        validation_negatives=validation_negatives if with_validation else None,
        settings={
            "seed": seed,
            "test_fraction": test_fraction,
            "validation_fraction": validation_fraction,
            "graph_fingerprint": graph.fingerprint,
        },
    )


def cut_edges(
    graph: Graph, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[Graph, EdgeArray, EdgeArray]:
    """Return the train part, the test and the validation edges of `split_edges`; no negatives."""
    _check_fractions(test_fraction, validation_fraction)
    if seed < 0:
        raise ValueError(f"expected a seed of at least 0, got {seed}")
    edges, weights = _edge_array(graph), graph.edge_weights()
    test, validation = _draw_held_out(
        edges, graph.num_nodes, test_fraction, validation_fraction, seed
    )
    in_train = np.ones(len(edges), dtype=np.bool_)
    in_train[test] = in_train[validation] = False
    train_weights = None if weights is None else weights[in_train]
    train = _graph_of(edges[in_train], graph.nodes, graph.directed, train_weights)
    return train, edges[test], edges[validation]


def _check_fractions(test_fraction: float, validation_fraction: float) -> None:
    if not 0 < test_fraction < 1:
        raise ValueError(f"expected test_fraction in (0, 1), got {test_fraction}")
    if not 0 <= validation_fraction < 1 - test_fraction:
        raise ValueError(
            f"expected validation_fraction in [0, 1 - test_fraction), got {validation_fraction}; "
            "train needs edges too"
        )


def _draw_held_out(
    edges: EdgeArray, num_nodes: int, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which edges are test and which validation, none of them in the spanning forest."""
    from arcvec.kernels.forest import spanning_forest

    generator = np.random.default_rng([seed, 0])
    order = generator.permutation(len(edges))
    in_forest = spanning_forest(edges[:, 0], edges[:, 1], order, num_nodes)
    # A fresh permutation: in the first one, edges outside the forest tend to come late.
    free = generator.permutation(np.flatnonzero(~in_forest))
    num_test, num_validation = _sizes_that_fit(
        [round(test_fraction * len(edges)), round(validation_fraction * len(edges))],
        free.size,
        "edges outside a spanning forest",
    )
    if num_test == 0 or (validation_fraction > 0 and num_validation == 0):
        raise ValueError(
            f"expected a graph large enough to hold out edges, got {len(edges)} edges of which "
            f"{free.size} may leave without disconnecting train"
        )
    return free[:num_test], free[num_test : num_test + num_validation]


def draw_negatives(graph: Graph, sizes: list[int], seed: int) -> list[EdgeArray]:
    """Return disjoint arrays of non-edges of the given sizes."""
    negatives = draw_non_edges(graph, sum(sizes), np.random.default_rng([seed, 1]))
    if len(negatives) < sum(size > 0 for size in sizes):
        raise ValueError(f"expected a graph with non-edges for negatives, got {len(negatives)}")
    sizes = _sizes_that_fit(sizes, len(negatives), "non-edges")
    return np.split(negatives, np.cumsum(sizes[:-1]))


def _sizes_that_fit(asked: list[int], available: int, what: str) -> list[int]:
    """Return the sizes asked for, scaled down in proportion where they exceed what there is."""
    if sum(asked) <= available:
        return asked
    logger.warning(
        "asked for %d %s, the graph has %d: taking them all", sum(asked), what, available
    )
    bounds = np.cumsum([0, *asked]) * available // sum(asked)
    return [int(size) for size in np.diff(bounds)]


def _with_reversed(negatives: EdgeArray, graph: Graph) -> EdgeArray:
    # Negatives that are reversed edges by chance would stand here twice.
    by_chance = graph.has_edges(negatives[:, 1], negatives[:, 0])
    return np.concatenate([negatives[~by_chance], reversed_one_way_edges(graph)])


def _edge_array(graph: Graph) -> EdgeArray:
    return np.stack(graph.edges(), axis=1)


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
    with new_folder(Path(path), overwrite=overwrite) as folder:
        for name, array in _arrays_by_file(split).items():
            if array is not None:
                np.save(folder / name, array, allow_pickle=False)
        write_json(
            folder / "index.json",
            {
                "index": {name: i for i, name in enumerate(split.train.nodes)},
                "num_pos_train_edges": split.train.num_edges,
                "num_pos_test_edges": len(split.test),
                "num_neg_train_edges": len(split.train_negatives),
                "num_neg_test_edges": len(split.test_negatives),
            },
        )
        header = {"format": "arcvec-split", "format_version": FORMAT_VERSION}
        write_json(
            folder / "split.json", {**header, "directed": split.train.directed, **split.settings}
        )


def read_split(path: str | Path) -> Split:
    """Return the split in a folder, the authors' or ours.

    The authors' folders do not say whether the graph is directed: it is where there is a
    `test.directed.neg.txt.npy`. Nodes are those of `index.json`, also ones without any edge.
    """
    folder = Path(path)
    verify_checksums(folder)
    nodes = read_index(folder / "index.json")
    settings = _read_settings(folder)
    directed = settings.pop("directed")
    train = read_edge_array(folder / "train.txt.npy", len(nodes))
    weights_path = folder / "train.weights.npy"
    weights = read_weights(weights_path, len(train)) if weights_path.is_file() else None
    return Split(
        train=_graph_of(train, nodes, directed, weights),
        test=read_edge_array(folder / "test.txt.npy", len(nodes)),
        train_negatives=read_edge_array(folder / "train.neg.txt.npy", len(nodes)),
        test_negatives=read_edge_array(folder / "test.neg.txt.npy", len(nodes)),
        directed_negatives=(
            read_edge_array(folder / "test.directed.neg.txt.npy", len(nodes)) if directed else None
        ),
        validation=_read_if_there(folder / "validation.txt.npy", len(nodes)),
        validation_negatives=_read_if_there(folder / "validation.neg.txt.npy", len(nodes)),
        settings=settings,
    )


def _arrays_by_file(split: Split) -> dict[str, NDArray[Any] | None]:
    return {
        "train.txt.npy": _edge_array(split.train),
        "test.txt.npy": split.test,
        "train.neg.txt.npy": split.train_negatives,
        "test.neg.txt.npy": split.test_negatives,
        "test.directed.neg.txt.npy": split.directed_negatives,
        "train.weights.npy": split.train.edge_weights(),
        "validation.txt.npy": split.validation,
        "validation.neg.txt.npy": split.validation_negatives,
    }


def _read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "split.json"
    if not path.is_file():
        return {"directed": (folder / "test.directed.neg.txt.npy").is_file()}
    settings = read_header(path, "arcvec-split", [FORMAT_VERSION], ["directed"])
    del settings["format_version"]
    return settings


def _read_if_there(path: Path, num_nodes: int) -> EdgeArray | None:
    return read_edge_array(path, num_nodes) if path.is_file() else None
