"""The cores there are to use."""

from __future__ import annotations

import os


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_per_worker(num_workers: int) -> int:
    """Return how many of the cores this process may use fall to each worker, at least one."""
    return max(1, num_cores() // num_workers)
