"""What is served: a result in memory, with what requests about it need."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.plot.plane import graph_over
from arcvec.recommendation.exact import LaidOut
from arcvec.serve.completion import Completion

logger = logging.getLogger(__name__)

_ATTEMPTS = 10
"""At a folder that changes while it is read."""


class Products(EdgeEmbeddings):
    """Embeddings whose vectors are in memory as `vectors` gives them, so that a run is no copy."""

    @cached_property
    def _everyone(self) -> NodeIds:
        return np.arange(len(self.nodes))

    def vectors(self, side: Side, ids: NodeIds | None = None) -> Scores:
        """Return float32 vectors of some nodes or of all: a view where their ids are in a row."""
        if ids is None or len(ids) == 0:
            return super().vectors(side, ids)
        run = slice(int(ids[0]), int(ids[0]) + len(ids))
        if not np.array_equal(ids, self._everyone[run]):
            return super().vectors(side, ids)
        rows = self.source if side == "source" else self.target
        return np.asarray(rows[run], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Served:
    """A result in memory; nothing in it changes, so that a request sees one result to its end.

    Attributes:
        embeddings: the result as it is stored.
        products: the same scores, as plain inner products of float32 vectors in memory.
        laid_out: the same vectors, to be searched.
        known: the known edges over the nodes of the result; without any edge if no graph was given.
        has_graph: whether one was.
    """

    embeddings: EdgeEmbeddings
    products: Products
    laid_out: LaidOut
    known: Graph
    has_graph: bool
    completion: Completion

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph | None = None) -> Served:
        """Return what is served of a result, all that requests need computed."""
        nodes = embeddings.nodes
        known = _known_edges(graph, nodes)
        products = Products(embeddings.vectors("source"), embeddings.vectors("target"), nodes)
        for side in (products.source, products.target):
            _require_finite(np.asarray(side))
        degrees = known.out_degrees + known.transposed.out_degrees
        if len(nodes):
            nodes.ids(nodes[:1])  # fills the index of names
        return cls(
            embeddings,
            products,
            LaidOut.of(products),
            known,
            graph is not None,
            Completion(nodes, degrees),
        )

    def facts(self, node: int) -> dict[str, str | int | None]:
        """Return the name of a node and its degrees among the known edges; None without a graph."""
        degrees = (self.known.out_degrees, self.known.transposed.out_degrees)
        out_degree, in_degree = (int(side[node]) if self.has_graph else None for side in degrees)
        name = self.embeddings.nodes[node]
        return {"name": name, "out_degree": out_degree, "in_degree": in_degree}


def load_served(result: Path, open_graph: Callable[[], Graph] | None = None) -> Served:
    """Return what is served of a result folder, all of it from one writing of the folder.

    Args:
        open_graph: gives the graph of known edges.

    Raises:
        OSError, ValueError: the result or the graph cannot be read.
    """
    embeddings = _load_whole(result)
    return Served.of(embeddings, None if open_graph is None else open_graph())


def _load_whole(result: Path) -> EdgeEmbeddings:
    """Load a folder again if another took its place meanwhile, so that no two are mixed."""
    for _ in range(_ATTEMPTS):
        before = _identity(result)
        try:
            embeddings = EdgeEmbeddings.load(result, mmap=False)
        except (OSError, ValueError):
            if before is not None and before == _identity(result):
                raise
            continue
        if before == _identity(result):
            return _names_in_memory(embeddings)
    # Once more, so that an error tells what is wrong with it.
    EdgeEmbeddings.load(result, mmap=False)
    raise ValueError(f"{result}: changed {_ATTEMPTS} times while it was read; write it less often")


def _known_edges(graph: Graph | None, nodes: NodeNames) -> Graph:
    if graph is None:
        return Graph.from_edges([], [], nodes=nodes)
    if np.array_equal(graph.nodes.text, nodes.text):
        return graph  # without a comparison name by name, which keeps requests waiting
    return graph_over(graph, nodes)


def _names_in_memory(embeddings: EdgeEmbeddings) -> EdgeEmbeddings:
    return replace(embeddings, nodes=NodeNames(np.array(embeddings.nodes.text)))


def _identity(folder: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _require_finite(vectors: NDArray[np.floating]) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"expected finite numbers in all vectors, got others in {int((~finite).sum()):,} rows, "
            f"first row {int(finite.argmin())}; fit the result again"
        )
