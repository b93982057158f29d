"""Terminal output: progress, tables, notes."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Literal

from rich import progress as bars
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.markup import escape as escape
from rich.table import Table
from rich.text import Text

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
def _bar(*columns: str | bars.ProgressColumn, quiet: bool) -> Iterator[bars.Progress]:
    """Yield a bar with a description to its left.

    It is shown once it is started: an error before the first report shows no empty bar.
    """
    shown = ("{task.description}", bars.BarColumn(bar_width=24), *columns)
    bar = bars.Progress(*shown, console=messages, disable=quiet)
    try:
        yield bar
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress of a training: bar, loss, speed, AUC, time left."""
    columns = ("loss {task.fields[loss]}", "{task.fields[speed]} pairs/s", "AUC {task.fields[auc]}")
    with _bar(bars.MofNCompleteColumn(), *columns, _time_left(), quiet=quiet) as bar:
        task = bar.add_task("training", total=None, loss="-", speed="-", auc="-")

        def report(progress: Progress) -> None:
            bar.start()
            auc, members = progress.validation_auc, progress.members
            member = f" {progress.member + 1}/{members}" if members > 1 else ""
            trial = f", trial {progress.trial + 1}" if progress.trial else ""
            bar.update(
                task,
                description=f"training{member}{trial}",
                total=progress.steps,
                completed=progress.step,
                loss="-" if progress.loss is None else f"{progress.loss:.3f}",
                speed=_short(progress.pairs_per_second),
                auc="-" if auc is None else f"{auc:.4f}",
            )

        yield report
        bar.update(task, total=bar.tasks[0].completed)  # full, also after early stopping


@contextmanager
def grid_progress(*, quiet: bool = False) -> Iterator[Callable[[int, int, Sequence[str]], None]]:
    """Yield a function that takes the cells finished, their total, and those running."""
    columns = (bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), "{task.fields[running]}")
    with _bar(*columns, quiet=quiet) as bar:
        task = bar.add_task("cells", total=None, running="")
        bar.start()

        def report(finished: int, total: int, running: Sequence[str]) -> None:
            bar.update(task, total=total, completed=finished, running=escape(" | ".join(running)))

        yield report


@contextmanager
def method_progress(*, quiet: bool = False) -> Iterator[Callable[[str], Callable[[float], None]]]:
    """Yield a function that starts the bar of a method and returns one for the fraction done."""
    with _bar(bars.TaskProgressColumn(), _time_left(), quiet=quiet) as bar:

        def start(method: str) -> Callable[[float], None]:
            bar.start()
            task = bar.add_task(escape(method), total=None)  # until it is fitted
            return lambda fraction: bar.update(task, total=1, completed=fraction)

        yield start


@contextmanager
def node_progress(num_nodes: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many more nodes are done, and shows all of them."""
    with _bar(bars.MofNCompleteColumn(), _time_left(), quiet=quiet) as bar:
        task = bar.add_task("nodes", total=num_nodes)
        bar.start()
        yield lambda done: bar.advance(task, done)


@contextmanager
def download_progress(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes a file, its size, and how many of its bytes are there."""
    with _bar(bars.DownloadColumn(), _time_left(), quiet=quiet) as bar:
        tasks: dict[str, bars.TaskID] = {}

        def report(file: str, size: int, done: int) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(escape(file), total=size)
            bar.start()
            bar.update(tasks[file], completed=done)

        yield report


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
        max([*map(len, name.split()), *(len(row[i].text) for row in table.rows)]) + 2
        for i, name in enumerate(table.header)
    ]
    room = output.width - sum(widths[i] for i in keys) - 2
    parts: list[list[int]] = [[]]
    for i in (i for i in range(len(widths)) if i not in keys):
        if parts[-1] and sum(widths[j] for j in [*parts[-1], i]) > room:
            parts.append([])
        parts[-1].append(i)
    for part in parts:
        title = escape(table.title) if part is parts[0] else None
        notes = table.notes if part is parts[-1] else ()
        # A caption would be as narrow as its table.
        captions = (Text(note, style="table.caption") for note in notes)
        yield Group(_part_of_table(table, keys + part, title), *captions)


def _part_of_table(table: TextTable, columns: Sequence[int], title: str | None) -> Table:
    shown = Table(title=title, title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.padding = (0, 0, 0, 1)
    for i in columns:
        justify: Literal["left", "right"] = "left" if table.alignment[i] == "l" else "right"
        shown.add_column("\n".join(escape(table.header[i]).split()), justify=justify)
    last = ""
    for row in table.rows:
        texts = [f"[bold]{escape(e.text)}[/]" if e.bold else escape(e.text) for e in row]
        texts[0] = "" if row[0].text == last else texts[0]
        shown.add_row(*(texts[i] for i in columns))
        last = row[0].text
    return shown


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
