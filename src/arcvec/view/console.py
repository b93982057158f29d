"""Terminal output: progress, tables, notes."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich import progress as bars
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.markup import escape as escape
from rich.table import Table
from rich.text import Text

from arcvec.view.table_text import Bold
from arcvec.view.table_text import Table as TextTable

if TYPE_CHECKING:
    from arcvec.training.hooks import Progress

output = Console(highlight=False)  # results, on standard output
messages = Console(stderr=True, highlight=False)  # progress, notes and errors


def plain_print(text: str) -> None:
    """Print a line for machines: no colours, no wrapping."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Print a note beside the result."""
    messages.print(f"[dim]note:[/] {escape(text)}", soft_wrap=True)


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


_NOTE_HANDLER = _NoteHandler()


def show_log_as_notes() -> None:
    """Print what the library logs, from INFO on, as notes."""
    logger = logging.getLogger("arcvec")
    logger.addHandler(_NOTE_HANDLER)  # does nothing the second time
    logger.setLevel(logging.INFO)


_time_left = partial(bars.TimeRemainingColumn, compact=True)


@contextmanager
def _bars(*columns: str | bars.ProgressColumn, quiet: bool) -> Iterator[Callable[..., None]]:
    """Yield a function of a name, its total, how much is done, and fields: one bar per name.

    Nothing is shown before the first call: an error before it leaves no empty bar.
    """
    shown = ("{task.description}", bars.BarColumn(bar_width=24), *columns)
    progress = bars.Progress(*shown, console=messages, disable=quiet)
    tasks: dict[str, bars.TaskID] = {}

    def report(name: str, total: float | None, done: float | None = None, **fields: Any) -> None:
        if name not in tasks:
            tasks[name] = progress.add_task(**{"description": escape(name), **fields})
        progress.start()
        progress.update(tasks[name], total=total, completed=done, **fields)

    try:
        yield report
    finally:
        if progress.live.is_started:
            progress.stop()


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress of a training: bar, loss, speed, AUC, time left."""
    columns = ("loss {task.fields[loss]}", "{task.fields[speed]} pairs/s", "AUC {task.fields[auc]}")
    with _bars(bars.MofNCompleteColumn(), *columns, _time_left(), quiet=quiet) as show:
        last_step = 0

        def report(progress: Progress) -> None:
            nonlocal last_step
            last_step, auc, members = progress.step, progress.validation_auc, progress.members
            member = f" {progress.member + 1}/{members}" if members > 1 else ""
            show(
                "training",
                progress.steps,
                progress.step,
                description=f"training{member}",
                loss="-" if progress.loss is None else f"{progress.loss:.3f}",
                speed=_short(progress.pairs_per_second),
                auc="-" if auc is None else f"{auc:.4f}",
            )

        yield report
        if last_step:
            show("training", last_step)  # full, also after early stopping


@contextmanager
def grid_progress(*, quiet: bool = False) -> Iterator[Callable[[int, int, Sequence[str]], None]]:
    """Yield a function that takes the cells finished, their total, and those running."""
    columns = (bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), "{task.fields[running]}")
    with _bars(*columns, quiet=quiet) as show:
        show("cells", None, running="")
        yield lambda finished, total, running: show(
            "cells", total, finished, running=escape(" | ".join(running))
        )


@contextmanager
def method_progress(*, quiet: bool = False) -> Iterator[Callable[[str], Callable[[float], None]]]:
    """Yield a function that starts the bar of a method and returns one for the fraction done."""
    with _bars(bars.TaskProgressColumn(), _time_left(), quiet=quiet) as show:

        def start(method: str) -> Callable[[float], None]:
            show(method, None)  # until it is fitted
            return partial(show, method, 1)

        yield start


@contextmanager
def node_progress(num_nodes: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many more nodes are done, and shows all of them."""
    with _bars(bars.MofNCompleteColumn(), _time_left(), quiet=quiet) as show:
        show("nodes", num_nodes)
        yield lambda done: show("nodes", num_nodes, advance=done)


def download_progress(
    *, quiet: bool = False
) -> AbstractContextManager[Callable[[str, int, int], None]]:
    """Yield a function that takes a file, its size, and how many of its bytes are there."""
    return _bars(bars.DownloadColumn(), _time_left(), quiet=quiet)


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C stops at once."""
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        messages.print("stopping after this step; once more to stop at once")

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, previous)


def results_tables(table: TextTable) -> Iterator[Group]:
    """Yield a table in parts that fit the width of the terminal, the last with the notes."""
    keys = [i for i, name in enumerate(table.header) if name in ("dataset", "method", "dim")]
    widths = [
        max([*map(len, name.split()), *(len(row[i]) for row in table.rows)]) + 2
        for i, name in enumerate(table.header)
    ]
    room = output.width - sum(widths[i] for i in keys) - 2
    parts: list[list[int]] = [[]]
    for i in (i for i in range(len(widths)) if i not in keys):
        if parts[-1] and sum(widths[j] for j in [*parts[-1], i]) > room:
            parts.append([])
        parts[-1].append(i)
    for part in parts:
        # A caption would be as narrow as its table.
        notes = table.notes if part is parts[-1] else ()
        shown = Table(title_style="bold", title_justify="left", box=SIMPLE_HEAD)
        shown.title = escape(table.title) if part is parts[0] else None
        shown.padding = (0, 0, 0, 1)
        for i in keys + part:
            side: Any = "left" if table.alignment[i] == "l" else "right"
            shown.add_column("\n".join(escape(table.header[i]).split()), justify=side)
        last = ""
        for row in table.rows:
            texts = [f"[bold]{escape(e)}[/]" if isinstance(e, Bold) else escape(e) for e in row]
            texts[0] = "" if row[0] == last else texts[0]
            shown.add_row(*(texts[i] for i in keys + part))
            last = row[0]
        yield Group(shown, *(Text(note, style="table.caption") for note in notes))


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
