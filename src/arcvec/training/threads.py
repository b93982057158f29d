"""The threads of torch and of compiled kernels, and who has a core."""

from __future__ import annotations

import os

import numba
import torch

from arcvec.cores import num_cores


def start_numba(threads: int | None = None) -> str:
    """Start numba's threads, and let torch keep its own.

    Args:
        threads: that numba may use, if it has that many.

    Returns:
        what numba's threads are made by.
    """
    # When numba starts its threads it tells OpenMP their number, and torch would take that up.
    kept, own = torch.get_num_threads(), numba.get_num_threads()
    numba.set_num_threads(min(threads or own, own))
    torch.set_num_threads(kept)
    layer: str = numba.threading_layer()  # type: ignore[attr-defined]
    return layer


def spare_threads() -> int:
    """Return how many threads may work beside torch's, those of all workers on this machine."""
    # The only kind of threads that must not be asked for by two at once.
    if start_numba() == "workqueue":
        return 0
    workers = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(0, num_cores() // workers - torch.get_num_threads())
