"""The command line: one subcommand per station of the data; each parses, calls, prints."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Sequence
from importlib.resources import files

import cyclopts
from cyclopts import App, Parameter

from arcvec import __version__
from arcvec.view.console import escape, messages, show_log_as_notes

_MODULES = {
    "graphs": ("datasets", "ingest", "split"),
    "fit": ("fit",),
    "extend": ("add", "calibrate", "index", "rerank"),
    "evaluate": ("evaluate", "plot", "report"),
    "results": ("score", "recommend", "explain", "export"),
    "serve": ("serve", "explore"),
    "lab": ("demo", "experiment", "doctor"),
}
COMMANDS = {name: module for module, names in _MODULES.items() for name in names}
"""Command -> its module, which is imported when the command is called."""


def make_app(*, listing: bool = False) -> App:
    """Return the command line; a `listing` only names the commands, and imports none of them."""
    app = App(
        name="arcvec",
        help="Learn a source and a target vector for every node of a graph; "
        "predict its next edges.",
        # Markdown needs imports that a list of commands can do without.
        help_format="plaintext" if listing else None,
        version=__version__,
        default_parameter=Parameter(negative_none=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for name, module in COMMANDS.items():
        shown = summary(name).replace("`", "") if listing else None
        app.command(f"arcvec.cli.{module}:{name}", help=shown)
    return app


def summary(command: str) -> str:
    """Return the first line of a command's docstring, without importing its module."""
    source = files("arcvec.cli").joinpath(f"{COMMANDS[command]}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == command:
            return (ast.get_docstring(node) or "").split("\n")[0]
    raise LookupError(command)


app = make_app()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors of the user become one line and a non-zero exit code."""
    _set_thread_defaults()
    show_log_as_notes()
    given = sys.argv[1:] if arguments is None else list(arguments)
    called = make_app(listing=True) if given in ([], ["--help"], ["-h"]) else app
    try:
        called(given, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        sys.exit(fail(_describe_usage_error(error), code=2))
    except KeyboardInterrupt:
        sys.exit(fail("interrupted", code=130))
    except BrokenPipeError:
        # The reader of the pipe (head, less) has closed it; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("ARCVEC_TRACEBACK"):
            raise
        sys.exit(fail(describe_error(error), code=1))


def _set_thread_defaults() -> None:
    """Set the variables that torch and numba read when they are first imported."""
    # Idle threads soon sleep instead of spinning: as fast on a quiet machine, and much faster on a
    # busy one.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # Numba sets the number of OpenMP threads, and torch would use numba's instead of this one.
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) and "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", asked)


def fail(message: str, *, code: int) -> int:
    """Print what went wrong and return the exit code."""
    messages.print(f"[bold red]arcvec:[/] {escape(message)}", soft_wrap=True)
    return code


def describe_error(error: Exception) -> str:
    """Return one line about an error of the user, or a bug."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(text.split())
    if isinstance(error, (ValueError, LookupError, OSError, FloatingPointError, ImportError)):
        return text
    kind = type(error).__name__
    return f"unexpected {kind}: {text}; set ARCVEC_TRACEBACK=1 to see where"


def _describe_usage_error(error: cyclopts.CycloptsError) -> str:
    """Return one line about flags that could not be parsed."""
    # Imported here, because `arcvec --help` needs none of them.
    import pydantic

    from arcvec.settings import describe_validation_error
    from arcvec.training.edge_projection import EdgeProjection

    cause = error.__cause__ or error.__context__
    if isinstance(cause, pydantic.ValidationError):
        return describe_validation_error(cause, EdgeProjection)
    return " ".join(str(error).split())
