"""The model: a shared network on node vectors, then one projection per side.

| paper | here                  | shape                                                        |
|-------|-----------------------|--------------------------------------------------------------|
| Y     | rows of a `NodeTable` | (num_nodes, node_dim)                                        |
| f     | `EdgeModel.manifold`  | node_dim -> hidden -> manifold_dim                           |
| L     | `source_projection`   | (dim / 2, manifold_dim), transposed                          |
| R     | `target_projection`   | (dim / 2, manifold_dim)                                      |
| w     | `scale`               | (dim,), one-vector models; `mixture`, (h,), in Eq. 5         |
| g     | `Sides.pair_scores` of what `forward` returns                                        |

The four models of the paper: asymmetric deep f(Y_u)^T L R f(Y_v) and shallow Y_u^T L R Y_v;
symmetric deep w^T (f(Y_u) o f(Y_v)) and shallow w^T (Y_u o Y_v), with Y or f of size dim. One more
for undirected graphs, tied: f(Y_u)^T L diag(w) L^T f(Y_v), where L has all of dim columns: two
projections would have half of them each, and learn the same product twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone

_CHUNK = 1 << 14
# Graphs are more often alike within than across: few coordinates of a tied model start negative.
_ONE_NEGATIVE_IN = 8
_ALONE = Alone()
Statistics = list[tuple[Tensor, Tensor]]


class NodeTable:
    """Y: one trainable row per node, read and written by the rows of a batch.

    Args:
        weights: (num_nodes,) how much a node counts in the statistics over all nodes; 1 if None.
    """

    def __init__(self, values: Tensor, weights: Tensor | None = None) -> None:
        self.values = values
        self.weights = values.new_ones(len(values)) if weights is None else weights

    @classmethod
    def random(cls, num_nodes: int, node_dim: int, generator: torch.Generator) -> NodeTable:
        """Return rows of unit norm, uniform in direction up to the corners of the cube."""
        values = torch.rand(num_nodes, node_dim, generator=generator).mul_(0.2).sub_(0.1)
        return cls(F.normalize(values))

    def read(self, nodes: Tensor) -> Tensor:
        """Return the rows of nodes as a leaf that collects their gradient."""
        return self.values[nodes].requires_grad_()

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all rows with their weights, some at a time."""
        parts = (torch.split(part, _CHUNK) for part in (self.values, self.weights))
        yield from zip(*parts, strict=True)


