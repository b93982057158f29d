"""Where a training starts: the network, and the rows of this worker's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from arcvec.graph.graph import Graph
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.settings import ModelSettings
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.training.average import chunks
from arcvec.training.spectral import spectral_rows


@dataclass(frozen=True, eq=False)
class Start:
    """How each training of a fit starts.

    Attributes:
        graph: all edges, whose degrees weigh nodes where BatchNorm normalises over pairs.
        dim, projections: see `Fit`.
    """

    graph: Graph
    settings: ModelSettings
    dim: int
    projections: int
    device: str
    workers: Alone

    def make(self, seen: Graph, seed: int, *, blank: bool = False) -> tuple[EdgeModel, NodeTable]:
        """Return the model and the node table before the first step.

        Args:
            blank: with rows of zeros, for a snapshot to fill.
        """
        generator = torch.Generator().manual_seed(seed)
        chosen = self.settings.on(seen) if self.projections == 1 else self.settings
        columns = EdgeModel.table_dim(chosen, self.dim)
        model = EdgeModel(chosen, self.dim, generator, self.projections)
        if blank:
            rows = torch.zeros(self._partition.num_rows(self.workers.rank), columns)
        elif chosen.start == "spectral":
            rows = torch.from_numpy(spectral_rows(seen, columns, seed, self.workers))
        else:
            rows = self._random_rows(columns, generator)
        return model.to(self.device), NodeTable(rows.to(self.device), self._weights())

    @cached_property
    def _partition(self) -> Partition:
        return Partition(self.graph.num_nodes, self.workers.count)

    def _random_rows(self, columns: int, generator: torch.Generator) -> Tensor:
        """Return the own rows of `NodeTable.random`, which all workers draw in whole."""
        partition, rank = self._partition, self.workers.rank
        own = torch.empty(partition.num_rows(rank), columns)
        for some in chunks(partition.num_nodes):
            nodes = np.arange(some.start, some.stop)
            values = NodeTable.random(len(nodes), columns, generator).values
            mine = partition.owners(nodes) == rank
            own[torch.from_numpy(partition.rows(nodes[mine]))] = values[torch.from_numpy(mine)]
        return own

    def _weights(self) -> Tensor | None:
        """Return how often each own node occurs among all edges and as many random pairs."""
        if self.settings.statistics == "nodes":
            return None
        degrees = (self.graph.out_degrees + self.graph.in_degrees).astype(np.float64)
        own = self._partition.nodes_of(self.workers.rank)
        weights = torch.from_numpy(degrees[own] + float(degrees.mean()))
        return weights.to(self.device, torch.float32)


def choose_device(name: str) -> str:
    """Return the device of a name, which may be "auto".

    Raises:
        ValueError: this machine has none of that name.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    known = name == "cpu" or (name.split(":")[0] == "cuda" and torch.cuda.is_available())
    if not known:
        raise ValueError(f'training.device "{name}" is not on this machine; use "auto" or "cpu"')
    return name


def describe_torch() -> str:
    """Return what trainings run on by default: threads and device."""
    device = choose_device("auto")
    name = torch.cuda.get_device_name() if device == "cuda" else device
    return f"{torch.get_num_threads()} threads, device {name}"
