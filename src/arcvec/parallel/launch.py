"""Workers on this machine: started as torchrun starts them, restarted when one dies, and ended."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.parallel.threads import threads_per_worker

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

MAX_RESTARTS = 3
# Environment variable: where workers write their exit code if a restart would not help.
EXIT_CODE_FILE = "ARCVEC_EXIT_CODE_FILE"
# Time that workers have for a checkpoint after Ctrl-C, before they are killed.
_SHUTDOWN_SECONDS = "300"
_SECONDS_FOR_A_CAUSE = 5.0
_WORDS_OF_A_LOST_PEER = ("connection", "gloo", "nccl", "broken pipe", "socket", "recv", "peer")


def is_worker() -> bool:
    """Return whether torchrun, or its like, started this process as a worker."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def run_workers(count: int, arguments: Sequence[str]) -> int:
    """Run `arcvec` on `count` workers of this machine; return the exit code of all."""
    # Workers report their errors in a line; torch reads this when it is imported.
    os.environ.setdefault("LOGLEVEL", "CRITICAL")
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    os.environ.setdefault("OMP_NUM_THREADS", str(threads_per_worker(count)))
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", _SHUTDOWN_SECONDS)
    options = ["--standalone", f"--nproc-per-node={count}", f"--max-restarts={MAX_RESTARTS}"]
    command = run.get_args_parser().parse_args([*options, "-m", "arcvec", *arguments])
    with tempfile.TemporaryDirectory(prefix="arcvec-") as folder:
        exit_code = Path(folder) / "exit-code"
        os.environ[EXIT_CODE_FILE] = str(exit_code)
        try:
            run.run(command)  # type: ignore[no-untyped-call]
        except SignalException as signal:
            return 128 + int(signal.sigval)
        except ChildFailedError:
            return 1
        return int(exit_code.read_text()) if exit_code.exists() else 0


def restart_count() -> int:
    """Return how often torchrun has restarted the workers."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def final_exit_code(code: int) -> int:
    """Return an exit code that prevents restarts; `run_workers` reads the true one from a file."""
    if EXIT_CODE_FILE not in os.environ:
        return code
    Path(os.environ[EXIT_CODE_FILE]).write_text(str(code))
    return 0


def means_lost_worker(error: BaseException) -> bool:
    """Return whether an error only says that another worker no longer answers."""
    import torch.distributed as dist

    text = str(error).lower()
    known = isinstance(error, RuntimeError) and any(w in text for w in _WORDS_OF_A_LOST_PEER)
    return known or isinstance(error, dist.DistBackendError | dist.DistNetworkError)


def is_first_failure(store: Store) -> bool:
    """Record that this worker has failed; return whether none has before."""
    try:
        return bool(store.add("failed", 1) == 1)
    except RuntimeError:
        return True  # the store is gone with its worker


def another_failed(store: Store) -> bool:
    """Return whether another worker records a failure of its own within seconds."""
    end = time.monotonic() + _SECONDS_FOR_A_CAUSE
    with suppress(RuntimeError):  # the store is gone with its worker
        while time.monotonic() < end:
            if store.add("failed", 0):
                return True
            time.sleep(0.1)
    return False
