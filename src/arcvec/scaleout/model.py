"""The model over all workers: f, L and R on each, statistics and losses of all nodes together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from arcvec.model.edge_model import EdgeModel
from arcvec.model.objective import Objective, output_penalty
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.sampling.batches import Batch
from arcvec.scaleout.batches import ShardedBatch
from arcvec.scaleout.exchange import fetch, total
from arcvec.scaleout.workers import Workers


class ShardedModel(EdgeModel):
    """The same parameters on every worker; BatchNorm normalises over the nodes of all of them."""

    def __init__(
        self, settings: ModelSettings, dim: int, generator: torch.Generator, workers: Workers
    ) -> None:
        super().__init__(settings, dim, generator)
        self.workers = workers

    def normalise(self, x: Tensor, norm: nn.BatchNorm1d) -> Tensor:
        """Return what a BatchNorm layer makes of its input, by the statistics of the batch."""
        normalised: Tensor = _Normalise.apply(x, norm.weight, norm.bias, norm.eps, self.workers)  # type: ignore[no-untyped-call]
        return normalised

    def over_all_nodes(self, sums: Tensor) -> Tensor:
        """Return sums over all nodes, given those over the nodes of this worker."""
        return self.workers.sum(sums, "statistics")

    def spread(self, norms: Tensor) -> Tensor:
        """Return the standard deviation over all nodes, given numbers of those of this worker."""
        numbers = norms.double()
        sums = torch.stack([torch.ones_like(numbers).sum(), numbers.sum(), numbers.square().sum()])
        count, sum_, squares = self.over_all_nodes(sums)
        spread: Tensor = (squares / count - (sum_ / count).square()).clamp_min(0).sqrt().float()
        return spread


class _Normalise(torch.autograd.Function):
    """BatchNorm over the rows of all workers: one sum over workers there, one back."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, workers: Workers
    ) -> Tensor:
        # Statistics of each worker are joined in float64: differences of large sums lose no digits.
        # By sums of columns, as torch.var_mean takes thirty times as long.
        size = max(1, len(x))
        mean = x.sum(dim=0) / size
        variance = (x - mean).square_().sum(dim=0) / size
        mean, variance = mean.double(), variance.double()
        whole = torch.full_like(mean, len(x))
        parts = torch.stack([whole, whole * mean, whole * (variance + mean.square())])
        count, sums, squares = workers.sum(parts, "statistics")
        mean = sums / count
        variance = (squares / count - mean.square()).clamp_min(0)
        ctx.workers, ctx.count = workers, float(count[0])
        mean, scale = mean.to(x), (variance + eps).rsqrt().to(x)
        ctx.save_for_backward(x, weight, mean, scale)
        return F.batch_norm(x, mean, variance.to(x), weight, bias, eps=eps)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        x, weight, mean, scale = ctx.saved_tensors
        centred = x - mean
        by_bias = gradient.sum(dim=0)
        by_weight = (gradient * centred).sum(dim=0) * scale
        of_all = ctx.workers.sum(torch.stack([by_bias, by_weight]), "statistics") / ctx.count
        # weight * scale * (gradient - mean of it - normalised x * its mean product with it)
        factor = weight * scale
        by_x = torch.addcmul(gradient - of_all[0], centred, -scale * of_all[1]).mul_(factor)
        return by_x, by_weight, by_bias, None, None


@dataclass(frozen=True)
class ShardedObjective(Objective):
    """The loss of the whole batch, of which each worker has the gradients of its own part."""

    workers: Workers

    def loss(self, sides: Sides, batch: Batch, output_l2: float = 0.0) -> Tensor:
        """Return the loss of the batch over all workers.

        Args:
            sides: of this worker's nodes in the batch.
        """
        assert isinstance(batch, ShardedBatch)
        fetched, block = fetch(sides.source, sides.target, batch.route, self.workers)
        known = replace(
            sides,
            source=torch.cat([sides.source, block]),
            target=torch.cat([sides.target, fetched]),
        )
        loss = self.likelihood(known, batch)
        if output_l2:
            vectors = sides.scaled_source, sides.target
            loss = loss + output_l2 * output_penalty(*vectors, batch.counts.nodes)
        return total(loss, self.workers)
