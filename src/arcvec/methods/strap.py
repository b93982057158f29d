"""STRAP (Yin and Wei, 2019): source and target vectors from personalised PageRank, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method

_ROWS_AT_ONCE = 1024


class STRAP(Method):
    """Factorises log of the personalised PageRank of the graph plus that of its transpose.

    The entry of u and v is the chance that a walk from u along out-edges ends at v, plus the
    chance that a walk from v along in-edges ends at u. Small chances are left out, which keeps the
    matrix sparse on graphs of any size.
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides where the solver starts")
    stop: float = Field(0.5, gt=0, lt=1, description="probability that a walk ends at a node")
    smallest: float = Field(
        1e-4,
        gt=0,
        lt=1,
        description="chances below this count as none; "
        "1e-5, the authors' choice, is a little better for four times the memory",
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes."""
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import adjacency, source_and_target

        matrix = adjacency(graph)
        chances = walk_ends(matrix, self.stop, self.smallest / 2)
        chances = chances + walk_ends(matrix.T.tocsr(), self.stop, self.smallest / 2).T
        chances.data = np.log(np.maximum(chances.data / (self.smallest / 2), 1))
        if graph.num_edges == 0:  # a walk from a lonely node ends there, which says nothing
            chances.data[:] = 0
        source, target = source_and_target(chances, self.dim, self.seed)
        return EdgeEmbeddings(
            source,
            target,
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("strap", self, graph),
        )


def walk_ends(matrix: Any, stop: float, tolerance: float) -> Any:
    """Return the chance that a walk from each row's node ends at each column's.

    This is personalised PageRank. A walk ends at every node with probability `stop`, and always
    at a node without out-edges.

    Args:
        matrix: sparse adjacency, (n, n).
        tolerance: chances below this of being somewhere after some step are not followed, so the
            result errs low.

    Returns:
        sparse (n, n) float64.
    """
    from scipy.sparse import csr_array, diags_array, vstack

    from arcvec.methods.spectral import transitions

    num_nodes = matrix.shape[0]
    onward = transitions(matrix) * (1 - stop)
    ends = diags_array(np.where(np.diff(matrix.indptr) > 0, stop, 1.0))
    blocks = [csr_array((0, num_nodes))]
    for first in range(0, num_nodes, _ROWS_AT_ONCE):
        starts = np.arange(first, min(first + _ROWS_AT_ONCE, num_nodes))
        ones = (np.ones(starts.size), (starts - first, starts))
        present = csr_array(ones, shape=(starts.size, num_nodes))
        block = present @ ends
        while present.nnz:
            present = present @ onward
            present.data[present.data < tolerance] = 0
            present.eliminate_zeros()
            block = block + present @ ends
        blocks.append(block)
    return vstack(blocks, format="csr")
