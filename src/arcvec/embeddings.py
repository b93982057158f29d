"""The result: the source and target vectors of every node, which score edges."""

from __future__ import annotations

import hashlib
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from arcvec.graph.names import NodeIds, NodeNames
from arcvec.notebook import html_table
from arcvec.storage.arrays import blocks, load_array
from arcvec.storage.atomic import new_folder
from arcvec.storage.headers import read_header, verify_checksums, write_json

if TYPE_CHECKING:
    from arcvec.graph.graph import Graph

Scores: TypeAlias = NDArray[np.float32]  # of edges; higher means more likely
Side: TypeAlias = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
# Of result folders: two sides, one vector for both, one vector whose columns are in another order
# as source.
FORMAT_VERSION, ONE_VECTOR_VERSION, PAIRED_VERSION = 1, 2, 3


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


class WeightedRows:
    """Rows, their columns in another order, times a weight for each; computed when read."""

    def __init__(
        self, rows: NDArray[np.floating], weights: ArrayLike, columns: ArrayLike | None = None
    ) -> None:
        """Check the weights: finite, one per column of the rows; and that no column is missing."""
        if rows.ndim != 2:
            raise ValueError(f"expected vectors of shape (num_nodes, dim), got {rows.shape}")
        given, width = np.asarray(weights), rows.shape[1]
        expected = f"expected a finite weight for each of the {width} columns of the vectors"
        if given.shape != (width,) or given.dtype.kind not in "fiu":
            raise ValueError(f"{expected}, got {reprlib.repr(weights)} of shape {given.shape}")
        with np.errstate(over="ignore"):  # numbers too large for float32 become infinite
            self.weights = given.astype(np.float32)
        if not np.isfinite(self.weights).all():
            offset = int(np.isfinite(self.weights).argmin())
            raise ValueError(f"{expected}, got {self.weights[offset]} at offset {offset}")
        self.columns = None if columns is None else np.asarray(columns)
        if self.columns is not None and sorted(self.columns.tolist()) != list(range(width)):
            raise ValueError(
                f"expected each of the {width} columns of the vectors once, got "
                f"{reprlib.repr(columns)}"
            )
        self.rows, self.shape, self.dtype = rows, rows.shape, np.result_type(rows, self.weights)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> NDArray[np.floating]:
        if isinstance(chosen, tuple):  # columns or entries, of all rows
            return np.asarray(self[:][chosen])
        rows = self.rows[chosen]
        ordered = rows if self.columns is None else rows[..., self.columns]
        return np.asarray(ordered * self.weights)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.floating]:
        return np.asarray(self[:], dtype=dtype)


