"""The result: scorers of edges, and above all the source and target vectors of every node."""

from __future__ import annotations

import hashlib
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from arcvec.checksums import verify_checksums
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.notebook import html_table
from arcvec.storage import load_array, new_folder, read_header, write_json

if TYPE_CHECKING:
    from arcvec.graph.graph import Graph

Scores: TypeAlias = NDArray[np.float32]
"""Array of edge scores; higher means likelier."""

Side: TypeAlias = Literal["source", "target"]

FORMAT_VERSION = 1

ONE_VECTOR_VERSION = 2
"""Of a result folder in which one vector per node serves both sides; older readers refuse it."""


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
    """Rows times a weight for each column, multiplied when they are read: no second array is kept.

    >>> weighted = WeightedRows(np.ones((3, 2), dtype=np.float32), [2, -1])
    >>> weighted[:2]
    array([[ 2., -1.],
           [ 2., -1.]], dtype=float32)

    Attributes:
        rows: (n, dim), possibly memory-mapped.
        weights: (dim,) float32, all finite.
    """

    def __init__(self, rows: NDArray[np.floating], weights: ArrayLike) -> None:
        """Take rows as they are, and a weight for each of their columns."""
        if rows.ndim != 2:
            raise ValueError(f"expected vectors of shape (num_nodes, dim), got {rows.shape}")
        self.rows, self.weights = rows, _checked_weights(weights, rows.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, dim)."""
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the products."""
        return np.result_type(self.rows, self.weights)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> NDArray[np.floating]:
        products: NDArray[np.floating] = (
            self.rows[chosen] * np.broadcast_to(self.weights, self.shape)[chosen]
        )
        return products

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.floating]:
        if copy is False:
            raise ValueError("weighted rows are multiplied when read: expected to be copied")
        return np.asarray(self[:], dtype=dtype)


