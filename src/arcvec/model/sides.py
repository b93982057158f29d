"""What a model says about some nodes: their two sides, from which every score is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from arcvec.kernels.rows import pair_product_gradients, pair_products


@dataclass(frozen=True, eq=False)
class Sides:
    """Source and target vectors of k nodes, and how their products make a score.

    Attributes:
        source, target: (k, b); with several projections (k, h * b), one after the other.
        scale: (b,), the symmetric model's w, which weighs the coordinates; else None.
        mixture: (h,), Eq. 5's weights of the projections; else None.
        spread: (), standard deviation over nodes of the norm of f(Y), or of Y if shallow; known
            of all nodes only.
    """

    source: Tensor
    target: Tensor
    scale: Tensor | None = None
    mixture: Tensor | None = None
    spread: Tensor | None = None

    def pair_scores(self, sources: Tensor, targets: Tensor) -> Tensor:
        """Return g of each pair of positions: (p,)."""
        source, target = self.scaled_source, self.target
        if self.mixture is None and source.device.type == "cpu":
            scores: Tensor = _PairProducts.apply(source, target, sources, targets)  # type: ignore[no-untyped-call]
            return scores
        products = source.index_select(0, sources) * target.index_select(0, targets)
        if self.mixture is None:
            return products.sum(dim=-1)
        parts = products.view(len(products), len(self.mixture), -1).sum(dim=-1)  # (p, h)
        return F.relu(parts) @ self.mixture

    @property
    def scaled_source(self) -> Tensor:
        """Source vectors of which, with `target`, scores are inner products."""
        return self.source if self.scale is None else self.source * self.scale

    @staticmethod
    def join(parts: Sequence[Sides], weights: Sequence[float]) -> Sides:
        """Return sides that score the weighted sum of what several score."""
        source, target = (
            torch.cat([getattr(part, side) for part in parts], dim=1)
            for side in ("source", "target")
        )
        weighted = [
            weight * (torch.ones_like(part.source[0]) if part.scale is None else part.scale)
            for part, weight in zip(parts, weights, strict=True)
        ]
        scale = torch.cat(weighted)
        if any(part.scale is None for part in parts):
            return Sides(source * scale, target)
        return Sides(source, target, scale)

    @staticmethod
    def of_terms(terms: Tensor, *, one_vector: bool) -> Sides:
        """Return sides that score a pair by the sum of a number of each of its ends."""
        ones = torch.ones_like(terms)
        if one_vector:
            # x + y = ((x + 1)(y + 1) - (x - 1)(y - 1)) / 2.
            both = torch.stack([terms + 1, terms - 1], dim=1)
            return Sides(both, both, scale=terms.new_tensor([0.5, -0.5]))
        return Sides(torch.stack([terms, ones], dim=1), torch.stack([ones, terms], dim=1))

    @staticmethod
    def of_source_terms(terms: Tensor) -> Sides:
        """Return sides that score a pair by a number of its source."""
        return Sides(terms[:, None], torch.ones_like(terms)[:, None])

    def by_projection(self, side: Tensor) -> Tensor:
        """Return one side as (h, k, b)."""
        assert self.mixture is not None
        return side.view(len(side), len(self.mixture), -1).transpose(0, 1)

    def by_kind(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the tensors there are by name: those with a row for each node, and the others."""
        rows = {"source": self.source, "target": self.target}
        others = {"scale": self.scale, "mixture": self.mixture, "spread": self.spread}
        return rows, {name: tensor for name, tensor in others.items() if tensor is not None}


class _PairProducts(torch.autograd.Function):
    """Inner products of rows by a kernel, which copies none of them: several times faster."""

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, sources: Tensor, targets: Tensor
    ) -> Tensor:
        ctx.save_for_backward(source, target, sources, targets)
        arrays = (source.detach(), target.detach(), sources, targets)
        return torch.from_numpy(pair_products(*(part.contiguous().numpy() for part in arrays)))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        source, target, sources, targets = ctx.saved_tensors
        vectors = gradient, source.detach(), target.detach()
        arrays = (part.contiguous().numpy() for part in (*vectors, sources, targets))
        by_source, by_target = pair_product_gradients(*arrays)
        return torch.from_numpy(by_source), torch.from_numpy(by_target), None, None