@dataclass(frozen=True, eq=False)
class EdgeEmbeddings(EdgeScorer):
    """One vector per node as source, one as target; the score of an edge is their inner product.

    On an undirected graph the score is the mean of both directions (see `vectors`).

    >>> vectors = np.eye(2, dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors[::-1], NodeNames.from_strings("ab"))
    >>> embeddings.score(np.array([0, 0]), np.array([0, 1]))
    array([0., 1.], dtype=float32)

    Attributes:
        source, target: (num_nodes, dim / 2) float32 or float16, possibly memory-mapped. If one
            vector serves both sides, `target` is (num_nodes, dim), and `source` a weighted view,
            in which pairs of columns may be swapped.
        settings: how the vectors were made: arcvec version, method, seed, graph fingerprint, ...
    """

    source: NDArray[np.floating] | WeightedRows
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

    @classmethod
    def one_vector(
        cls,
        vectors: NDArray[np.floating],
        weights: ArrayLike,
        nodes: NodeNames,
        *,
        columns: ArrayLike | None = None,
        directed: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> EdgeEmbeddings:
        """Return embeddings that score u and v by the sum of weights * vectors[u] * vectors[v].

        With `columns`, it is weights * vectors[u, columns] * vectors[v]: columns that are paired
        with others tell the directions of an edge apart.

        >>> vectors = np.array([[1, 2], [3, 1]], dtype=np.float32)
        >>> embeddings = EdgeEmbeddings.one_vector(vectors, [1, -1], NodeNames.from_strings("ab"))
        >>> embeddings.score(np.array([0, 1]), np.array([1, 0]))
        array([1., 1.], dtype=float32)
        """
        rows = WeightedRows(vectors, weights, columns)
        return cls(rows, vectors, nodes, directed, settings or {})

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """(dim,), the weights of the coordinates if one vector serves both sides; else None."""
        return self.source.weights if isinstance(self.source, WeightedRows) else None

    @property
    def columns(self) -> NDArray[np.int64] | None:
        """(dim,), the columns of a source that those of a target are paired with, if others."""
        return self.source.columns if isinstance(self.source, WeightedRows) else None

    @property
    def is_symmetric(self) -> bool:
        """Whether scores are the same in both directions."""
        return not self.directed or self.has_one_space

    @property
    def has_one_space(self) -> bool:
        """Whether both sides are the same vectors but for weights."""
        return self.weights is not None and self.columns is None

    @property
    def dim(self) -> int:
        """Numbers stored per node, both sides together."""
        return int(self.target.shape[1]) * (2 if self.weights is None else 1)

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        if self.has_one_space:
            return _paired_products(self.target, sources, self.target, targets, self.weights)
        scores = _paired_products(self.source, sources, self.target, targets)
        if self.directed:
            return scores
        scores += _paired_products(self.source, targets, self.target, sources)
        return scores * np.float32(0.5)

    def score_all_targets(self, sources: NodeIds) -> Scores:
        return self.vectors("source", sources) @ self.vectors("target").T

    def vectors(self, side: Side, ids: NodeIds | slice = slice(None)) -> Scores:
        """Return float32 vectors whose inner product is the score, of some nodes or of all.

        On an undirected graph with two sides, both are side by side, in opposite orders for the two
        ends, those of the source halved.
        """
        mine, other = (self.source, self.target) if side == "source" else (self.target, self.source)
        if self.directed or self.has_one_space:
            return np.asarray(mine[ids], dtype=np.float32)
        both = np.concatenate([mine[ids], other[ids]], axis=1, dtype=np.float32)
        return both * np.float32(0.5) if side == "source" else both

    @cached_property
    def mean_vectors(self) -> Mapping[Side, Scores]:
        """The mean over all nodes of the `vectors` of each side: (d,) float32.

        The score of the mean source with a target is the mean score of that target: how popular it
        is in this result.
        """
        means: dict[Side, Scores] = {}
        for side in SIDES:
            parts = (self.vectors(side, some) for some in blocks(len(self.nodes)))
            sums = [part.sum(axis=0, dtype=np.float64) for part in parts]
            mean = np.sum(sums, axis=0) / max(1, len(self.nodes))
            means[side] = np.asarray(mean, dtype=np.float32)
        return means

    def fingerprint(self, side: Side) -> str:
        """Return a hexadecimal digest of the `vectors` of one side."""
        digest = hashlib.blake2b(digest_size=16)
        for some in blocks(len(self.nodes)):
            digest.update(np.ascontiguousarray(self.vectors(side, some)).data)
        return digest.hexdigest()

    @property
    def fingerprints(self) -> tuple[str, str]:
        """The digests of both sides."""
        return self.fingerprint("source"), self.fingerprint("target")

    def learned_from(self, graph: Graph) -> bool:
        """Return whether the vectors, and those they started from, saw this graph only."""
        fit: Mapping[str, Any] | None = self.settings
        while fit is not None:
            if fit.get("graph_fingerprint") != graph.fingerprint:
                return False
            fit = fit.get("from")
        return True

    def save(self, path: str | Path, *, float16: bool = False, overwrite: bool = False) -> None:
        """Write the result folder; `vectors.npy` replaces both sides if they share one vector."""
        dtype = np.float16 if float16 else np.float32
        both = {"source": self.source, "target": self.target}
        arrays = both if self.weights is None else {"vectors": self.target}
        header = result_header(directed=self.directed, weights=self.weights, columns=self.columns)
        with new_folder(Path(path), overwrite=overwrite) as folder:
            for name, array in arrays.items():
                np.save(folder / f"{name}.npy", np.asarray(array, dtype), allow_pickle=False)
            self.nodes.save(folder / "nodes.txt")
            write_json(folder / "settings.json", {**header, **self.settings})

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = True) -> EdgeEmbeddings:
        """Return the embeddings in a result folder, memory-mapped by default."""
        folder, header = Path(path), Path(path) / "settings.json"
        if not header.is_file():
            raise FileNotFoundError(
                f"{folder}: expected a result folder with settings.json and vectors; "
                "make one with: arcvec fit GRAPH -o RESULT"
            )
        verify_checksums(folder)
        versions = (FORMAT_VERSION, ONE_VECTOR_VERSION, PAIRED_VERSION)
        settings = read_header(header, "arcvec-result", versions, ["directed"])
        nodes, directed = NodeNames.load(folder / "nodes.txt"), settings.pop("directed")
        if settings.pop("format_version") == FORMAT_VERSION:
            source, target = (load_array(folder / f"{side}.npy", mmap=mmap) for side in SIDES)
            return cls(source, target, nodes, directed, settings)
        target = load_array(folder / "vectors.npy", mmap=mmap)
        try:
            weighted = WeightedRows(
                target, settings.pop("weights", None), settings.pop("columns", None)
            )
        except ValueError as error:
            raise ValueError(
                f"{folder}: {error}; the vectors are in vectors.npy, the weights in "
                'settings.json as "weights": write the folder again'
            ) from None
        return cls(weighted, target, nodes, directed, settings)

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        return f"EdgeEmbeddings({len(self.nodes):,} nodes, dim {self.dim}, {direction})"

    def _repr_html_(self) -> str:
        sides = f"{self.dim // 2} as source, {self.dim // 2} as target"
        rows = {
            "nodes": f"{len(self.nodes):,}",
            "dim": f"{self.dim}: {sides if self.weights is None else 'one vector for both sides'}",
            "numbers": self.target.dtype,
            "direction": "directed" if self.directed else "undirected",
            "method": self.settings.get("method"),
            "seed": self.settings.get("seed"),
            "validation AUC": self.settings.get("validation_auc"),
            "first nodes": ", ".join(self.nodes[:3]),
        }
        return html_table("EdgeEmbeddings", rows)


