"""The command line: one subcommand per station of the data; each parses, calls, prints."""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping, Sequence

import cyclopts
from cyclopts import App, Parameter

from arcvec import __version__
from arcvec.cli.errors import describe_error, describe_usage_error, fail
from arcvec.console import show_log_as_notes

COMMANDS = {
    "demo": (
        "demo",
        "Learn the import graph of Python's standard library, end to end, in under a minute.",
    ),
    "datasets": (
        "datasets",
        "List the graphs that papers measure on, or put some of them into a folder.",
    ),
    "ingest": (
        "graphs",
        "Read an edge list into a graph folder, which later commands open at once.",
    ),
    "split": (
        "graphs",
        "Cut the edges into train and test, with negatives, by the paper's protocol.",
    ),
    "fit": ("fit", "Learn the vectors of a graph and write them to a result folder."),
    "add": (
        "add",
        "Give vectors to new nodes by their edges to known ones, without training again.",
    ),
    "evaluate": ("results", "Measure link prediction on the test edges of a split."),
    "calibrate": (
        "calibrate",
        "Fit how scores become probabilities, for `score` and `recommend` with --probability.",
    ),
    "score": ("results", "Score the pairs of nodes in a file, in their order."),
    "recommend": ("recommend", "Name the best new edges of some nodes, or of all."),
    "index": (
        "index",
        "Build the index that `recommend --approximate` uses, and keep it in the result folder.",
    ),
    "explain": ("explain", "Say where an edge ranks, and which known edges are most like it."),
    "export": ("export", "Write the vectors as Parquet, word2vec text, safetensors or .npy files."),
    "plot": ("plot", "Draw the two spaces of a result, or the course of its training."),
    "report": (
        "report",
        "Write a result as one HTML page: graph, settings, training, test numbers, "
        "recommendations.",
    ),
    "explore": (
        "explore",
        "Show both spaces of a result in a page: search, click, see known edges and predictions.",
    ),
    "serve": (
        "serve",
        "Answer questions about a result over HTTP: /v1/score, /v1/recommend, /v1/nodes.",
    ),
    "experiment": (
        "experiment",
        "Run a grid of datasets, methods, dims and seeds, and make its tables; "
        "goes on where it was.",
    ),
    "doctor": (
        "doctor",
        "Tell versions, threads and folders, and check that this installation computes right.",
    ),
}
"""Command -> its module, and the first line of what it says about itself.

A command is imported when it is called; the list of all commands takes these lines instead.
"""


def make_app(*, listing: bool = False) -> App:
    """Return the command line.

    Args:
        listing: only to list the commands: nothing of theirs is imported.
    """
    app = App(
        name="arcvec",
        help="Learn a source and a target vector for every node of a graph; "
        "predict its next edges.",
        # To show Markdown takes imports of its own, which a list of commands can do without.
        help_format="plaintext" if listing else None,
        version=__version__,
        default_parameter=Parameter(negative_none=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for name, (module, summary) in COMMANDS.items():
        shown = summary.replace("`", "") if listing else None
        app.command(f"arcvec.cli.{module}:{name}", help=shown)
    return app


app = make_app()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors of the user become one line and a non-zero exit code."""
    _tell_about_threads(os.environ)
    show_log_as_notes()
    given = sys.argv[1:] if arguments is None else list(arguments)
    called = make_app(listing=True) if given in ([], ["--help"], ["-h"]) else app
    try:
        called(given, exit_on_error=False, print_error=False)
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


def _tell_about_threads(environment: MutableMapping[str, str]) -> None:
    """Say what torch and numba read when they are first imported."""
    # Threads that wait for work soon sleep instead of spinning: as fast on a quiet machine, and
    # much faster on a busy one.
    environment.setdefault("GOMP_SPINCOUNT", "10000")
    # Numba asks for threads of its own number, and torch would take that up in place of this one.
    asked = environment.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) and "numba" not in sys.modules:
        environment.setdefault("NUMBA_NUM_THREADS", asked)
