"""What a person sees in the terminal: progress, tables, notes."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import TaskID

    from arcvec.evaluation.experiment import GridProgress
    from arcvec.evaluation.link_prediction import LinkPredictionReport
    from arcvec.evaluation.table_text import Table as TextTable
    from arcvec.training.hooks import Progress

output = Console(highlight=False)
"""Results, on standard output."""

messages = Console(stderr=True, highlight=False)
"""Progress, notes and errors, on standard error."""


def note(text: str) -> None:
    """Print a note beside the result."""
    messages.print(f"[dim]note:[/] {escape(text)}", soft_wrap=True)


def show_log_as_notes() -> None:
    """Print what the library logs, from INFO on, as notes."""
    logger = logging.getLogger("arcvec")
    if not any(isinstance(handler, _NoteHandler) for handler in logger.handlers):
        logger.addHandler(_NoteHandler())
        logger.setLevel(logging.INFO)


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def escape(text: str) -> str:
    """Return text that rich prints as it is."""
    from rich.markup import escape as rich_escape

    return rich_escape(text)


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress of a training: bar, loss, speed, AUC, time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TextColumn("{task.fields[speed]} pairs/s"),
        TextColumn("AUC {task.fields[auc]}"),
        TimeRemainingColumn(compact=True),
    )
    bar = Bar(*columns, console=messages, disable=quiet)
    task = bar.add_task("training", total=None, loss="-", speed="-", auc="-")
    last_step = 0

    def report(progress: Progress) -> None:
        nonlocal last_step
        if last_step == 0:
            bar.start()  # not before: what fails before the first step shows no empty bar
        last_step = progress.step
        auc = progress.validation_auc
        bar.update(
            task,
            description=_which_training(progress),
            total=progress.steps,
            completed=progress.step,
            loss=f"{progress.loss:.3f}",
            speed=_short(progress.pairs_per_second),
            auc="-" if auc is None else f"{auc:.4f}",
        )

    try:
        yield report
        bar.update(task, total=last_step)  # full, also where the training stopped early
    finally:
        if last_step:
            bar.stop()


def _which_training(progress: Progress) -> str:
    which = "training"
    if progress.members > 1:
        which += f" {progress.member + 1}/{progress.members}"
    return f"{which}, trial {progress.trial + 1}" if progress.trial else which


@contextmanager
def grid_progress(*, quiet: bool = False) -> Iterator[Callable[[GridProgress], None]]:
    """Yield a function that shows how many cells are finished, which are running, for how long."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("cells"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=messages, disable=quiet) as bar:
        task = bar.add_task("", total=None)

        def report(progress: GridProgress) -> None:
            bar.update(
                task,
                total=progress.total,
                completed=progress.finished,
                description=escape(" | ".join(progress.running)),
            )

        yield report


@contextmanager
def node_progress(num_nodes: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function to be told how many nodes more are done: bar, numbers, time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("nodes"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Bar(*columns, console=messages, disable=quiet) as bar:
        task = bar.add_task("nodes", total=num_nodes)
        yield lambda done: bar.advance(task, done)


@contextmanager
def download_progress(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function to be told of a file, its size, and how many of its bytes are there."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TimeRemainingColumn(compact=True),
    )
    bar = Bar(*columns, console=messages, disable=quiet)
    tasks: dict[str, TaskID] = {}

    def report(file: str, size: int, done: int) -> None:
        if file not in tasks:
            tasks[file] = bar.add_task(escape(file), total=size)
            bar.start()  # not before: what fails before the first byte shows no empty bar
        bar.update(tasks[file], completed=done)

    try:
        yield report
    finally:
        if tasks:
            bar.stop()


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a question that turns true after Ctrl-C; a second Ctrl-C stops at once.

    A step is never torn in two that way, so that the checkpoint is exact.
    """
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


def link_prediction_table(reports: Mapping[str, LinkPredictionReport], title: str) -> Table:
    """Return a table with a row for every scorer; the best number of a column is bold."""
    from arcvec.evaluation.comparison import compare_reports

    compared = compare_reports(reports, title)
    table = _part_of_table(compared, list(range(len(compared.header))))
    table.title, table.caption = title, escape("\n".join(compared.notes))
    return table


def results_tables(table: TextTable) -> Iterator[Table]:
    """Yield a table of an experiment as the terminal shows it, cut where it is too wide."""
    keys = [i for i, name in enumerate(table.header) if name in ("dataset", "method", "dim")]
    widths = [
        max([*map(len, name.split()), *(len(row[i].text) for row in table.rows)]) + 2
        for i, name in enumerate(table.header)
    ]
    room = output.width - sum(widths[i] for i in keys) - 2
    parts: list[list[int]] = [[]]
    for i in range(len(table.header)):
        if i in keys:
            continue
        if parts[-1] and sum(widths[j] for j in parts[-1]) + widths[i] > room:
            parts.append([])
        parts[-1].append(i)
    for number, part in enumerate(parts):
        shown = _part_of_table(table, keys + part)
        shown.title = escape(table.title) if number == 0 else None
        shown.caption = escape("\n".join(table.notes)) if number == len(parts) - 1 else None
        yield shown


def _part_of_table(table: TextTable, columns: list[int]) -> Table:
    shown = Table(title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.caption_justify, shown.padding = "left", (0, 0, 0, 1)
    for i in columns:
        name = table.header[i]
        shown.add_column(escape(name), justify="left" if name in ("dataset", "method") else "right")
    last = ""
    for row in table.rows:
        texts = [
            f"[bold]{escape(row[i].text)}[/]" if row[i].bold else escape(row[i].text)
            for i in columns
        ]
        shown.add_row("" if row[0].text == last else texts[0], *texts[1:])
        last = row[0].text
    return shown


def plain_print(text: str) -> None:
    """Print a line for machines: no colours, no wrapping."""
    sys.stdout.write(text + "\n")


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
