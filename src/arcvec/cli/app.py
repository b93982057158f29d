"""The command line: one subcommand per station of the data; each parses, calls, prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import cyclopts
from cyclopts import App, Parameter

from arcvec import __version__
from arcvec.cli.add import add
from arcvec.cli.calibrate import calibrate
from arcvec.cli.doctor import doctor
from arcvec.cli.errors import describe_error, describe_usage_error, fail
from arcvec.cli.experiment import experiment
from arcvec.cli.explain import explain
from arcvec.cli.explore import explore
from arcvec.cli.export import export
from arcvec.cli.fit import fit
from arcvec.cli.flags import Out
from arcvec.cli.graphs import ingest, split
from arcvec.cli.index import index
from arcvec.cli.plot import plot
from arcvec.cli.recommend import recommend
from arcvec.cli.report import report
from arcvec.cli.results import evaluate, score
from arcvec.cli.serve import serve
from arcvec.console import show_log_as_notes

app = App(
    name="arcvec",
    help="Learn a source and a target vector for every node of a graph; predict its next edges.",
    version=__version__,
    default_parameter=Parameter(negative_none=()),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


@app.command
def demo(*, out: Out = Path("arcvec-demo"), seed: int = 0) -> None:
    """Learn the import graph of Python's standard library, end to end, in under a minute.

    Args:
        out: folder for split, result and picture; that of an earlier demo is replaced.
        seed: decides every random choice.
    """
    from arcvec.demo import run_demo

    run_demo(out, seed)


COMMANDS = (
    *(ingest, split, fit, add),
    *(evaluate, calibrate, score, recommend, index, explain),
    *(export, plot, report, explore, serve, experiment, doctor),
)
for command in COMMANDS:
    app.command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors of the user become one line and a non-zero exit code."""
    # Threads that wait for work soon sleep instead of spinning: as fast on a quiet machine, and
    # much faster on a busy one. Read when torch and numba are first imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    show_log_as_notes()
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        sys.exit(fail(describe_usage_error(error), code=2))
    except KeyboardInterrupt:
        sys.exit(fail("interrupted", code=130))
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("ARCVEC_TRACEBACK"):
            raise
        sys.exit(fail(describe_error(error), code=1))
