"""A result in memory, with all that requests about it need."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.dtypes import StringDType
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.ingest.ingest import open_graph
from arcvec.ingest.layout import EdgeFileSettings
from arcvec.recommendation.exact import LaidOut
from arcvec.recommendation.rerank import Reranker, load_reranker
from arcvec.view.plane import graph_over

_MAX_RANKED = 100_000  # matching names; of more, only the first in order are ranked


class Completion:
    """Sorted names, to find those of highest weight that start with a prefix in any case.

    >>> nodes = NodeNames.from_strings(["Bob", "alice", "Alan"])
    >>> completion = Completion(nodes, np.array([1, 2, 9]))
    >>> completion.find("al", 10)
    array([2, 1])
    """

    def __init__(self, nodes: NodeNames, weights: NDArray[np.integer]) -> None:
        folded = [name.casefold() for name in nodes]
        # Unlike `sorted`, this does not block all other threads.
        self._ids = np.argsort(np.array(folded, dtype=StringDType()), kind="stable")
        self._names = [folded[i] for i in self._ids]
        self._weights = weights
        self._everyone = self._ranked(0, bisect_right(self._names, ""), len(folded))

    def find(self, prefix: str, limit: int) -> NodeIds:
        """Return the ids of at most `limit` names: the prefix itself, then by weight and name."""
        folded = prefix.casefold()
        if not folded:
            return self._everyone[:limit]
        first = bisect_left(self._names, folded)
        equal = bisect_right(self._names, folded, first)
        last = bisect_right(self._names, folded, first, key=lambda name: name[: len(folded)])
        return self._ranked(first, equal, min(last, first + _MAX_RANKED))[:limit]

    def _ranked(self, first: int, equal: int, last: int) -> NodeIds:
        """Return the ids of the names from `first` to `last`, those before `equal` first."""
        offsets = np.arange(first, last)
        order = np.lexsort((offsets, -self._weights[self._ids[offsets]], offsets >= equal))
        return self._ids[offsets[order]]


@dataclass(frozen=True, eq=False)
class Served:
    """A result in memory, which never changes; without a graph it has no known edges."""

    embeddings: EdgeEmbeddings
    laid_out: LaidOut
    known: Graph
    has_graph: bool
    completion: Completion
    second_stage: Reranker | None = None

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph | None = None) -> Served:
        """Return a result with everything computed that requests need."""
        nodes = embeddings.nodes
        if graph is None:
            known = Graph.from_edges([], [], nodes=nodes)
        elif np.array_equal(graph.nodes.text, nodes.text):
            known = graph  # a comparison name by name would block other threads
        else:
            known = graph_over(graph, nodes)
        for side in (embeddings.vectors("source"), embeddings.vectors("target")):
            finite = np.isfinite(side).all(axis=1)
            if not finite.all():
                raise ValueError(
                    "expected finite numbers in all vectors, got others in "
                    f"{int((~finite).sum()):,} rows, first row {int(finite.argmin())}; "
                    "fit the result again"
                )
        if len(nodes):
            nodes.ids(nodes[:1])  # builds the index of names
        completion = Completion(nodes, known.out_degrees + known.transposed.out_degrees)
        return cls(embeddings, LaidOut.of(embeddings), known, graph is not None, completion)

    def facts(self, node: int) -> dict[str, str | int | None]:
        """Return the name of a node and its degrees among the known edges; None without a graph."""
        degrees = (self.known.out_degrees, self.known.transposed.out_degrees)
        out_degree, in_degree = (int(side[node]) if self.has_graph else None for side in degrees)
        name = self.embeddings.nodes[node]
        return {"name": name, "out_degree": out_degree, "in_degree": in_degree}


def load_served(
    result: Path, graph: Path | None = None, files: EdgeFileSettings | None = None
) -> Served:
    """Load a result folder, and the known edges at `graph`, read as `files` says."""
    changed_at = result.stat().st_ctime_ns if result.exists() else None
    embeddings = EdgeEmbeddings.load(result, mmap=False)
    if result.stat().st_ctime_ns != changed_at:  # its files may be those of two results
        raise ValueError(f"{result}: replaced while it was read; load it again")
    in_memory = replace(embeddings, nodes=NodeNames(np.array(embeddings.nodes.text)))
    served = Served.of(in_memory, None if graph is None else open_graph(graph, files))
    if not served.has_graph:
        return served
    second = load_reranker(result, in_memory, served.known, served.laid_out)
    return replace(served, second_stage=second)
