"""The result: scorers of edges, and above all the source and target vectors of every node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import NodeIds, NodeNames
from arcvec.notebook import html_table
from arcvec.storage import load_array, new_folder, read_header, write_json

Scores: TypeAlias = NDArray[np.float32]
"""Array of edge scores; higher means likelier."""

Side: TypeAlias = Literal["source", "target"]

FORMAT_VERSION = 1


class EdgeScorer(ABC):
    """Anything that scores directed edges; a method's `fit` returns one."""

    nodes: NodeNames

    @abstractmethod
    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        num_nodes = len(self.nodes)
        everyone = np.tile(np.arange(num_nodes, dtype=np.int32), len(sources))
        return self.score(np.repeat(sources, num_nodes), everyone).reshape(-1, num_nodes)


@dataclass(frozen=True, eq=False)
class EdgeEmbeddings(EdgeScorer):
    """One vector per node as source, one as target; the score of an edge is their inner product.

    On an undirected graph both directions are the same edge: the score is the mean of the two
    inner products, which is again an inner product (see `vectors`).

    >>> vectors = np.eye(2, dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors[::-1], NodeNames.from_strings("ab"))
    >>> embeddings.score(np.array([0, 0]), np.array([0, 1]))
    array([0., 1.], dtype=float32)

    Attributes:
        source, target: (num_nodes, dim / 2) float32 or float16, possibly memory-mapped.
        settings: how the vectors came about: arcvec version, method, seed, graph fingerprint, ...
    """

    source: NDArray[np.floating]
    target: NDArray[np.floating]
    nodes: NodeNames
    directed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.source.shape != self.target.shape or len(self.source) != len(self.nodes):
            raise ValueError(
                "expected source and target vectors of one shape, a row per node, got "
                f"{self.source.shape} and {self.target.shape} for {len(self.nodes)} nodes"
            )

    @property
    def dim(self) -> int:
        """Numbers stored per node, both sides together."""
        return 2 * int(self.source.shape[1])

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        scores = _paired_products(self.source, sources, self.target, targets)
        if self.directed:
            return scores
        scores += _paired_products(self.source, targets, self.target, sources)
        return scores * np.float32(0.5)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        return self.vectors("source", sources) @ self.vectors("target").T

    def vectors(self, side: Side, ids: NodeIds | None = None) -> Scores:
        """Return float32 vectors of which `score` is the inner product, of some nodes or of all.

        On a directed graph these are `source` or `target` as stored; on an undirected one, both
        side by side, in opposite orders for the two ends, those of the source halved.
        """
        mine, other = (self.source, self.target) if side == "source" else (self.target, self.source)
        chosen = slice(None) if ids is None else ids
        if self.directed:
            return np.asarray(mine[chosen], dtype=np.float32)
        both = np.concatenate([mine[chosen], other[chosen]], axis=1, dtype=np.float32)
        return both * np.float32(0.5) if side == "source" else both

    def save(self, path: str | Path, *, float16: bool = False, overwrite: bool = False) -> None:
        """Write the result folder: `source.npy`, `target.npy`, `nodes.txt`, `settings.json`."""
        dtype = np.float16 if float16 else np.float32
        with new_folder(Path(path), overwrite=overwrite) as folder:
            np.save(folder / "source.npy", np.asarray(self.source, dtype), allow_pickle=False)
            np.save(folder / "target.npy", np.asarray(self.target, dtype), allow_pickle=False)
            self.nodes.save(folder / "nodes.txt")
            header = {"format": "arcvec-result", "format_version": FORMAT_VERSION}
            write_json(
                folder / "settings.json",
                {**header, "directed": self.directed, **self.settings},
            )

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = True) -> EdgeEmbeddings:
        """Return the embeddings in a result folder, memory-mapped unless told otherwise."""
        folder = Path(path)
        if not (folder / "settings.json").is_file():
            raise FileNotFoundError(
                f"{folder}: expected a result folder with source.npy and settings.json; "
                "make one with: arcvec fit GRAPH -o RESULT"
            )
        header = folder / "settings.json"
        settings = read_header(header, "arcvec-result", FORMAT_VERSION, ["directed"])
        source, target = (
            load_array(folder / f"{side}.npy", mmap=mmap) for side in ("source", "target")
        )
        nodes = NodeNames.load(folder / "nodes.txt")
        return cls(source, target, nodes, directed=settings.pop("directed"), settings=settings)

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        return f"EdgeEmbeddings({len(self.nodes):,} nodes, dim {self.dim}, {direction})"

    def _repr_html_(self) -> str:
        rows = {
            "nodes": f"{len(self.nodes):,}",
            "dim": f"{self.dim}: {self.dim // 2} as source, {self.dim // 2} as target",
            "numbers": self.source.dtype,
            "direction": "directed" if self.directed else "undirected",
            "method": self.settings.get("method"),
            "seed": self.settings.get("seed"),
            "validation AUC": self.settings.get("validation_auc"),
            "first nodes": ", ".join(self.nodes[:3]),
        }
        return html_table("EdgeEmbeddings", rows)


@dataclass(frozen=True, eq=False)
class SymmetricEmbeddings(EdgeScorer):
    """One vector per node for both ends; the score is a weighted inner product, blind to direction.

    Attributes:
        vectors: (num_nodes, dim) float32.
        weights: (dim,) float32, what each coordinate of the product counts.
    """

    vectors: NDArray[np.float32]
    weights: NDArray[np.float32]
    nodes: NodeNames
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """Numbers stored per node."""
        return int(self.vectors.shape[1])

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        return _paired_products(self.vectors * self.weights, sources, self.vectors, targets)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        return np.asarray(self.vectors[sources] * self.weights, np.float32) @ self.vectors.T


@dataclass(frozen=True, eq=False)
class ProjectionMixture(EdgeScorer):
    """Several projections (Eq. 5): the score mixes the positive parts of their inner products.

    Attributes:
        source, target: (num_projections, num_nodes, b) float32: all that inference needs of the
            network and its projections.
        mixture: (num_projections,) float32.
    """

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    mixture: NDArray[np.float32]
    nodes: NodeNames
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """Numbers stored per node, all projections and both sides together."""
        return 2 * int(self.source.shape[0] * self.source.shape[2])

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        products = (
            _paired_products(source, sources, target, targets)
            for source, target in zip(self.source, self.target, strict=True)
        )
        return self._mixed(products)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return the scores of every source against every node: (len(sources), num_nodes)."""
        products = (
            source[sources] @ target.T
            for source, target in zip(self.source, self.target, strict=True)
        )
        return self._mixed(products)

    def _mixed(self, products: Iterable[Scores]) -> Scores:
        parts = (
            weight * np.maximum(product, 0)
            for weight, product in zip(self.mixture, products, strict=True)
        )
        return np.asarray(sum(parts), dtype=np.float32)


def _paired_products(
    left: NDArray[np.floating], rows: NodeIds, right: NDArray[np.floating], columns: NodeIds
) -> Scores:
    products = np.empty(len(rows), dtype=np.float32)
    # Blocks, so that millions of pairs do not gather gigabytes at once.
    for start in range(0, len(rows), 1 << 18):
        block = slice(start, start + (1 << 18))
        np.einsum(
            "ij,ij->i",
            left[rows[block]].astype(np.float32, copy=False),
            right[columns[block]].astype(np.float32, copy=False),
            out=products[block],
        )
    return products
