"""What goes wrong on any worker is told once, and ends all of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch.distributed as dist
from torch._C._distributed_c10d import HashStore, Store

from arcvec.scaleout.launch import LAST_WORD
from arcvec.scaleout.links import LostWorkerError

_SECONDS_FOR_AN_ANSWER = 5.0
_WORDS_OF_A_LOST_PEER = ("connection", "gloo", "nccl", "broken pipe", "socket", "recv", "peer")


def tells_of_a_lost_worker(error: BaseException) -> bool:
    """Tell whether an error is only that another worker no longer answers."""
    text = str(error).lower()
    known = isinstance(error, RuntimeError) and any(w in text for w in _WORDS_OF_A_LOST_PEER)
    lost = LostWorkerError | dist.DistBackendError | dist.DistNetworkError
    return known or isinstance(error, lost)


class Failures:
    """A board, on which workers write that they have failed."""

    def __init__(self, board: Store | None) -> None:
        self._board = board or HashStore()

    def is_first(self) -> bool:
        """Write that this worker has failed; tell whether none has before."""
        try:
            return bool(self._board.add("failed", 1) == 1)
        except RuntimeError:
            return True  # nobody is left to ask

    def wait_for_cause(self) -> bool:
        """Tell whether another worker has failed for a reason of its own, within seconds."""
        end = time.monotonic() + _SECONDS_FOR_AN_ANSWER
        while time.monotonic() < end:
            try:
                if self._board.add("failed", 0):
                    return True
            except RuntimeError:
                return False
            time.sleep(0.1)
        return False


def restart_count() -> int:
    """Return how often torchrun has started the workers again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def final_exit_code(code: int) -> int:
    """Return what to exit with so that torchrun does not start the workers again in vain.

    `run_workers` is told the true code; started by torchrun itself, that is the exit code.
    """
    if LAST_WORD not in os.environ:
        return code
    Path(os.environ[LAST_WORD]).write_text(str(code))
    return 0
