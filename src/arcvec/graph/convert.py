"""Graphs from other libraries: networkx, igraph, scipy, pandas, polars, PyG, plain arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
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

    networkx, igraph and scipy keep their order of nodes; frames and arrays of strings are named as
    `read_edges` does: shorter names first. Integers in arrays are ids from 0, so that gaps become
    nodes without edges. Repeated edges are merged, self-loops kept.

    >>> graph_from((["a", "b"], ["b", "c"]))
    Graph(3 nodes, 2 edges, directed, unweighted)

    Args:
        data: networkx or igraph graph, scipy.sparse matrix, pandas or polars frame, edge_index
            (2 x m array or tensor), pairs (m x 2), or (sources, targets).
        directed: as the object says by default, or directed if it says nothing. An undirected
            graph asked for as directed has each edge both ways.
        source, target: columns of a frame; by default the first two.
        weight: edge attribute or column with the weights; None ignores them, except those of a
            matrix, whose values are weights unless all are 1.
    """
    is_pair = isinstance(data, tuple) and len(data) == 2
    kinds = {"numpy"} if is_pair else {kind.__module__.split(".")[0] for kind in type(data).__mro__}
    if kinds & {"pandas", "polars"} and hasattr(data, "columns"):
        return _from_frame(data, (source, target), weight, directed is not False)
    if source is not None or target is not None:
        raise ValueError(f"source and target name columns of a frame, got {type(data).__name__}")
    if "networkx" in kinds:
        return _from_networkx(data, directed, weight)
    if "igraph" in kinds:
        return _from_igraph(data, directed, weight)
    if weight is not None:
        raise ValueError(f"weight names an attribute or a column, got {type(data).__name__}")
    if "scipy" in kinds:
        return _from_scipy(data, directed is not False)
    if kinds & {"numpy", "torch"}:
        return _from_arrays(data, directed is not False)
    raise ValueError(f"expected {ACCEPTED}, got {type(data).__name__}")


def _from_networkx(data: Any, directed: bool | None, weight: str | None) -> Graph:
    position = {node: i for i, node in enumerate(data.nodes)}
    edges = [(position[source], position[target]) for source, target in data.edges()]
    weights = None if weight is None else [value for *_, value in data.edges(data=weight)]
    return _from_container(data, edges, position, directed, weight, weights)


def _from_igraph(data: Any, directed: bool | None, weight: str | None) -> Graph:
    nodes = data.vs["name"] if "name" in data.vs.attributes() else range(data.vcount())
    weights = data.es[weight] if weight in data.es.attributes() else [None] * data.ecount()
    return _from_container(data, data.get_edgelist(), nodes, directed, weight, weights)


def _from_container(
    data: Any,
    edges: Sequence[tuple[int, int]],
    nodes: Iterable[object],
    directed: bool | None,
    weight: str | None,
    weights: Sequence[Any] | None,
) -> Graph:
    if weight is None:
        weights = None
    elif missing := sum(value is None for value in weights or ()):
        raise ValueError(
            f'expected the attribute "{weight}" on every edge, got {missing} edges without'
        )
    names = [str(node) for node in nodes]
    if len(set(names)) < len(names):
        ((repeated, count),) = Counter(names).most_common(1)
        raise ValueError(f'expected nodes with different names, got "{repeated}" {count} times')
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = Graph.from_edges(*ends, nodes=names, directed=data.is_directed(), weights=weights)
    if directed is False:
        return graph.undirected
    # The rows of an undirected graph hold both directions already.
    return replace(graph, directed=True) if directed else graph


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
    # A symmetric matrix holds each edge twice, a triangular one once; both mean it once.
    symmetric = graph.fingerprint == graph.transposed.fingerprint
    return replace(graph, directed=False) if symmetric else graph.undirected


def _from_frame(
    data: Any, ends: tuple[str | None, str | None], weight: str | None, directed: bool
) -> Graph:
    known = list(data.columns)
    if len(known) < 2:
        raise ValueError(f"expected a frame with two columns or more, got {len(known)}")
    names = [default if name is None else name for name, default in zip(ends, known, strict=False)]
    for name in names if weight is None else (*names, weight):
        if name not in known:
            raise ValueError(f'no column "{name}"; the columns are {", ".join(map(str, known))}')
    if names[0] == names[1]:
        raise ValueError(f'source and target are both the column "{names[0]}"; name them both')
    for name in names:
        column = data[name]  # pandas has isna, polars is_null
        empty = int((column.isna() if hasattr(column, "isna") else column.is_null()).sum())
        if empty:
            raise ValueError(f'column "{name}": expected names, got {empty} empty values')
    weights = None if weight is None else data[weight].to_numpy()
    sources, targets = (data[name].to_numpy() for name in names)
    return _from_names(sources, targets, directed, weights)


def _from_arrays(data: Any, directed: bool) -> Graph:
    if isinstance(data, tuple):
        sources, targets = map(_as_array, data)
    else:
        array = _as_array(data)
        if array.shape == (2, 2):
            raise ValueError(
                "an array of shape (2, 2) may be an edge_index or pairs; "
                "pass the tuple (sources, targets)"
            )
        if array.ndim != 2 or 2 not in array.shape:
            raise ValueError(f"expected an array of shape (2, m) or (m, 2), got {array.shape}")
        sources, targets = array if array.shape[0] == 2 else array.T
    if sources.dtype.kind in "iu" and targets.dtype.kind in "iu":
        return Graph.from_edges(sources, targets, directed=directed)
    return _from_names(sources, targets, directed)


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array, also of a torch tensor on any device."""
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    # Floats as ids come from an empty list, or from a mistake.
    return array.astype(np.int64) if array.size == 0 else array


def _from_names(
    sources: NDArray[Any], targets: NDArray[Any], directed: bool, weights: Any = None
) -> Graph:
    """Return the graph of edges given by names of any type; ids go by shorter names first."""
    if len(sources) != len(targets):
        raise ValueError(f"expected as many sources as targets, got {len(sources)}, {len(targets)}")
    ends = [[str(name) for name in side.tolist()] for side in (sources, targets)]
    # Halves of characters are let through: `NodeNames` refuses them by name.
    encoded = {name: name.encode(errors="surrogatepass") for side in ends for name in side}
    names = sorted(encoded, key=lambda name: (len(encoded[name]), encoded[name]))
    new_ids = {name: i for i, name in enumerate(names)}
    ids = ([new_ids[name] for name in side] for side in ends)
    return Graph.from_edges(*ids, nodes=names, directed=directed, weights=weights)
