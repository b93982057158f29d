"""Commands on many workers: how they are started, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from arcvec.cli.errors import describe_error, fail
from arcvec.console import messages, note

if TYPE_CHECKING:
    from arcvec.scaleout.workers import Workers

NumWorkers: TypeAlias = Annotated[int | None, Parameter(validator=Number(gte=1))]
"""The flag --workers; None where the command is for one process, or was started by torchrun."""


def is_shared(workers: int | None) -> bool:
    """Tell whether many workers share the command: it was asked for, or torchrun started it."""
    return workers is not None or is_worker()


def is_worker() -> bool:
    """Tell whether this process is one of the workers that torchrun, or its like, started."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def start_workers(count: int) -> int:
    """Run this very command on workers of this machine, and return their exit code."""
    from arcvec.scaleout.launch import run_workers

    return run_workers(count, sys.argv[1:])


@contextmanager
def one_of_many() -> Iterator[Workers]:
    """Yield this worker among all; what goes wrong is told once, by one of them."""
    from arcvec.scaleout.failure import Failures, final_exit_code, tells_of_a_lost_worker
    from arcvec.scaleout.workers import Workers

    messages.quiet = os.environ["RANK"] != "0"
    workers = Workers.join()
    failures = Failures(workers.store)
    try:
        yield workers
        workers.leave()
    except SystemExit as exit:
        failures.is_first()
        _leave_at_once(final_exit_code(int(exit.code or 0)))
    except Exception as error:
        if os.environ.get("ARCVEC_TRACEBACK"):
            raise
        if tells_of_a_lost_worker(error):
            if failures.wait_for_cause():
                _leave_at_once(final_exit_code(1))
            if failures.is_first():
                messages.quiet = False
                fail(f"lost another worker: {describe_error(error)}", code=1)
            _leave_at_once(1)
        if failures.is_first():
            messages.quiet = False
            fail(describe_error(error), code=1)
        _leave_at_once(final_exit_code(1))


def note_restart(begins: str) -> None:
    """Say that torchrun has started the workers again, if it has, and where they begin."""
    from arcvec.scaleout.failure import restart_count

    if restart_count():
        note(f"a worker was lost: all workers were started again, {begins}")


def _leave_at_once(code: int) -> None:
    """End the process: a proper farewell would wait for workers that are gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
