"""What goes wrong, in one line of words and an exit code."""

from __future__ import annotations

import cyclopts

from arcvec.console import escape, messages


def fail(message: str, *, code: int) -> int:
    """Print what went wrong and return the exit code."""
    messages.print(f"[bold red]arcvec:[/] {escape(message)}", soft_wrap=True)
    return code


def describe_error(error: Exception) -> str:
    """Return one line about an error of the user, or of ours."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(text.split())
    if isinstance(error, (ValueError, LookupError, OSError, FloatingPointError, ImportError)):
        return text
    kind = type(error).__name__
    return f"unexpected {kind}: {text}; set ARCVEC_TRACEBACK=1 to see where"


def describe_usage_error(error: cyclopts.CycloptsError) -> str:
    """Return one line about flags that could not be understood."""
    # Here, because the list of commands needs none of them.
    import pydantic

    from arcvec.methods.edge_projection import EdgeProjection
    from arcvec.settings import describe_validation_error

    cause = error.__cause__ or error.__context__
    if isinstance(cause, pydantic.ValidationError):
        return describe_validation_error(cause, EdgeProjection)
    return " ".join(str(error).split())
