"""What several commands share: common flags, how a graph is opened, and how workers are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from pydantic import Field

from arcvec.cli.app import describe_error, fail
from arcvec.graph.graph import Graph
from arcvec.ingest.ingest import open_graph
from arcvec.ingest.layout import EdgeFileSettings
from arcvec.parallel import launch
from arcvec.parallel.alone import Alone
from arcvec.view.console import escape, messages, note


class EdgeFileFlags(EdgeFileSettings):
    """The flags for reading edge files."""

    directed: Annotated[bool, Parameter(negative="--undirected")] = Field(
        True, description="edges have a direction, or none"
    )


EdgeFiles = Annotated[EdgeFileFlags, Parameter(name="*", group="Edge files")]
Result = Annotated[Path, Parameter(help="result folder.")]
Out = Annotated[Path, Parameter(name=["--out", "-o"])]
OptionalOut = Annotated[Path | None, Parameter(name=["--out", "-o"])]
Overwrite = Annotated[bool, Parameter(help="replace the output if it exists.")]
Quiet = Annotated[bool, Parameter(help="show no progress.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON.")]
K = Annotated[int, Parameter(name=["-k", "--k"])]
Nodes = Annotated[tuple[str, ...], Parameter(negative_iterable=())]
NumWorkers = Annotated[
    int | None,
    Parameter(
        validator=Number(gte=1),
        help="processes of this machine that share the work, each with its part of the nodes; on "
        "several machines, start the command with torchrun instead.",
    ),
]
"""None where the command is for one process, or was started by torchrun."""


def read_graph(path: Path, files: EdgeFileSettings) -> Graph:
    """Return the graph at a path, with a status line while it is read."""
    with messages.status(escape(f"reading {path}")):
        return open_graph(path, files)


def is_shared(workers: int | None) -> bool:
    """Return whether many workers share the command: --workers was given, or torchrun is used."""
    return workers is not None or launch.is_worker()


@contextmanager
def joined_workers(asked: int | None, backend: str | None = None) -> Iterator[Alone]:
    """Yield this process: alone, or as one of the workers that share the command.

    Where workers are asked for and this is none of them, they are started, and the process ends
    with their exit code. What goes wrong is reported once, by one of them.
    """
    if not is_shared(asked):
        yield Alone()
        return
    if not launch.is_worker():
        raise SystemExit(launch.run_workers(asked or 1, sys.argv[1:]))
    # torch takes a second to import, and one process may do without it.
    from arcvec.parallel.workers import Workers

    messages.quiet = os.environ["RANK"] != "0"
    workers = Workers.join(backend)
    try:
        yield workers
        workers.leave()
    except SystemExit as exit:
        launch.is_first_failure(workers.store)
        _exit_now(launch.final_exit_code(int(exit.code or 0)))
    except Exception as error:
        if os.environ.get("ARCVEC_TRACEBACK"):
            raise
        lost = launch.means_lost_worker(error)
        reported = lost and launch.another_failed(workers.store)
        if not reported and launch.is_first_failure(workers.store):
            messages.quiet = False
            said = describe_error(error)
            fail(f"lost another worker: {said}" if lost else said, code=1)
        _exit_now(1 if lost and not reported else launch.final_exit_code(1))


def note_restart(start: str) -> None:
    """Report that torchrun has restarted the workers, if it has, and where they start."""
    if launch.restart_count():
        note(f"a worker was lost: all workers were started again, {start}")


def _exit_now(code: int) -> None:
    """End the process: an orderly end would wait for workers that are gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
