"""Cores and threads: how many there are, and who uses them."""

from __future__ import annotations

import os


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_per_worker(num_workers: int) -> int:
    """Return how many of the cores this process may use fall to each worker, at least one."""
    return max(1, num_cores() // num_workers)


def start_numba(threads: int | None = None) -> str:
    """Start at most `threads` numba threads without changing torch's; return numba's layer."""
    import numba
    import torch

    # When numba starts its threads it sets the number of OpenMP threads, which torch also reads.
    kept, own = torch.get_num_threads(), numba.get_num_threads()
    numba.set_num_threads(min(threads or own, own))
    torch.set_num_threads(kept)
    layer: str = numba.threading_layer()  # type: ignore[attr-defined]
    return layer


def spare_threads() -> int:
    """Return how many cores the torch threads of all workers on this machine leave free."""
    import torch

    # Two threads must not call into this layer at once.
    if start_numba() == "workqueue":
        return 0
    workers = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(0, num_cores() // workers - torch.get_num_threads())