def result_header(
    *, directed: bool, weights: NDArray[np.float32] | None, columns: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """Return the first entries of the `settings.json` of a result folder."""
    arrays = {"weights": weights, "columns": columns}
    given = {name: array.tolist() for name, array in arrays.items() if array is not None}
    version = (FORMAT_VERSION, ONE_VECTOR_VERSION, PAIRED_VERSION)[len(given)]
    return {"format": "arcvec-result", "format_version": version, "directed": directed, **given}


@dataclass(frozen=True, eq=False)
class ProjectionMixture(EdgeScorer):
    """Several projections (Eq. 5): the score mixes the positive parts of their inner products."""

    source: NDArray[np.float32]  # (num_projections, num_nodes, b), as the target
    target: NDArray[np.float32]
    mixture: NDArray[np.float32]
    nodes: NodeNames
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """Numbers stored per node, all projections and both sides together."""
        return 2 * int(self.source.shape[0] * self.source.shape[2])

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        scores = np.zeros(len(sources), dtype=np.float32)
        for weight, left, right in zip(self.mixture, self.source, self.target, strict=True):
            scores += weight * np.maximum(_paired_products(left, sources, right, targets), 0)
        return scores


def _paired_products(
    left: NDArray[np.floating] | WeightedRows,
    rows: NodeIds,
    right: NDArray[np.floating] | WeightedRows,
    columns: NodeIds,
    weights: NDArray[np.float32] | None = None,
) -> Scores:
    products = np.empty(len(rows), dtype=np.float32)
    # In blocks, to bound the memory of the gathered rows.
    for block in blocks(len(rows)):
        ones = left[rows[block]].astype(np.float32, copy=False)
        others = right[columns[block]].astype(np.float32, copy=False)
        if weights is None:
            np.einsum("ij,ij->i", ones, others, out=products[block])
        else:
            # Weights come last, so that both directions give the same bits.
            np.einsum("ij,j->i", ones * others, weights, out=products[block])
    return products
