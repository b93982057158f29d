"""Workers on this machine, started as torchrun starts them, and started again when one dies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arcvec.cores import threads_per_worker

RESTARTS = 3
LAST_WORD = "ARCVEC_LAST_WORD"
"""Environment variable: a file for the exit code of all workers, where starting again is vain."""
# Seconds that workers have for a checkpoint after Ctrl-C, before they are killed.
_SECONDS_TO_STOP = "300"


def run_workers(count: int, arguments: Sequence[str]) -> int:
    """Run `arcvec` with these arguments on `count` workers of this machine.

    Returns:
        the exit code: 0, or that of the error which one of the workers has told about.
    """
    # What goes wrong is told by the workers, in a line. Read when torch is imported.
    os.environ.setdefault("LOGLEVEL", "CRITICAL")
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    os.environ.setdefault("OMP_NUM_THREADS", str(threads_per_worker(count)))
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", _SECONDS_TO_STOP)
    options = ["--standalone", f"--nproc-per-node={count}", f"--max-restarts={RESTARTS}"]
    command = run.get_args_parser().parse_args([*options, "-m", "arcvec", *arguments])
    with tempfile.TemporaryDirectory(prefix="arcvec-") as folder:
        last_word = Path(folder) / "exit-code"
        os.environ[LAST_WORD] = str(last_word)
        try:
            run.run(command)  # type: ignore[no-untyped-call]
        except SignalException as signal:
            return 128 + int(signal.sigval)
        except ChildFailedError:
            return 1
        return int(last_word.read_text()) if last_word.exists() else 0
