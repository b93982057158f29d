"""Graphs in a few numbers, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.table_text import Entry, Table
from arcvec.graph.components import components
from arcvec.graph.graph import Graph


def graph_facts(title: str, graphs: Mapping[str, Graph]) -> Table:
    """Return a table with a column for every graph, by name; all of one kind and with edges."""
    columns = [_facts(graph) for graph in graphs.values()]
    rows = tuple((Entry(name), *(Entry(column[name]) for column in columns)) for name in columns[0])
    return Table(title, ("", *graphs), rows)


def _facts(graph: Graph) -> dict[str, str]:
    degrees = graph.out_degrees + (graph.in_degrees if graph.directed else 0)
    facts = {
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{graph.num_edges:,}",
        "direction": "directed" if graph.directed else "undirected",
        "weights": "none" if graph.weights is None else "one an edge",
        "self-loops": f"{graph.num_self_loops:,}",
        "nodes without edges": f"{int((degrees == 0).sum()):,}",
        "connected parts": _parts(graph),
    }
    if not graph.directed:
        return {**facts, "degree": _describe(graph, graph.out_degrees)}
    return {
        **facts,
        "reciprocity": f"{_percent(graph.reciprocity)} of the edges are returned",
        "out-degree": _describe(graph, graph.out_degrees),
        "in-degree": _describe(graph, graph.in_degrees),
    }


def _parts(graph: Graph) -> str:
    sizes = np.bincount(components(graph))
    if sizes.size == 1:
        return "1"
    return f"{sizes.size:,}; the largest has {_percent(sizes.max() / graph.num_nodes)} of the nodes"


def _describe(graph: Graph, degrees: NDArray[np.int64]) -> str:
    highest = int(degrees.argmax())
    return (
        f"mean {degrees.mean():.1f}, median {np.median(degrees):g}, "
        f"highest {degrees[highest]:,} ({graph.nodes[highest]})"
    )


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"
