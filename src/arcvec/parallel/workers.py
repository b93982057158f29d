"""Many processes that share a task, over torch.distributed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from arcvec.parallel.alone import Alone
from arcvec.parallel.threads import start_numba

T = TypeVar("T")

# Longer than any worker works on its own. A dead worker is noticed at once, by its connection.
_TIMEOUT = timedelta(hours=2)
_POLL_SECONDS = 0.02


class Workers(Alone):
    """One worker among all: every verb is called by all of them, in the same order."""

    def __init__(self, store: Store, group: dist.ProcessGroup | None = None) -> None:
        self.store, self._group = store, group
        self.rank, self.count = dist.get_rank(), dist.get_world_size()
        self._bytes_sent = 0.0

    @classmethod
    def join(cls, backend: str | None = None) -> Workers:
        """Return the workers that torchrun started, once all have joined."""
        usual = "gloo"
        if torch.cuda.is_available():
            usual = "cpu:gloo,cuda:nccl"
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        store = _open_store(rank, count)
        dist.init_process_group(
            backend or usual, timeout=_TIMEOUT, store=store, rank=rank, world_size=count
        )
        # Kernels get as many threads as torchrun, or the user, left each worker.
        start_numba(torch.get_num_threads())
        return cls(store)

    def leave(self) -> None:
        """Close the connections to the others, in order."""
        # The work is done. A peer that closes first, or dies now, must not fail this worker:
        # torchrun knows the exit code of each.
        with suppress(RuntimeError):
            self.wait()
            dist.destroy_process_group()

    @property
    def bytes_sent(self) -> float:  # type: ignore[override]
        """Bytes that this worker sent to others, by both of its threads."""
        beside = self.__dict__.get("beside")
        return self._bytes_sent + (beside.bytes_sent if beside else 0.0)

    @cached_property
    def beside(self) -> Workers:
        """The same workers over connections of their own, for a second thread of each."""
        return Workers(self.store, dist.new_group(timeout=_TIMEOUT))

    def share(self, count: int) -> range:
        """Return which of `count` items are this worker's; shares differ by one at most."""
        first, end = (count * (self.rank + i) // self.count for i in (0, 1))
        return range(first, end)

    def sum(self, values: T) -> T:
        """Return the sum over all workers, the same to the last bit on each of them."""
        total = _as_tensor(values).clone(memory_format=torch.contiguous_format)
        self._bytes_sent += 2 * (self.count - 1) / self.count * total.nbytes
        dist.all_reduce(total, group=self._group)
        summed: T = _like(values, total)
        return summed

    def exchange(self, parts: Sequence[T], received: Sequence[int] | None = None) -> list[T]:
        """Return what all workers have for this one, given what this one has for each of them."""
        tensors = [_as_tensor(part) for part in parts]
        sent = [len(tensor) for tensor in tensors]
        if received is None:
            counts = torch.tensor(sent), torch.empty(self.count, dtype=torch.int64)
            dist.all_to_all_single(counts[1], counts[0], group=self._group)
            received = counts[1].tolist()
        values = torch.cat(tensors)
        got = values.new_empty((sum(received), *values.shape[1:]))
        dist.all_to_all_single(got, values, list(received), sent, group=self._group)
        self._bytes_sent += values.nbytes - tensors[self.rank].nbytes
        return [_like(parts[0], part) for part in torch.split(got, list(received))]

    def gather(self, part: T) -> list[T]:
        """Return the arrays of all workers, which may differ in length."""
        return self.exchange([part] * self.count)

    def agree(self, decide: Callable[[], Any]) -> Any:
        """Return what the first worker decides, any JSON value; the others do not call it."""
        # JSON: torch's own way to send objects unpickles what comes.
        text = json.dumps(decide()).encode() if self.is_first else b""
        return json.loads(self.gather(np.frombuffer(text, dtype=np.uint8))[0].tobytes())

    def wait(self) -> None:
        """Return when all workers are here."""
        self._any(False)

    def after_first(self, act: Callable[[], T]) -> T:
        """Return what `act` returns; the first worker calls it before the others do."""
        found = [act()] if self.is_first else []
        self.wait()
        return found[0] if found else act()

    def in_step(self, items: Iterable[T]) -> Iterator[T]:
        """Yield this worker's items, no faster than the others get theirs."""
        for item in items:
            self._any(True)
            yield item
        while self._any(False):
            pass

    def _any(self, flag: bool) -> bool:
        """Return whether the flag of any worker is true."""
        return bool(self.sum(np.array([flag], dtype=np.int64))[0])


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach()
    # A copy where numpy says read-only, which torch warns about.
    return torch.from_numpy(np.require(values, requirements=["C", "W"]))


def _like(values: Any, tensor: Tensor) -> Any:
    return tensor if isinstance(values, Tensor) else tensor.numpy()


def _open_store(rank: int, count: int) -> Store:
    """Return a store that the workers of this attempt share with no others.

    torchrun's agent keeps one store for all its attempts. Workers that were started again would
    find the addresses of dead ones there, so they first agree on a prefix of their own.
    """
    is_master = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = TCPStore(address, port, is_master=is_master, timeout=_TIMEOUT)
    number = _number_attempt(store, count) if rank == 0 else _learn_attempt(store, rank)
    return PrefixStore(f"arcvec-{number}", store)


def _number_attempt(store: Store, count: int) -> int:
    """Number the attempt and send the number to all others; dead workers never confirm it."""
    number: int = store.add("arcvec-attempts", 1)
    end = time.monotonic() + _TIMEOUT.total_seconds()
    missing = set(range(1, count))
    while missing:
        for rank in list(missing):
            if store.add(f"arcvec-{number}-knows-{rank}", 0):
                missing.discard(rank)
            elif store.check([f"arcvec-hello-{rank}"]):
                hello = store.get(f"arcvec-hello-{rank}").decode()
                store.set(f"arcvec-welcome-{hello}", str(number))
        if time.monotonic() > end:
            raise TimeoutError(f"worker {min(missing)} of {count} did not come")
        time.sleep(_POLL_SECONDS)
    return number


def _learn_attempt(store: Store, rank: int) -> int:
    """Return the number of the attempt, once the first worker has sent it to this very process."""
    hello = uuid4().hex
    store.set(f"arcvec-hello-{rank}", hello)
    number = int(store.get(f"arcvec-welcome-{hello}"))
    store.add(f"arcvec-{number}-knows-{rank}", 1)
    return number
