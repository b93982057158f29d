"""`EdgeProjection.fit` on many workers, and its result, of which each has the rows of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import result_header
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.sharded_plan import ShardedPlan
from arcvec.methods.stored_vectors import stored_vectors
from arcvec.scaleout.files import shared_folder, write_rows
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers
from arcvec.storage import write_json
from arcvec.training.hooks import Hooks

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ShardedResult:
    """What `EdgeEmbeddings` is, cut by nodes.

    Attributes:
        arrays: the vectors of this worker's nodes, by the name of their file.
        weights: of one vector for both sides; else None.
    """

    arrays: dict[str, Vectors]
    weights: Vectors | None
    nodes: NodeNames
    directed: bool
    settings: dict[str, Any]
    partition: Partition
    workers: Workers

    @property
    def dim(self) -> int:
        """Numbers stored per node, both sides together."""
        return sum(array.shape[1] for array in self.arrays.values())

    def save(self, path: Path, *, float16: bool = False, overwrite: bool = False) -> None:
        """Write one result folder, each worker its part; called by all of them."""
        dtype = np.float16 if float16 else np.float32
        with shared_folder(self.workers, path, overwrite=overwrite) as folder:
            for name, array in self.arrays.items():
                write_rows(folder / f"{name}.npy", array, dtype, self.partition, self.workers)
            if self.workers.is_first:
                self.nodes.save(folder / "nodes.txt")
                header = result_header(directed=self.directed, weights=self.weights)
                write_json(folder / "settings.json", {**header, **self.settings})


def fit_sharded(
    method: EdgeProjection, graph: Graph, workers: Workers, folder: Path, hooks: Hooks | None
) -> ShardedResult:
    """Return this worker's part of what `method.fit` would return; called by all workers.

    Args:
        graph: the same for all, memory-mapped.
        folder: for graphs that all workers map; they must all see it.
    """
    partition = Partition(graph.num_nodes, workers.count)
    if not partition.num_rows(workers.count - 1):
        raise ValueError(
            f"expected at least one node for each of {workers.count} workers, got "
            f"{graph.num_nodes} nodes; start fewer workers"
        )
    members, member_dim = method.parts(graph)
    plan = partial(ShardedPlan, workers=workers, folder=folder)
    trained, provenance = method.train_members(
        "edge-projection",
        graph,
        hooks,
        members=members,
        member_dim=member_dim,
        make_plan=plan,
    )
    arrays, weights = stored_vectors(trained, method.dim, workers)
    whole = graph.nodes, graph.directed, provenance
    return ShardedResult(arrays, weights, *whole, partition, workers)
