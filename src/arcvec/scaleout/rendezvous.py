"""A store of the workers' own, in which nothing is left of workers that died.

torchrun's agent keeps one store for all its attempts. There, workers that were started again would
find the addresses of those before them, and try to reach these; so they first agree on a prefix.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from uuid import uuid4

from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

_PAUSE = 0.02


def open_store(rank: int, count: int, patience: timedelta) -> Store:
    """Return a store that the workers of this attempt share with no others."""
    kept_by_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=rank == 0 and not kept_by_agent,
        timeout=patience,
    )
    number = _first_worker(store, count, patience) if rank == 0 else _other_worker(store, rank)
    return PrefixStore(f"arcvec-{number}", store)


def _first_worker(store: Store, count: int, patience: timedelta) -> int:
    """Number the attempt, and tell all others; those that died never say that they know."""
    number = store.add("arcvec-attempts", 1)
    end = time.monotonic() + patience.total_seconds()
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
        time.sleep(_PAUSE)
    return number


def _other_worker(store: Store, rank: int) -> int:
    """Return the number of the attempt, once the first worker has told it to this very process."""
    hello = uuid4().hex
    store.set(f"arcvec-hello-{rank}", hello)
    number = int(store.get(f"arcvec-welcome-{hello}"))
    store.add(f"arcvec-{number}-knows-{rank}", 1)
    return number
