"""The graph likelihood: its sampled form (Eq. 12), and Eq. 8 itself by blocks of non-edges.

Losses are means. `count` is what a mean is over, where one worker has only a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from arcvec.model.sides import Sides
from arcvec.sampling.batches import Batch, Block
from arcvec.sampling.settings import NegativeSettings

_ROWS_FOR_VALUE = 8
_ROWS_AT_ONCE = 128


@dataclass(frozen=True)
class Objective:
    """What training minimises, as a function of a batch and the vectors of its nodes.

    Attributes:
        reversed_label: how far a reversed one-way edge counts as an edge, from 0 to 1.
    """

    negatives: NegativeSettings
    reversed_label: float

    def loss(self, sides: Sides, batch: Batch, output_l2: float = 0.0) -> Tensor:
        """Return this worker's part of the loss of a batch.

        Args:
            sides: of `batch.nodes`, followed by those that other workers sent.
            output_l2: weight of the squared norms of the vectors.
        """
        loss = self.likelihood(sides, batch)
        if output_l2:
            own = (side[: len(batch.nodes)] for side in (sides.scaled_source, sides.target))
            by_source, by_target = (
                side.square().sum(dim=1).sum() / batch.counts.nodes for side in own
            )
            loss = loss + output_l2 * (by_source + by_target)
        return loss

    def likelihood(self, sides: Sides, batch: Batch) -> Tensor:
        """Return the loss of a batch but for the penalty on the vectors."""
        counts = batch.counts

        def at(positions: NDArray[np.int64]) -> Tensor:
            return torch.from_numpy(positions).to(sides.source.device)

        positive = sides.pair_scores(at(batch.sources), at(batch.targets))
        if batch.negatives is not None:
            places = at(batch.negatives)  # (B, K)
            sources = at(batch.sources).repeat_interleave(places.shape[1])
            negative = sides.pair_scores(sources, places.clamp_min(0).ravel())
            scores = positive, negative.view_as(places)
            loss = sampled_likelihood_loss(*scores, places >= 0, counts.pairs)
        else:
            assert batch.block is not None
            block = self._block_loss(sides, batch.block, counts.cells)
            loss = soft_label_loss(positive, 1.0, counts.pairs) + self.negatives.weight * block
        if batch.reversed_sources.size:
            turned = sides.pair_scores(at(batch.reversed_sources), at(batch.reversed_targets))
            turned_loss = soft_label_loss(turned, self.reversed_label, counts.reversed_edges)
            loss = loss + self.negatives.reversed_weight * turned_loss
        return loss

    @staticmethod
    def _block_loss(sides: Sides, block: Block, count: int) -> Tensor:
        parts = (block.sources, block.targets, block.skipped_rows, block.skipped_columns)
        device = sides.source.device
        sources, targets, rows, columns = (torch.from_numpy(part).to(device) for part in parts)
        source = sides.scaled_source.index_select(0, sources)
        target = sides.target.index_select(0, targets)
        if sides.mixture is None:
            return block_loss(source, target, rows, columns, count)
        parts_of = (sides.by_projection(source), sides.by_projection(target), sides.mixture)
        return mixture_block_loss(*parts_of, rows, columns, count)


def sampled_likelihood_loss(
    positive: Tensor, negative: Tensor, exists: Tensor, count: int | None = None
) -> Tensor:
    """Return the negated objective of the paper's Eq. 12, averaged over the batch.

    Args:
        positive: (B,) scores g(u, v) of pairs seen in walks.
        negative: (B, K) scores g(u, v-) of non-edges of the same sources.
        exists: (B, K) bool, false where a source has fewer than K negatives.
    """
    # log(1 - sigmoid(x)) = logsigmoid(-x), which stays finite for large scores.
    negatives = torch.where(exists, F.logsigmoid(-negative), 0.0).sum(dim=1)
    return -(F.logsigmoid(positive) + negatives).sum() / (count or positive.numel())


def block_loss(
    source: Tensor,
    target: Tensor,
    skipped_rows: Tensor,
    skipped_columns: Tensor,
    count: int | None = None,
) -> Tensor:
    """Return the mean of -log(1 - sigmoid(g)) over a block of pairs, skipped cells left out.

    Args:
        source: (m, b) source vectors; target: (n, b) target vectors.
        skipped_rows, skipped_columns: (c,) cells that are not negatives.
    """
    cells = len(source) * len(target) - len(skipped_rows)
    skipped = skipped_rows, skipped_columns
    loss: Tensor = _BlockLoss.apply(source, target, *skipped, count or max(1, cells))  # type: ignore[no-untyped-call]
    return loss


class _BlockLoss(torch.autograd.Function):
    """A matmul, a sigmoid in place, two matmuls, by a few rows at a time, which stay in the cache.

    The gradient is exact. The value is only reported, so that some of the rows are enough.
    """

    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        skipped_rows: Tensor,
        skipped_columns: Tensor,
        count: int,
    ) -> Tensor:
        num_rows, num_columns = len(source), len(target)
        target_columns = target.T.contiguous()
        buffer = source.new_empty(min(_ROWS_AT_ONCE, num_rows), num_columns)
        by_source, by_target = torch.empty_like(source), torch.zeros_like(target_columns)
        stride = max(1, num_rows // _ROWS_FOR_VALUE)
        total, counted = source.new_zeros(()), 0
        firsts = torch.arange(0, num_rows + _ROWS_AT_ONCE, _ROWS_AT_ONCE, device=source.device)
        cuts = torch.searchsorted(skipped_rows, firsts).tolist()
        for i, first in enumerate(firsts[:-1].tolist()):
            rows = source[first : first + _ROWS_AT_ONCE]
            skipped = slice(cuts[i], cuts[i + 1])
            cells = (skipped_rows[skipped] - first, skipped_columns[skipped])
            scores = torch.mm(rows, target_columns, out=buffer[: len(rows)])
            # Skipped cells get a probability, and a loss, of 0.
            scores[cells] = -torch.inf
            reported = scores[-first % stride :: stride]
            total += F.softplus(reported).sum()
            counted += int(torch.isfinite(reported).sum())
            probabilities = scores.sigmoid_()
            # Of few columns, a transposed matrix is multiplied three times as fast.
            torch.mm(probabilities, target_columns.T, out=by_source[first : first + len(rows)])
            by_target.addmm_(rows.T, probabilities)
        ctx.save_for_backward(by_source / count, by_target.T / count)
        share = (num_rows * num_columns - skipped_rows.numel()) / count
        return total / max(1, counted) * share

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        by_source, by_target = ctx.saved_tensors
        return gradient * by_source, gradient * by_target, None, None, None


def mixture_block_loss(
    source: Tensor,
    target: Tensor,
    mixture: Tensor,
    skipped_rows: Tensor,
    skipped_columns: Tensor,
    count: int | None = None,
) -> Tensor:
    """Return `block_loss` of the scores of Eq. 5, left to autograd.

    Args:
        source: (h, m, b); target: (h, n, b); mixture: (h,) weights of the projections.
    """
    scores = torch.einsum("hmn,h->mn", F.relu(source @ target.transpose(1, 2)), mixture)
    counts = torch.ones_like(scores)
    counts[skipped_rows, skipped_columns] = 0.0
    return (F.softplus(scores) * counts).sum() / (count or counts.sum().clamp_min(1))


def soft_label_loss(scores: Tensor, label: float, count: int | None = None) -> Tensor:
    """Return the mean cross-entropy of scores against one label in [0, 1]; 0 of no scores."""
    if scores.numel() == 0:
        return scores.sum()
    losses = label * F.softplus(-scores) + (1 - label) * F.softplus(scores)
    return losses.sum() / (count or scores.numel())