class EdgeModel(nn.Module):
    """f, L and R; or f and w, with or without L; the shallow model has no f."""

    def __init__(
        self, settings: ModelSettings, dim: int, generator: torch.Generator, projections: int = 1
    ) -> None:
        super().__init__()
        self.settings = settings
        kind = settings.kind
        manifold_dim = dim if kind == "symmetric" else settings.manifold_dim
        sizes = (settings.node_dim, *settings.hidden, manifold_dim)
        shapes = list(pairwise(sizes)) if settings.hidden else []
        inputs = manifold_dim if settings.hidden else settings.node_dim  # of the projections
        # No bias: BatchNorm, which follows, subtracts it again.
        self.layers = nn.ModuleList(nn.Linear(*shape, bias=False) for shape in shapes)
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(outputs, track_running_stats=False) for _, outputs in shapes
        )
        self.scale = self.source_projection = self.target_projection = self.mixture = None
        if kind in ("symmetric", "tied"):
            self.scale = nn.Parameter(torch.empty(dim))
        if kind == "tied":
            self.source_projection = nn.Parameter(torch.empty(dim, inputs))
        elif kind != "symmetric":
            self.source_projection = nn.Parameter(torch.empty(dim // 2, inputs))
            self.target_projection = nn.Parameter(torch.empty(dim // 2, inputs))
        if projections > 1:
            # Both signs: positive parts alone could never score a non-edge below 0.
            self.mixture = nn.Parameter(1.0 - 2.0 * (torch.arange(projections) % 2))
        self._initialise(dim, generator)

    @staticmethod
    def table_dim(settings: ModelSettings, dim: int) -> int:
        """Return the length of the rows of Y that the model wants."""
        shallow_symmetric = settings.kind == "symmetric" and not settings.hidden
        return dim if shallow_symmetric else settings.node_dim

    def _initialise(self, dim: int, generator: torch.Generator) -> None:
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            bound = layer.in_features**-0.5
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        # Scores start with a standard deviation of about 1 over random pairs: BatchNorm gives f
        # coordinates of size 1, while rows of Y have norm 1.
        # Both signs of w: where it is positive throughout, hardly any pair can score below 0.
        if self.source_projection is None:
            assert self.scale is not None
            std = dim**-0.5 if self.layers else dim**0.5
            nn.init.normal_(self.scale, std=std, generator=generator)
            return
        columns, inputs = self.source_projection.shape
        norm_of_f = inputs**0.5 if self.layers else 1.0
        for projection in (self.source_projection, self.target_projection):
            if projection is not None:
                nn.init.normal_(projection, std=columns**-0.25 / norm_of_f, generator=generator)
        if self.scale is not None:
            nn.init.ones_(self.scale)
            self.scale.data[::_ONE_NEGATIVE_IN] = -1.0

    def forward(self, rows: Tensor, *, anchor_only: bool = False) -> Sides:
        """Return the two sides of a batch's nodes.

        Args:
            rows: (k, node_dim) of distinct nodes; BatchNorm normalises over these, so each worker
                over its own nodes of the batch.
            anchor_only: let no gradient reach `rows` through the target side.
        """
        manifold = self.manifold(rows)  # (k, manifold_dim)
        if not anchor_only:
            return self.sides(manifold, manifold)
        if not self.layers:
            return self.sides(manifold, manifold.detach())
        network = (*self.layers.parameters(), *self.norms.parameters())
        return self.sides(*_AnchorOnly.apply((manifold,), rows, *network))  # type: ignore[no-untyped-call]

    def sides(self, source_manifold: Tensor, target_manifold: Tensor) -> Sides:
        """Return the two sides of nodes at these places of the manifold."""
        if self.source_projection is None:
            return Sides(source_manifold, target_manifold, scale=self.scale)
        source = F.linear(source_manifold, self.source_projection)
        if self.target_projection is None:
            shared = target_manifold is source_manifold
            target = source if shared else F.linear(target_manifold, self.source_projection)
            return Sides(source, target, scale=self.scale)
        target = F.linear(target_manifold, self.target_projection)
        if self.settings.unit_norm:
            source, target = F.normalize(source), F.normalize(target)
        return Sides(source, target, mixture=self.mixture)

    def manifold(
        self, rows: Tensor, statistics: Statistics | None = None, *, until_norm: int | None = None
    ) -> Tensor:
        """Return f(rows), normalised by the batch or by given statistics.

        Args:
            until_norm: return the input of that BatchNorm layer instead.
        """
        x: Tensor = rows
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            assert isinstance(norm, nn.BatchNorm1d)
            x = layer(x)
            if i == until_norm:
                return x
            if statistics is None:
                x = _normalise(x, norm)
            else:
                x = F.batch_norm(x, *statistics[i], norm.weight, norm.bias, eps=norm.eps)
            if i + 1 < len(self.layers) or self.settings.output_relu:
                x = F.relu(x)
        return x

    @torch.no_grad()
    def embed(self, table: NodeTable, workers: Alone = _ALONE) -> Sides:
        """Return the two sides of a worker's nodes, normalised over all nodes by their weights."""
        statistics: Statistics = []
        for i in range(len(self.norms)):
            statistics.append(self._population_statistics(table, statistics, i, workers))
        sources, targets, norms = [], [], []
        for rows, _ in table.chunks():
            manifold = self.manifold(rows, statistics)
            some = self.sides(manifold, manifold)
            sources.append(some.source)
            targets.append(some.target)
            norms.append(manifold.norm(dim=1))
        source = torch.cat(sources)
        sources.clear()  # the parts of one side, and the whole of it, are enough at once
        weights = (some.scale, some.mixture)  # the same in all parts
        scale, mixture = (None if part is None else part.detach().clone() for part in weights)
        spread = _standard_deviation(torch.cat(norms), workers)
        return Sides(source, torch.cat(targets), scale, mixture, spread=spread)

    def _population_statistics(
        self, table: NodeTable, known: Statistics, norm: int, workers: Alone
    ) -> tuple[Tensor, Tensor]:
        total, squares = torch.tensor(0.0), torch.tensor(0.0)
        for rows, weights in table.chunks():
            x = self.manifold(rows, known, until_norm=norm).double()
            total = total + weights.double() @ x
            squares = squares + weights.double() @ x.square()
        weight, total, squares = map(workers.sum, (table.weights.double().sum(), total, squares))
        mean = total / weight
        variance = (squares / weight - mean.square()).clamp_min(0)
        return mean.float(), variance.float()


def _normalise(x: Tensor, norm: nn.BatchNorm1d) -> Tensor:
    """Return what a BatchNorm layer makes of its input, by the statistics of the batch."""
    if len(x) < 2:
        return norm.bias + 0 * x  # one node has no spread
    return F.batch_norm(x, None, None, norm.weight, norm.bias, training=True, eps=norm.eps)


def _standard_deviation(numbers: Tensor, workers: Alone) -> Tensor:
    """Return the standard deviation over all workers' numbers."""
    numbers = numbers.double()
    sums = torch.stack([torch.ones_like(numbers).sum(), numbers.sum(), numbers.square().sum()])
    count, total, squares = workers.sum(sums)
    deviation: Tensor = (squares / count - (total / count).square()).clamp_min(0).sqrt().float()
    return deviation


class _AnchorOnly(torch.autograd.Function):
    """Hands f(rows) to both sides, and the gradient of the source side alone to `rows`.

    The network gets the gradients of both sides: two evaluations of f would do the same, slower.
    The manifold comes in a tuple, which autograd does not look into: its graph is walked here.
    """

    @staticmethod
    def forward(
        ctx: Any, manifold: tuple[Tensor], rows: Tensor, *network: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.inner = *manifold, rows, network
        (values,) = manifold
        return values.detach(), values.detach().view_as(values)

    @staticmethod
    def backward(ctx: Any, by_source: Tensor, by_target: Tensor) -> tuple[Tensor | None, ...]:
        manifold, rows, network = ctx.inner
        (by_rows,) = torch.autograd.grad(manifold, rows, by_source, retain_graph=True)
        by_network = torch.autograd.grad(manifold, network, by_source + by_target)
        return None, by_rows, *by_network
