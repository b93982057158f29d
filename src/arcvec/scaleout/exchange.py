"""Vectors on their way between workers, and their gradients on the way back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from arcvec.scaleout.batches import Route
from arcvec.scaleout.workers import Workers


def fetch(source: Tensor, target: Tensor, route: Route, workers: Workers) -> tuple[Tensor, Tensor]:
    """Return the target vectors asked of other workers, and the source vectors of the block.

    Args:
        source, target: (k, b) of the own nodes.

    Returns:
        (fetched, b) and (S, b), the latter in the order of the block.
    """
    fetched: tuple[Tensor, Tensor] = _Fetch.apply(source, target, route, workers)  # type: ignore[no-untyped-call]
    return fetched


def total(loss: Tensor, workers: Workers) -> Tensor:
    """Return the sum of all workers' losses; each sends its gradient into its own."""
    summed: Tensor = _Total.apply(loss, workers)  # type: ignore[no-untyped-call]
    return summed


class _Fetch(torch.autograd.Function):
    """One exchange there and one back: targets for each other worker, then the block's sources."""

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, route: Route, workers: Workers
    ) -> tuple[Tensor, Tensor]:
        ctx.route, ctx.workers, ctx.shape = route, workers, source.shape
        sent = target.index_select(0, _index(route.asked, target))
        asked = torch.split(sent, route.asked_counts)
        own = source.index_select(0, _index(route.block_own, source))
        fetched, block = _swap(asked, [own] * workers.count, own, route, workers, back=False)
        return fetched, block.index_select(0, _index(route.block_order, block))

    @staticmethod
    def backward(
        ctx: Any, by_fetched: Tensor, by_block: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:
        route, workers = ctx.route, ctx.workers
        by_owner = torch.empty_like(by_block)
        by_owner[_index(route.block_order, by_block)] = by_block
        blocks = torch.split(by_owner, route.block_counts)
        fetched = torch.split(by_fetched, route.fetched_counts)
        by_asked, parts = _swap(fetched, blocks, blocks[workers.rank], route, workers, back=True)
        by_source, by_target = by_fetched.new_zeros(ctx.shape), by_fetched.new_zeros(ctx.shape)
        by_target.index_add_(0, _index(route.asked, by_asked), by_asked)
        by_own = parts.view(workers.count, len(route.block_own), ctx.shape[1]).sum(dim=0)
        by_source.index_add_(0, _index(route.block_own, by_own), by_own)
        return by_source, by_target, None, None


def _swap(
    targets: Any, blocks: Any, own: Tensor, route: Route, workers: Workers, *, back: bool
) -> tuple[Tensor, Tensor]:
    """Exchange some rows of targets and some of the block's sources with each worker.

    Args:
        targets, blocks: what goes to each worker; the block's rows to itself are left out.
        own: the block's rows of this worker, which need not travel.

    Returns:
        the rows that came, of both kinds, worker after worker.
    """
    me, size = workers.rank, len(route.block_own)
    to, come = route.asked_counts, route.fetched_counts
    sizes_to = [size] * workers.count
    sizes_come = list(route.block_counts)
    if back:
        to, come, sizes_to, sizes_come = come, to, sizes_come, sizes_to
    parts = []
    for peer, (rows, block) in enumerate(zip(targets, blocks, strict=True)):
        parts += [rows] if peer == me else [rows, block]
    sizes_to[me] = sizes_come[me] = 0
    got = workers.exchange(
        torch.cat(parts),
        [a + b for a, b in zip(to, sizes_to, strict=True)],
        [a + b for a, b in zip(come, sizes_come, strict=True)],
        "gradients of vectors" if back else "vectors",
    )
    cuts = [count for pair in zip(come, sizes_come, strict=True) for count in pair]
    pieces = torch.split(got, cuts)
    came = list(pieces[1::2])
    came[me] = own
    return torch.cat(pieces[::2]), torch.cat(came)


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, workers: Workers) -> Tensor:
        return workers.sum(loss, "loss")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


def _index(positions: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(positions).to(like.device)
