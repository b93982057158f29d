"""The model: a shared network on node vectors, then one projection per side.

| paper | here                  | shape                                            |
|-------|-----------------------|--------------------------------------------------|
| Y     | rows of a `NodeTable` | (num_nodes, node_dim)                            |
| f     | `EdgeModel.manifold`  | node_dim -> hidden -> manifold_dim               |
| L     | `source_projection`   | (manifold_dim, dim / 2)                          |
| R     | `target_projection`   | (dim / 2, manifold_dim)                          |
| g     | inner product of what `forward` returns: <L^T f(Y_u), R f(Y_v)>          |
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from arcvec.model.settings import ModelSettings

_CHUNK = 1 << 16
Statistics = list[tuple[Tensor, Tensor]]


class NodeTable:
    """Y: one trainable row per node, read and written by the rows of a batch."""

    def __init__(self, values: Tensor) -> None:
        self.values = values

    @classmethod
    def random(cls, num_nodes: int, node_dim: int, generator: torch.Generator) -> NodeTable:
        """Return rows of unit norm, uniform in direction up to the corners of the cube."""
        values = torch.rand(num_nodes, node_dim, generator=generator).mul_(0.2).sub_(0.1)
        return cls(F.normalize(values))

    def read(self, nodes: Tensor) -> Tensor:
        """Return the rows of nodes as a leaf that collects their gradient."""
        return self.values[nodes].requires_grad_()

    def chunks(self) -> Iterator[Tensor]:
        """Yield all rows, some at a time."""
        yield from torch.split(self.values, _CHUNK)


class EdgeModel(nn.Module):
    """f, L and R; the shallow model has no f."""

    def __init__(self, settings: ModelSettings, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        deep = bool(settings.hidden)
        sizes = (settings.node_dim, *settings.hidden, settings.manifold_dim)
        shapes = list(pairwise(sizes)) if deep else []
        self.layers = nn.ModuleList(nn.Linear(*shape) for shape in shapes)
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(outputs, track_running_stats=False) for _, outputs in shapes
        )
        manifold_dim = settings.manifold_dim if deep else settings.node_dim
        self.source_projection = nn.Parameter(torch.empty(manifold_dim, dim // 2))
        self.target_projection = nn.Parameter(torch.empty(dim // 2, manifold_dim))
        self._initialise(generator)

    def _initialise(self, generator: torch.Generator) -> None:
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            bound = layer.in_features**-0.5
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            nn.init.zeros_(layer.bias)
        # Scores start with a standard deviation of about 1 over random pairs.
        manifold_dim, half = self.source_projection.shape
        norm_of_f = 1.0 if not self.layers else manifold_dim**0.5
        scale = half**-0.25 / norm_of_f
        for projection in (self.source_projection, self.target_projection):
            nn.init.normal_(projection, std=scale, generator=generator)

    def forward(self, rows: Tensor, *, anchor_only: bool = False) -> tuple[Tensor, Tensor]:
        """Return the source and the target vectors of a batch's nodes.

        Args:
            rows: (k, node_dim) of distinct nodes; BatchNorm normalises over these.
            anchor_only: let no gradient reach `rows` through the target vectors.
        """
        manifold = self.manifold(rows)  # (k, manifold_dim)
        other = self.manifold(rows.detach()) if anchor_only else manifold
        return manifold @ self.source_projection, other @ self.target_projection.T

    def manifold(
        self, rows: Tensor, statistics: Statistics | None = None, *, until_norm: int | None = None
    ) -> Tensor:
        """Return f(rows), normalised by the batch or by given statistics.

        Args:
            statistics: (mean, variance) for each BatchNorm layer.
            until_norm: stop there and return what that BatchNorm layer would be given.
        """
        x: Tensor = rows
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            assert isinstance(norm, nn.BatchNorm1d)
            x = layer(x)
            if i == until_norm:
                return x
            mean, variance = statistics[i] if statistics is not None else (None, None)
            x = F.batch_norm(
                x, mean, variance, norm.weight, norm.bias, training=mean is None, eps=norm.eps
            )
            if i + 1 < len(self.layers):
                x = F.relu(x)
        return x

    @torch.no_grad()
    def embed(self, table: NodeTable) -> tuple[Tensor, Tensor]:
        """Return the source and target vectors of all nodes, normalised over all nodes exactly."""
        statistics: Statistics = []
        for i in range(len(self.norms)):
            statistics.append(self._population_statistics(table, statistics, i))
        manifolds = (self.manifold(rows, statistics) for rows in table.chunks())
        sides = [(m @ self.source_projection, m @ self.target_projection.T) for m in manifolds]
        return torch.cat([s for s, _ in sides]), torch.cat([t for _, t in sides])

    def _population_statistics(
        self, table: NodeTable, known: Statistics, norm: int
    ) -> tuple[Tensor, Tensor]:
        count, total, squares = 0, torch.tensor(0.0), torch.tensor(0.0)
        for rows in table.chunks():
            x = self.manifold(rows, known, until_norm=norm).double()
            count += len(x)
            total = total + x.sum(dim=0)
            squares = squares + x.square().sum(dim=0)
        mean = total / count
        variance = (squares / count - mean.square()).clamp_min(0)
        return mean.float(), variance.float()