@dataclass(frozen=True, eq=False)
class EdgeEmbeddings(EdgeScorer):
    """One vector per node as source, one as target; the score of an edge is their inner product.

    On an undirected graph both directions are the same edge: the score is the mean of the two
    inner products, which is again an inner product (see `vectors`).

    Where one vector per node serves both sides (see `one_vector`), only that one is stored.

    >>> vectors = np.eye(2, dtype=np.float32)
    >>> embeddings = EdgeEmbeddings(vectors, vectors[::-1], NodeNames.from_strings("ab"))
    >>> embeddings.score(np.array([0, 0]), np.array([0, 1]))
    array([0., 1.], dtype=float32)

    Attributes:
        source, target: (num_nodes, dim / 2) float32 or float16, possibly memory-mapped. Of one
            vector for both sides `target` is the vectors, (num_nodes, dim), and `source` a view
            that weighs them when they are read.
        settings: how the vectors came about: arcvec version, method, seed, graph fingerprint, ...
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
        if isinstance(self.source, WeightedRows) and self.source.rows is not self.target:
            raise ValueError(
                "expected the target vectors, weighted, as source, got those of another array; "
                "EdgeEmbeddings.one_vector makes both sides of one"
            )

    @classmethod
    def one_vector(
        cls,
        vectors: NDArray[np.floating],
        weights: ArrayLike,
        nodes: NodeNames,
        *,
        directed: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> EdgeEmbeddings:
        """Return embeddings in which one vector per node serves both sides.

        The score of u and v is the sum of weights * vectors[u] * vectors[v], the same in both
        directions, whether the graph is directed or not.

        >>> vectors = np.array([[1, 2], [3, 1]], dtype=np.float32)
        >>> embeddings = EdgeEmbeddings.one_vector(vectors, [1, -1], NodeNames.from_strings("ab"))
        >>> embeddings.score(np.array([0, 1]), np.array([1, 0]))
        array([1., 1.], dtype=float32)

        Args:
            vectors: (num_nodes, dim) float32 or float16, possibly memory-mapped.
            weights: (dim,) finite numbers, what each coordinate of the product counts.
        """
        return cls(WeightedRows(vectors, weights), vectors, nodes, directed, settings or {})

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """(dim,), what each coordinate counts if one vector serves both sides; else None."""
        return self.source.weights if isinstance(self.source, WeightedRows) else None

    @property
    def dim(self) -> int:
        """Numbers stored per node, both sides together."""
        return int(self.target.shape[1]) * (2 if self.weights is None else 1)

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return the score of each edge sources[i] -> targets[i]."""
        if isinstance(self.source, WeightedRows):
            weights = self.source.weights
            return _paired_products(self.target, sources, self.target, targets, weights)
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
        side by side, in opposite orders for the two ends, those of the source halved. Of one vector
        for both sides, they are `source` or `target` on either.
        """
        mine, other = (self.source, self.target) if side == "source" else (self.target, self.source)
        chosen = slice(None) if ids is None else ids
        if self.directed or self.weights is not None:
            return np.asarray(mine[chosen], dtype=np.float32)
        both = np.concatenate([mine[chosen], other[chosen]], axis=1, dtype=np.float32)
        return both * np.float32(0.5) if side == "source" else both

    def fingerprint(self, side: Side) -> str:
        """Return a hexadecimal digest of the `vectors` of one side: equal if they are."""
        digest = hashlib.blake2b(digest_size=16)
        for start in range(0, len(self.nodes), 1 << 16):
            some = np.arange(start, min(start + (1 << 16), len(self.nodes)))
            digest.update(np.ascontiguousarray(self.vectors(side, some)).data)
        return digest.hexdigest()

    def learned_from(self, graph: Graph) -> bool:
        """Tell whether the vectors saw exactly this graph, and so what they went on from."""
        fit: Mapping[str, Any] | None = self.settings
        while fit is not None:
            if fit.get("graph_fingerprint") != graph.fingerprint:
                return False
            fit = fit.get("from")
        return True

    def save(self, path: str | Path, *, float16: bool = False, overwrite: bool = False) -> None:
        """Write the result folder: `source.npy`, `target.npy`, `nodes.txt`, `settings.json`.

        Of one vector for both sides, `vectors.npy` takes the place of the first two, and the last
        holds the weights.
        """
        dtype = np.float16 if float16 else np.float32
        arrays = {"source": self.source, "target": self.target}
        header = result_header(directed=self.directed, weights=self.weights)
        if self.weights is not None:
            arrays = {"vectors": self.target}
        with new_folder(Path(path), overwrite=overwrite) as folder:
            for name, array in arrays.items():
                np.save(folder / f"{name}.npy", np.asarray(array, dtype), allow_pickle=False)
            self.nodes.save(folder / "nodes.txt")
            write_json(folder / "settings.json", {**header, **self.settings})

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = True) -> EdgeEmbeddings:
        """Return the embeddings in a result folder, memory-mapped unless told otherwise."""
        folder, header = Path(path), Path(path) / "settings.json"
        if not header.is_file():
            raise FileNotFoundError(
                f"{folder}: expected a result folder with settings.json and vectors; "
                "make one with: arcvec fit GRAPH -o RESULT"
            )
        verify_checksums(folder)
        versions = (FORMAT_VERSION, ONE_VECTOR_VERSION)
        settings = read_header(header, "arcvec-result", versions, ["directed"])
        source: NDArray[np.floating] | WeightedRows
        if settings.pop("format_version") == ONE_VECTOR_VERSION:
            target = load_array(folder / "vectors.npy", mmap=mmap)
            source = _read_weighted(folder, target, settings.pop("weights", None))
        else:
            source, target = (
                load_array(folder / f"{side}.npy", mmap=mmap) for side in ("source", "target")
            )
        nodes = NodeNames.load(folder / "nodes.txt")
        return cls(source, target, nodes, directed=settings.pop("directed"), settings=settings)

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


def result_header(*, directed: bool, weights: NDArray[np.float32] | None) -> dict[str, Any]:
    """Return what the `settings.json` of a result folder begins with.

    Args:
        weights: of one vector for both sides; else None.
    """
    header: dict[str, Any] = {"format": "arcvec-result", "format_version": FORMAT_VERSION}
    header["directed"] = directed
    if weights is not None:
        header |= {"format_version": ONE_VECTOR_VERSION, "weights": weights.tolist()}
    return header


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


def _checked_weights(values: ArrayLike, columns: int) -> NDArray[np.float32]:
    weights = np.asarray(values)
    expected = f"expected a finite weight for each of the {columns} columns of the vectors"
    if weights.shape != (columns,) or weights.dtype.kind not in "fiu":
        raise ValueError(f"{expected}, got {reprlib.repr(values)} of shape {weights.shape}")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, and said below
        weights = weights.astype(np.float32)
    if not np.isfinite(weights).all():
        place = int(np.isfinite(weights).argmin())
        raise ValueError(f"{expected}, got {weights[place]} at place {place}")
    return weights


def _read_weighted(folder: Path, vectors: NDArray[np.floating], weights: Any) -> WeightedRows:
    try:
        return WeightedRows(vectors, weights)
    except ValueError as error:
        raise ValueError(
            f"{folder}: {error}; the vectors are in vectors.npy, the weights in settings.json as "
            '"weights": write the folder again'
        ) from None


def _paired_products(
    left: NDArray[np.floating],
    rows: NodeIds,
    right: NDArray[np.floating],
    columns: NodeIds,
    weights: NDArray[np.float32] | None = None,
) -> Scores:
    products = np.empty(len(rows), dtype=np.float32)
    # Blocks, so that millions of pairs do not gather gigabytes at once.
    for start in range(0, len(rows), 1 << 18):
        block = slice(start, start + (1 << 18))
        ones = left[rows[block]].astype(np.float32, copy=False)
        others = right[columns[block]].astype(np.float32, copy=False)
        if weights is None:
            np.einsum("ij,ij->i", ones, others, out=products[block])
        else:
            # Weighed last, so that both directions give the same to the last bit.
            np.einsum("ij,j->i", ones * others, weights, out=products[block])
    return products
