"""The graph: an immutable CSR adjacency with node names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import NodeIds, NodeNames
from arcvec.notebook import html_table
from arcvec.storage.arrays import blocks


def _kernels() -> Any:
    """Return the compiled loops; importing numba takes longer than reading a small graph."""
    from arcvec.kernels import edges

    return edges


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed or undirected graph, weighted or not; an undirected edge is in both rows.

    >>> graph = Graph.from_edges([0, 1, 1], [1, 2, 2], nodes=["a", "b", "c"])
    >>> graph
    Graph(3 nodes, 2 edges, directed, unweighted)
    >>> graph.has_edges(np.array([0, 1]), np.array([1, 0]))
    array([ True, False])

    Attributes:
        indptr: (num_nodes + 1,) int64, where the row of each node starts.
        indices: int32 targets, ascending and without repeats inside a row.
        weights: float32, one per entry of `indices`, positive and finite; None if all are 1.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    nodes: NodeNames
    directed: bool
    weights: NDArray[np.float32] | None = None
    _transposed: Graph | None = field(default=None, repr=False)

    @classmethod
    def from_edges(
        cls,
        sources: Any,
        targets: Any,
        *,
        nodes: NodeNames | Iterable[object] | int | None = None,
        directed: bool = True,
        weights: Any = None,
    ) -> Graph:
        """Return the graph of arrays of node ids; repeated edges are merged, weights add up.

        `nodes` are names or their number; by default the ids up to the largest, as names.
        """
        from scipy.sparse import csr_array

        sources, targets = _as_ids(sources), _as_ids(targets)
        if nodes is None:
            nodes = int(max(sources.max(initial=-1), targets.max(initial=-1))) + 1
        if not isinstance(nodes, NodeNames):
            nodes = NodeNames.from_strings(range(nodes) if isinstance(nodes, int) else nodes)
        _check_edges(sources, targets, len(nodes))
        data = _as_weights(weights, sources.size)
        if not directed:
            more = sources != targets
            sources, targets = np.append(sources, targets[more]), np.append(targets, sources[more])
            data = np.append(data, data[more])
        # float64 sums, so that the order of the lines in a file does not change a weight.
        matrix = csr_array((data, (sources, targets)), shape=(len(nodes), len(nodes)))
        matrix.sum_duplicates()
        indptr = matrix.indptr.astype(np.int64)
        indices = matrix.indices.astype(np.int32, copy=False)
        if weights is None:
            return cls(indptr, indices, nodes, directed)
        if (largest := matrix.data.max(initial=0)) > np.finfo(np.float32).max:
            raise ValueError(
                f"expected weights up to 3.4e38, but those of a repeated edge add up to "
                f"{largest:.3g}; scale them down"
            )
        return cls(indptr, indices, nodes, directed, matrix.data.astype(np.float32))

    @property
    def num_nodes(self) -> int:
        """Number of nodes, isolated ones included."""
        return self.indptr.size - 1

    @cached_property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        stored = self.indices.size
        return stored if self.directed else (stored + self.num_self_loops) // 2

    @cached_property
    def num_self_loops(self) -> int:
        """Number of edges from a node to itself."""
        nodes = np.arange(self.num_nodes)
        return int(self.has_edges(nodes, nodes).sum())

    @property
    def row_of_entry(self) -> NDArray[np.int32]:
        """The source of every entry of `indices`, computed at each call."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), np.diff(self.indptr))

    def sources_of(self, entries: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the sources of some entries of `indices`."""
        return np.asarray(_kernels().sources_of_entries(self.indptr, entries))

    @cached_property
    def out_degrees(self) -> NDArray[np.int64]:
        """Number of targets of every node (neighbours, if undirected)."""
        return np.diff(self.indptr)

    @cached_property
    def in_degrees(self) -> NDArray[np.int64]:
        """Number of sources of every node (neighbours, if undirected)."""
        if not self.directed:
            return self.out_degrees
        return np.bincount(self.indices, minlength=self.num_nodes).astype(np.int64)

    @cached_property
    def reciprocity(self) -> float:
        """Fraction of edges, self-loops apart, whose reverse is an edge too; 1 if undirected."""
        num_proper = self.num_edges - self.num_self_loops
        if not self.directed or not num_proper:
            return 1.0
        return (int(self.is_returned.sum()) - self.num_self_loops) / num_proper

    @property
    def return_probability(self) -> float:
        """Probability that the reverse of a one-way edge is an edge still to come."""
        # With as many edges to come as are known, the reverse of an edge is known, still to come
        # or never an edge with probabilities r, r and 1 - 2 r, where r is the reciprocity.
        return self.reciprocity / (1 - self.reciprocity) if self.reciprocity < 0.5 else 1.0

    @property
    def is_returned(self) -> NDArray[np.bool_]:
        """Whether the reverse of every entry of `indices` is an edge, computed at each call."""
        return self.has_edges(self.indices, self.row_of_entry)

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (sources, targets) of all edges, ascending; undirected: source <= target."""
        sources, targets = self.row_of_entry, np.asarray(self.indices)
        if self.directed:
            return sources, targets
        once = sources <= targets
        return sources[once], targets[once]

    @cached_property
    def edge_starts(self) -> NDArray[np.int64]:
        """Where the edges of each source start, in the order of `edges`: (num_nodes + 1,)."""
        if self.directed:
            return self.indptr
        counts = np.zeros(self.num_nodes + 1, dtype=np.int64)
        for block in blocks(self.indices.size):
            sources = self.sources_of(np.arange(block.start, block.stop))
            np.add.at(counts, sources[sources <= self.indices[block]] + 1, 1)
        return np.cumsum(counts)

    def edges_at(self, positions: NodeIds) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (sources, targets) of the edges at some positions in `edges`."""
        sources, entries = self.entries_at(positions)
        return sources, np.asarray(self.indices)[entries]

    def entries_at(self, positions: NodeIds) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the sources of edges at positions in `edges`, and their positions in `indices`."""
        sources = _kernels().sources_of_entries(self.edge_starts, positions)
        # Rows are sorted: the edges of a source are the last entries of its row, if not all.
        return sources, self.indptr[sources + 1] - self.edge_starts[sources + 1] + positions

    def without_edges_at(self, positions: NDArray[np.integer]) -> Graph:
        """Return the graph without the edges at some positions in `edges`."""
        kept = np.ones(self.indices.size, dtype=np.bool_)
        for block in blocks(positions.size):
            sources, entries = self.entries_at(positions[block])
            kept[entries] = False
            if not self.directed:
                reverse = np.asarray(self.indices)[entries], sources
                kept[_kernels().entries_of_edges(self.indptr, self.indices, *reverse)] = False
        counts, rows = np.zeros(self.num_nodes + 1, np.int64), np.flatnonzero(self.out_degrees)
        counts[rows + 1] = np.add.reduceat(kept, self.indptr[rows], dtype=np.int64)
        weights = None if self.weights is None else np.asarray(self.weights)[kept]
        return Graph(np.cumsum(counts), self.indices[kept], self.nodes, self.directed, weights)

    def edge_weights(self) -> NDArray[np.float32] | None:
        """Return the weights in the order of `edges`."""
        if self.weights is None or self.directed:
            return self.weights
        return np.asarray(self.weights)[self.row_of_entry <= self.indices]

    def has_edges(self, sources: NodeIds, targets: NodeIds) -> NDArray[np.bool_]:
        """Return for each pair of ids whether it is an edge."""
        entries = _kernels().entries_of_edges(self.indptr, self.indices, sources, targets)
        return np.asarray(entries >= 0)

    @cached_property
    def transposed(self) -> Graph:
        """The graph with every edge reversed; the graph itself if undirected."""
        if not self.directed:
            return self
        if self._transposed is not None:
            return self._transposed
        from arcvec.graph.matrices import sparse_matrix

        values = np.ones(self.indices.size, np.int8) if self.weights is None else self.weights
        reverse = sparse_matrix(self, values).T.tocsr()
        indptr, indices = reverse.indptr.astype(np.int64), reverse.indices.astype(np.int32)
        weights = None if self.weights is None else reverse.data
        return Graph(indptr, indices, self.nodes, True, weights)

    @cached_property
    def undirected(self) -> Graph:
        """The graph with every edge in both directions; the graph itself if undirected."""
        if not self.directed:
            return self
        return Graph.from_edges(
            *self.edges(), nodes=self.nodes, directed=False, weights=self.weights
        )

    def with_transposed(self, transposed: Graph) -> Graph:
        """Return a copy whose `transposed` is the given graph, such as a memory-mapped one."""
        return replace(self, _transposed=transposed)

    def subgraph(self, kept: NodeIds) -> Graph:
        """Return the graph of the kept nodes, in that order, and the edges among them."""
        new_ids = np.full(self.num_nodes, -1, dtype=np.int64)
        new_ids[kept] = np.arange(len(kept))
        return self._renumbered(new_ids, self.nodes.at(np.asarray(kept)))

    def over(self, nodes: NodeNames) -> Graph:
        """Return the graph over these nodes, matched by name, without the edges of others."""
        if np.array_equal(self.nodes.text, nodes.text):
            return self
        new_id = {name: i for i, name in enumerate(nodes)}
        new_ids = np.array([new_id.get(name, -1) for name in self.nodes], dtype=np.int64)
        return self._renumbered(new_ids, nodes)

    def _renumbered(self, new_ids: NDArray[np.int64], nodes: Any) -> Graph:
        """Return the graph over `nodes`, given the new id of every node, -1 for none."""
        sources, targets = (new_ids[ends] for ends in self.edges())
        weights = self.edge_weights()
        inside = (sources >= 0) & (targets >= 0)
        ends = sources[inside], targets[inside]
        weights = None if weights is None else weights[inside]
        return Graph.from_edges(*ends, nodes=nodes, directed=self.directed, weights=weights)

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of structure, weights and names: equal graphs, equal fingerprints."""
        digest = hashlib.blake2b(b"directed" if self.directed else b"undirected", digest_size=16)
        for part in (self.indptr, self.indices, self.weights, self.nodes.text):
            digest.update(b"-" if part is None else np.ascontiguousarray(part).view(np.uint8).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        weighted = "unweighted" if self.weights is None else "weighted"
        return f"Graph({self.num_nodes:,} nodes, {self.num_edges:,} edges, {direction}, {weighted})"

    def _repr_html_(self) -> str:
        rows = {
            "nodes": f"{self.num_nodes:,}",
            "edges": f"{self.num_edges:,}",
            "direction": "directed" if self.directed else "undirected",
            "weights": "none" if self.weights is None else "one per edge",
            "first nodes": ", ".join(self.nodes[:3]),
        }
        return html_table("Graph", rows)


def _as_ids(values: Any) -> NDArray[Any]:
    """Return ids as int64, or as they are if they are int32, which takes half the memory."""
    ids: NDArray[Any] = np.asarray(values)
    return ids if ids.dtype == np.int32 else ids.astype(np.int64, copy=False)


def _as_weights(weights: Any, num_edges: int) -> NDArray[Any]:
    if weights is None:
        return np.ones(num_edges, dtype=np.bool_)  # values do not matter
    try:
        values: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected weights that are numbers: {error}") from None
    if values.shape != (num_edges,):
        raise ValueError(f"expected {num_edges} weights, one per edge, got shape {values.shape}")
    # Check as float32, in which they are stored: tiny weights become 0, huge ones infinite.
    with np.errstate(over="ignore"):
        kept = values.astype(np.float32)
    bad = ~(np.isfinite(kept) & (kept > 0))
    if bad.any():
        raise ValueError(
            f"expected positive, finite weights, got {values[bad][0]} at edge {bad.argmax()}"
        )
    return values


def _check_edges(sources: NDArray[Any], targets: NDArray[Any], num_nodes: int) -> None:
    if sources.shape != targets.shape or sources.ndim != 1:
        raise ValueError(
            f"expected as many sources as targets, got shapes {sources.shape} and {targets.shape}"
        )
    for ids in (sources, targets):
        outside = (ids < 0) | (ids >= num_nodes)
        if outside.any():
            raise ValueError(
                f"expected node ids from 0 to {num_nodes - 1}, got {ids[outside][0]}; "
                "pass names through read_edges, or the number of nodes as nodes="
            )
