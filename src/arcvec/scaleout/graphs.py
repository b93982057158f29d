"""Graphs that all workers map into memory, written by the first of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph
from arcvec.scaleout.workers import Workers


def shared_graph(workers: Workers, folder: Path, make: Callable[[], Graph]) -> Graph:
    """Return a graph that the first worker makes: the others only ever see it on disk.

    Args:
        folder: where it is kept; on a file system that all workers see.
    """
    return mapped_both_ways(workers, _kept_graph(workers, folder, make), folder)


def mapped_graph(workers: Workers, path: Path, folder: Path, read: Callable[[], Graph]) -> Graph:
    """Return the graph at a path, memory-mapped on every worker: what is no folder becomes one.

    Args:
        folder: where it is kept if it is no graph folder already.
        read: returns the graph.
    """
    is_mapped = (path / "meta.json").is_file()
    return read() if is_mapped else _kept_graph(workers, folder, read)


def mapped_both_ways(workers: Workers, graph: Graph, folder: Path) -> Graph:
    """Return the graph with its edges turned round on disk too, which alternating walks need."""
    if not graph.directed:
        return graph
    turned = folder.with_name(f"{folder.name}-turned-round")
    if workers.is_first:
        _save(graph.transposed, turned)
    workers.wait_for_all()
    # In the place of the one that would be made in memory when it is first asked for.
    graph.__dict__["transposed"] = load_graph(turned)
    return graph


def _kept_graph(workers: Workers, folder: Path, make: Callable[[], Graph]) -> Graph:
    if workers.is_first:
        _save(make(), folder)
    workers.wait_for_all()
    return load_graph(folder)


def _save(graph: Graph, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    save_graph(graph, folder)
