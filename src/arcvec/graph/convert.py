"""Graphs from other libraries: networkx, igraph, scipy, pandas, polars, PyG, plain arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph

ACCEPTED = (
    "a networkx or igraph graph, a scipy.sparse matrix, a pandas or polars frame, "
    "an edge_index (2 x m), an array of pairs (m x 2), or (sources, targets)"
)


def graph_from(
    data: Any,
    *,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> Graph:
    """Return the graph in an object of another library; the library itself is not imported.

    Node names are the strings of what the object calls its nodes. networkx, igraph and scipy keep
    their order of nodes; frames and arrays of strings are named as `read_edges` does: shorter
    names first. Integers in arrays are ids from 0, so that gaps become nodes without edges.
    Repeated edges are merged, self-loops kept.

    >>> graph_from((["a", "b"], ["b", "c"]))
    Graph(3 nodes, 2 edges, directed, unweighted)

    Args:
        data: networkx or igraph graph, scipy.sparse matrix, pandas or polars frame, edge_index
            (2 x m array or tensor), pairs (m x 2), or (sources, targets). An array of 2 x 2 could
            be either and is refused.
        directed: as the object says by default; directed, where it says nothing. An undirected
            graph asked for as directed has each edge both ways.
        source, target: columns of a frame; by default the first two.
        weight: edge attribute or column with the weights; None ignores them, except those of a
            matrix, whose values are weights unless all are 1.
    """
    if isinstance(data, tuple) and len(data) == 2:
        libraries = {"numpy"}
        data = tuple(_as_array(part) for part in data)
    else:
        libraries = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if libraries & {"pandas", "polars"} and hasattr(data, "columns"):
        return _from_frame(data, (source, target), weight, directed is not False)
    if source is not None or target is not None:
        raise ValueError(f"source and target name columns of a frame, got {type(data).__name__}")
    if "networkx" in libraries:
        return _from_networkx(data, directed, weight)
    if "igraph" in libraries:
        return _from_igraph(data, directed, weight)
    if weight is not None:
        raise ValueError(f"weight names an attribute or a column, got {type(data).__name__}")
    if "scipy" in libraries:
        return _from_scipy(data, directed is not False)
    if libraries & {"numpy", "torch"}:
        return _from_arrays(data, directed is not False)
    raise ValueError(f"expected {ACCEPTED}, got {type(data).__name__}")


def _from_networkx(data: Any, directed: bool | None, weight: str | None) -> Graph:
    nodes = list(data.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[source], position[target]) for source, target in data.edges()]
    weights = None
    if weight is not None:
        weights = _attribute([value for *_, value in data.edges(data=weight)], weight)
    return _from_container(edges, nodes, data.is_directed(), directed, weights)


def _from_igraph(data: Any, directed: bool | None, weight: str | None) -> Graph:
    named = "name" in data.vs.attributes()
    nodes = data.vs["name"] if named else range(data.vcount())
    weights = None
    if weight is not None:
        known = weight in data.es.attributes()
        weights = _attribute(data.es[weight] if known else [None] * data.ecount(), weight)
    return _from_container(data.get_edgelist(), nodes, data.is_directed(), directed, weights)


def _attribute(values: Sequence[Any], name: str) -> Sequence[Any]:
    missing = sum(value is None for value in values)
    if missing:
        raise ValueError(
            f'expected the attribute "{name}" on every edge, got {missing} edges without'
        )
    return values


def _from_container(
    edges: Sequence[tuple[int, int]],
    nodes: Sequence[object],
    is_directed: bool,
    directed: bool | None,
    weights: Sequence[Any] | None,
) -> Graph:
    names = _unique_names(nodes)
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    graph = Graph.from_edges(
        ends[:, 0], ends[:, 1], nodes=names, directed=is_directed, weights=weights
    )
    if directed is None or directed == is_directed:
        return graph
    # The rows of an undirected graph hold both directions; those of a directed one are merged.
    return Graph.from_edges(
        graph.row_of_entry,
        graph.indices,
        nodes=graph.nodes,
        directed=directed,
        weights=graph.weights,
    )


def _unique_names(nodes: Iterable[object]) -> list[str]:
    names = [str(node) for node in nodes]
    if len(set(names)) < len(names):
        ((repeated, count),) = Counter(names).most_common(1)
        raise ValueError(f'expected nodes with different names, got "{repeated}" {count} times')
    return names


def _from_scipy(data: Any, directed: bool) -> Graph:
    matrix = data.tocoo()
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"expected a square adjacency matrix, got shape {matrix.shape}")
    stored = matrix.data != 0
    sources, targets, values = matrix.row[stored], matrix.col[stored], matrix.data[stored]
    weights = None if (values == 1).all() else values
    graph = Graph.from_edges(sources, targets, nodes=matrix.shape[0], weights=weights)
    if directed:
        return graph
    # A symmetric matrix says each edge twice, a triangular one once; both mean it once.
    symmetric = graph.fingerprint == graph.transposed.fingerprint
    once = graph.row_of_entry <= graph.indices if symmetric else slice(None)
    return Graph.from_edges(
        graph.row_of_entry[once],
        graph.indices[once],
        nodes=graph.nodes,
        directed=False,
        weights=None if graph.weights is None else graph.weights[once],
    )


def _from_frame(
    data: Any, ends: tuple[str | None, str | None], weight: str | None, directed: bool
) -> Graph:
    known = list(data.columns)
    if len(known) < 2:
        raise ValueError(f"expected a frame with two columns or more, got {len(known)}")
    names = [default if name is None else name for name, default in zip(ends, known, strict=False)]
    for name in (*names, *([] if weight is None else [weight])):
        if name not in known:
            raise ValueError(f'no column "{name}"; the columns are {", ".join(map(str, known))}')
    if names[0] == names[1]:
        raise ValueError(f'source and target are both the column "{names[0]}"; name them both')
    for name in names:
        column = data[name]  # pandas says isna, polars is_null
        empty = int((column.isna() if hasattr(column, "isna") else column.is_null()).sum())
        if empty:
            raise ValueError(f'column "{name}": expected names, got {empty} empty values')
    weights = None if weight is None else data[weight].to_numpy()
    sources, targets = (data[name].to_numpy() for name in names)
    return _from_names(sources, targets, directed, weights)


def _from_arrays(data: Any, directed: bool) -> Graph:
    if isinstance(data, tuple):
        sources, targets = data
    else:
        sources, targets = _split_ends(_as_array(data))
    if sources.dtype.kind in "iu" and targets.dtype.kind in "iu":
        return Graph.from_edges(sources, targets, directed=directed)
    return _from_names(sources, targets, directed)


def _split_ends(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if array.shape == (2, 2):
        raise ValueError(
            "an array of shape (2, 2) may be an edge_index or pairs; "
            "pass the tuple (sources, targets)"
        )
    if array.ndim == 2 and array.shape[0] == 2:
        return array[0], array[1]
    if array.ndim == 2 and array.shape[1] == 2:
        return array[:, 0], array[:, 1]
    raise ValueError(f"expected an array of shape (2, m) or (m, 2), got {array.shape}")


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array; a torch tensor leaves its device and its gradient behind."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    array = np.asarray(values)
    # Floats as ids come from an empty list, or from a mistake.
    return array.astype(np.int64) if array.size == 0 else array


def _from_names(
    sources: NDArray[Any],
    targets: NDArray[Any],
    directed: bool,
    weights: NDArray[Any] | None = None,
) -> Graph:
    """Return the graph of edges given by names of any type; ids go by shorter names first."""
    if len(sources) != len(targets):
        raise ValueError(f"expected as many sources as targets, got {len(sources)}, {len(targets)}")
    found: dict[str, int] = {}
    ends = np.array(
        [
            found.setdefault(str(name), len(found))
            for part in (sources, targets)
            for name in part.tolist()
        ],
        dtype=np.int64,
    )
    names = sorted(found, key=_length_and_bytes)
    new_ids = np.empty(len(names), dtype=np.int64)
    new_ids[[found[name] for name in names]] = np.arange(len(names))
    ends = new_ids[ends]
    return Graph.from_edges(
        ends[: len(sources)],
        ends[len(sources) :],
        nodes=names,
        directed=directed,
        weights=weights,
    )


def _length_and_bytes(name: str) -> tuple[int, bytes]:
    encoded = name.encode(errors="surrogatepass")  # no text; `NodeNames` says so
    return len(encoded), encoded
