"""Candidates for the second stage, and what the graph and the vectors say about each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds
from arcvec.recommendation.exact import Candidates, Direction, sides_of

if TYPE_CHECKING:
    from arcvec.baselines.paths import PathSums

Features: TypeAlias = NDArray[np.float32]  # (..., len(NAMES))

NAMES = {
    "three_paths": "three paths",
    "even_three_paths": "three paths that avoid hubs",
    "pagerank": "short walks",
    "reverse_edge": "an edge back",
    "vectors": "the vectors",
    "candidate_in_degree": "edges into the candidate",
    "candidate_out_degree": "edges out of the candidate",
    "node_in_degree": "edges into the node",
    "node_out_degree": "edges out of the node",
}
"""The features in the order of their columns, and what `explain` calls them."""

COUNTS = ("three_paths", "even_three_paths", "pagerank")  # features of which the log is taken
VECTORS = list(NAMES).index("vectors")

_ROWS = 256  # nodes described at once: with 600 candidates each, 5.5 MB


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Describes pairs of a node and a candidate by a graph and vectors of the same nodes.

    Attributes:
        graph: its rows are those of the nodes asked about; transposed if sources are recommended.
        queries, others: (num_nodes, d) vectors of these nodes and of the candidates.
    """

    graph: Graph
    queries: Scores
    others: Scores

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph, direction: Direction) -> PairFeatures:
        """Return the features of one direction; the graph has the nodes of the embeddings."""
        oriented = graph if direction == "targets" else graph.transposed
        own, other = (np.ascontiguousarray(embeddings.vectors(s)) for s in sides_of(direction))
        return cls(oriented, own, other)

    def blocks(
        self, ids: NodeIds, chosen: NDArray[np.int32], num_best: int, candidates: Candidates
    ) -> Iterator[tuple[slice, NDArray[np.int32], Features]]:
        """Yield a few hundred rows at a time, their candidates, (r, w), and features, (r, w, f).

        Args:
            chosen: (q, c) candidates of each node, -1 where there are fewer.
            num_best: as many more are added by three paths, and as many by short walks.
        """
        from arcvec.kernels import pair_features

        describe: Any = pair_features.describe_candidates
        graph, known = self.graph, candidates.known
        for start in range(0, len(ids), _ROWS):
            rows = slice(start, start + _ROWS)
            nodes = np.asarray(ids[rows])
            found = np.pad(chosen[rows], ((0, 0), (0, 2 * num_best)), constant_values=-1)
            measured = describe(
                *(kind.paths for kind in self._path_sums),
                *((graph.indptr, graph.indices), (self.queries[nodes], self.others)),
                *((known.indptr, known.indices), candidates.allowed, nodes, num_best, found),
            )
            of_nodes = np.broadcast_to(self._log_degrees[nodes][:, None], (*found.shape, 2))
            features = np.concatenate([measured, self._log_degrees[found], of_nodes], axis=2)
            yield rows, found, features

    def of_pairs(self, ids: NodeIds, others: NodeIds) -> Features:
        """Return the features of each pair ids[i], others[i]: (p, f)."""
        columns = [
            *(kind.score(ids, others) for kind in self._path_sums),
            self.graph.has_edges(others, ids),
            np.einsum("ij,ij->i", self.queries[ids], self.others[others]),
            *self._log_degrees[others].T,
            *self._log_degrees[ids].T,
        ]
        return np.stack(columns, axis=1, dtype=np.float32)

    @cached_property
    def _log_degrees(self) -> Features:
        degrees = self.graph.in_degrees, self.graph.out_degrees
        return np.log1p(np.stack(degrees, axis=1), dtype=np.float32)

    @cached_property
    def _path_sums(self) -> tuple[PathSums, ...]:
        # scipy and numba: commands that re-rank nothing start without them.
        from arcvec.baselines.paths import PageRank, ThreePaths, three_steps
        from arcvec.graph.matrices import inverse_power, strengths

        (out, into), _ = strengths(self.graph)
        ones = np.ones(self.graph.num_nodes)
        middle = [inverse_power(degrees, 1.0) for degrees in (into, out)]
        even = three_steps(self.graph, [ones, *middle], ones)
        return ThreePaths().fit(self.graph), even, PageRank().fit(self.graph)
