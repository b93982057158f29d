"""Vectors on their way between workers, and their gradients on the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Route:
    """Which vectors each worker sends to each other one.

    Attributes:
        targets: positions of own nodes whose target vectors go to each worker.
        sources: positions of own nodes whose source vectors go to all other workers.
        fetched_targets, fetched_sources: vectors that come from each worker; none from itself.
    """

    targets: list[Positions]
    sources: Positions
    fetched_targets: list[int]
    fetched_sources: list[int]


def route_to(
    targets: NDArray[np.int32], partition: Partition, workers: Alone
) -> tuple[Positions, Route]:
    """Return the positions of targets, where all own nodes come first, and the route they need."""
    is_own = partition.owners(targets) == workers.rank
    foreign = np.unique(targets[~is_own])
    fetched = partition.split(foreign, foreign)
    asked = [partition.rows(part) for part in workers.exchange(fetched)]
    positions = partition.rows(targets)
    order = np.concatenate(fetched)
    ascending = np.argsort(order)
    found = ascending[np.searchsorted(order, targets[~is_own], sorter=ascending)]
    positions[~is_own] = partition.num_rows(workers.rank) + found
    none = [0] * workers.count
    return positions, Route(asked, np.empty(0, dtype=np.int64), list(map(len, fetched)), none)


def fetch(source: Tensor, target: Tensor, route: Route, workers: Alone) -> tuple[Tensor, Tensor]:
    """Return source and target vectors of the own nodes, followed by those of other workers."""
    if workers.count == 1:
        return source, target
    fetched = _Fetch.apply(source, target, route, workers)  # type: ignore[no-untyped-call]
    return torch.cat([source, fetched[0]]), torch.cat([target, fetched[1]])


class _Fetch(torch.autograd.Function):
    """One exchange there and one back, in which both kinds of vectors travel together."""

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, route: Route, workers: Alone
    ) -> tuple[Tensor, Tensor]:
        ctx.route, ctx.workers, ctx.shape = route, workers, source.shape
        own = source.index_select(0, _index(route.sources, source))
        parts = []
        for peer, positions in enumerate(route.targets):
            asked = target.index_select(0, _index(positions, target))
            parts.append(asked if peer == workers.rank else torch.cat([own, asked]))
        return _exchange(parts, route.fetched_sources, route.fetched_targets, workers)

    @staticmethod
    def backward(
        ctx: Any, by_sources: Tensor, by_targets: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:
        route, workers = ctx.route, ctx.workers
        sources = torch.split(by_sources, route.fetched_sources)
        targets = torch.split(by_targets, route.fetched_targets)
        parts = [torch.cat(pair) for pair in zip(sources, targets, strict=True)]
        num_sources = [len(route.sources)] * workers.count
        num_sources[workers.rank] = 0
        num_targets = [len(positions) for positions in route.targets]
        by_own, by_asked = _exchange(parts, num_sources, num_targets, workers)
        by_source, by_target = by_own.new_zeros(ctx.shape), by_own.new_zeros(ctx.shape)
        positions = torch.from_numpy(np.tile(route.sources, workers.count - 1)).to(by_own.device)
        by_source.index_add_(0, positions, by_own)
        by_target.index_add_(0, _index(np.concatenate(route.targets), by_asked), by_asked)
        return by_source, by_target, None, None


def _exchange(
    parts: Sequence[Tensor], sources: Sequence[int], targets: Sequence[int], workers: Alone
) -> tuple[Tensor, Tensor]:
    """Return the source and the target rows that came, given how many come from each worker."""
    sizes = [a + b for a, b in zip(sources, targets, strict=True)]
    came = workers.exchange(parts, sizes)
    pieces = [torch.split(part, [a, len(part) - a]) for a, part in zip(sources, came, strict=True)]
    first, second = zip(*pieces, strict=True)
    return torch.cat(first), torch.cat(second)


def _index(positions: Positions, like: Tensor) -> Tensor:
    return torch.from_numpy(positions).to(like.device)
