"""The workers that share a task, and what they tell each other."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor
from torch._C._distributed_c10d import Store

from arcvec.scaleout.links import Links
from arcvec.scaleout.rendezvous import open_store
from arcvec.training.threads import start_numba

T = TypeVar("T")

# Longer than any worker is at work on its own: one that died is noticed at once, by its connection.
_PATIENCE = timedelta(hours=2)


@dataclass
class Traffic:
    """Bytes that this worker sent to others, by what for; of numbers alone, without headers."""

    bytes_by_purpose: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, purpose: str, size: float) -> None:
        """Count bytes; two threads may."""
        with self._lock:
            self.bytes_by_purpose[purpose] = self.bytes_by_purpose.get(purpose, 0.0) + size

    @property
    def total(self) -> float:
        """Bytes for all purposes."""
        return sum(self.bytes_by_purpose.values())


class Workers:
    """One worker among all: every method is called by all of them, in the same order.

    Args:
        store: where workers leave what others are to find.
        name: of these among several sets of connections between the same workers.
        traffic: to add to that of another set.

    Attributes:
        rank: number of this worker, from 0 on.
        count: of all workers.
    """

    def __init__(self, store: Store, name: str = "steps", traffic: Traffic | None = None) -> None:
        self.store = store
        self.rank = dist.get_rank()
        self.count = dist.get_world_size()
        self.traffic = traffic or Traffic()
        self._links = Links(store, name, self.rank, self.count, _PATIENCE)

    @classmethod
    def join(cls) -> Workers:
        """Return the workers that torchrun started, as soon as all are there."""
        # Two ways at once: numbers on GPUs go by nccl, what torch has to say of others by gloo.
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        store = open_store(rank, count, _PATIENCE)
        dist.init_process_group(
            backend, timeout=_PATIENCE, store=store, rank=rank, world_size=count
        )
        # As many for the kernels as torchrun, or the user, has left each worker.
        start_numba(torch.get_num_threads())
        return cls(store)

    @cached_property
    def beside(self) -> Workers:
        """The same workers over connections of their own, for a second thread of each."""
        return Workers(self.store, "beside", self.traffic)

    def leave(self) -> None:
        """Close the connections to the others, in order."""
        self.wait_for_all()
        self._links.close()
        dist.destroy_process_group()

    def __deepcopy__(self, memo: dict[int, Any]) -> Workers:
        return self

    @property
    def is_first(self) -> bool:
        """Whether this worker does what one alone must do: print, rename, clean up."""
        return self.rank == 0

    def share(self, count: int) -> range:
        """Return which of `count` things are this worker's; ranges differ by one at most."""
        first, end = (count * (self.rank + i) // self.count for i in (0, 1))
        return range(first, end)

    def sum(self, values: Tensor, purpose: str = "other") -> Tensor:
        """Return the sum over all workers, the same to the last bit on each of them."""
        total = values.detach().clone(memory_format=torch.contiguous_format)
        if self.count == 1:
            return total
        self.traffic.add(purpose, 2 * (self.count - 1) / self.count * _bytes(total))
        if total.is_cuda:
            dist.all_reduce(total)
            return total
        if self.count == 2:
            return self._swap_with_all(torch.stack([total, total])).sum(0, dtype=total.dtype)
        # Each worker sums its part of the numbers and sends it to all.
        parts = total.new_zeros(self.count, -(-total.numel() // self.count))
        parts.view(-1)[: total.numel()] = total.view(-1)
        own = self._swap_with_all(parts).sum(0, dtype=total.dtype)
        whole = self._swap_with_all(own.expand(self.count, -1).contiguous())
        return whole.view(-1)[: total.numel()].view_as(total)

    def _swap_with_all(self, parts: Tensor) -> Tensor:
        """Return the rows that workers have for this one, given a row for each of them."""
        got = torch.empty_like(parts)
        self._move(parts, got, [1] * self.count, [1] * self.count)
        return got

    def sum_array(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over all workers."""
        total: NDArray[Any] = self.sum(torch.from_numpy(np.ascontiguousarray(values))).numpy()
        return total

    def any(self, is_so: bool) -> bool:
        """Tell whether it is so for any of the workers."""
        return bool(self.sum(torch.tensor(int(is_so))).item())

    def wait_for_all(self) -> None:
        """Return when all workers are here."""
        self.any(False)

    def after_first(self, act: Callable[[], T]) -> T:
        """Return what `act` gives: the first worker does it before the others, who find it done."""
        found = [act()] if self.is_first else []
        self.wait_for_all()
        return found[0] if found else act()

    def in_step(self, items: Iterable[T]) -> Iterator[T]:
        """Yield this worker's items, however many, no faster than the others get theirs.

        So one that fails stops all of them at the next item, not when their work is done.
        """
        for item in items:
            self.any(True)
            yield item
        while self.any(False):
            pass

    def exchange(
        self, values: Tensor, sent: Sequence[int], received: Sequence[int], purpose: str
    ) -> Tensor:
        """Return the rows that all workers have for this one, in the order of their ranks.

        Args:
            values: rows for worker 0, then for worker 1, ...
            sent, received: how many rows go to, and come from, each.
        """
        values = values.contiguous()
        got = values.new_empty((sum(received), *values.shape[1:]))
        if values.is_cuda:
            dist.all_to_all_single(got, values, list(received), list(sent))
        else:
            self._move(values, got, sent, received)
        to_others = sum(sent) - sent[self.rank]
        self.traffic.add(purpose, to_others * _bytes(values) / max(1, len(values)))
        return got

    def _move(
        self, values: Tensor, got: Tensor, sent: Sequence[int], received: Sequence[int]
    ) -> None:
        """Send rows to each worker and fill in what comes from each."""
        out, into = torch.split(values, list(sent)), torch.split(got, list(received))
        into[self.rank].copy_(out[self.rank])
        self._links.exchange([_view(part) for part in out], [_view(part) for part in into])

    def exchange_counts(self, sent: Sequence[int], purpose: str = "ids") -> list[int]:
        """Return how many rows come from each worker, given how many go there."""
        ones = [1] * self.count
        counts = torch.tensor(list(sent), dtype=torch.int64)
        return [int(count) for count in self.exchange(counts, ones, ones, purpose)]

    def exchange_arrays(
        self, parts: Sequence[NDArray[Any]], purpose: str = "ids"
    ) -> list[NDArray[Any]]:
        """Return the arrays that all workers have for this one, given one for each of them."""
        sent = [len(part) for part in parts]
        received = self.exchange_counts(sent, purpose)
        values = torch.from_numpy(np.ascontiguousarray(np.concatenate(parts)))
        got = self.exchange(values, sent, received, purpose).numpy()
        return np.split(got, np.cumsum(received)[:-1])

    def gather(self, part: NDArray[Any], purpose: str = "other") -> list[NDArray[Any]]:
        """Return an array of each worker, of any length: all workers get all of them."""
        return self.exchange_arrays([part] * self.count, purpose)

    def agree(self, decide: Callable[[], Any]) -> Any:
        """Return what the first worker decides, any JSON value; others do not ask themselves."""
        # As JSON: torch's own way to send objects would unpickle what comes.
        text = json.dumps(decide()).encode() if self.is_first else b""
        size = self.sum(torch.tensor(len(text)))
        letters = torch.zeros(int(size), dtype=torch.uint8)
        if self.is_first:
            letters.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        letters = self.sum(letters)
        return json.loads(letters.numpy().tobytes())


def _bytes(values: Tensor) -> int:
    return values.numel() * values.element_size()


def _view(values: Tensor) -> memoryview:
    return values.numpy().reshape(-1).view(np.uint8).data
