"""Experiments: a grid of cells run in worker processes, resumable, written as tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arcvec.cores import threads_per_worker
from arcvec.evaluation.cell_run import Task
from arcvec.evaluation.experiment_file import ExperimentSettings
from arcvec.evaluation.grid import Cell
from arcvec.evaluation.results import CellFiles, Result, write_results
from arcvec.evaluation.table_text import latex_page, markdown_page
from arcvec.evaluation.tables import experiment_tables
from arcvec.evaluation.workers import run_tasks
from arcvec.locks import sole_writer
from arcvec.storage import new_file

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class GridProgress:
    """How far an experiment is.

    Attributes:
        finished, total: cells; those that earlier runs finished count as finished.
        running: what the workers are at.
    """

    finished: int
    total: int
    running: tuple[str, ...]


Report = Callable[[GridProgress], None]


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    *,
    workers: int = 1,
    retry_failed: bool = False,
    more_seeds_below: float | None = None,
    known: Sequence[Result] = (),
    report: Report | None = None,
) -> None:
    """Run the cells that are not finished yet and keep each in a file as soon as it is.

    First seeds come first, so that a whole table is there early, and cheap cells before others. A
    process that is killed loses only the cells it was at; the same call later goes on.

    Args:
        folder: where the files of cells are; experiments with cells in common may share it.
        retry_failed: run cells again that failed earlier.
        more_seeds_below: seconds that the first seed may take for the others to be run at all.
        known: rows of an earlier table: what they say of the same cells is kept, and not run again.
        report: called when a cell starts or ends.

    Raises:
        BlockingIOError: another process is running cells into the folder.
    """
    if workers < 1:
        raise ValueError(f"expected at least 1 worker, got {workers}")
    files = CellFiles(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write to {folder}: {reason}; choose another output") from None
    with sole_writer(folder, lock=folder / ".lock"):
        _keep_known(cells, files, known)
        run = _Run(files, workers, folder / "workers.log", retry_failed, report)
        further = [cell for cell in cells if not cell.first_seed]
        run.run([cell for cell in cells if cell.first_seed], total=len(cells), later=further)
        slow = _left_out(cells, files, more_seeds_below)
        kept = [cell for cell in further if cell.digest not in slow]
        run.run(kept, total=len(cells) - len(further) + len(kept))


def collect_results(
    cells: Sequence[Cell], folder: Path, more_seeds_below: float | None = None
) -> list[Result]:
    """Return a row for every cell, finished or not, without running any."""
    files = CellFiles(folder)
    slow = _left_out(cells, files, more_seeds_below)
    results = (files.result(cell) for cell in cells)
    return [
        replace(result, status="left-out", error=slow[result.digest])
        if result.status == "missing" and result.digest in slow
        else result
        for result in results
    ]


def write_outputs(experiment: ExperimentSettings, results: Sequence[Result], out: Path) -> None:
    """Write `results.csv`, `results.parquet`, `table.md` and `table.tex`, replacing older ones."""
    write_results(out / "results.csv", results)
    write_results(out / "results.parquet", results)
    tables = experiment_tables(experiment, results)
    pages = {"table.md": markdown_page(experiment.title, tables), "table.tex": latex_page(tables)}
    for name, text in pages.items():
        with new_file(out / name, overwrite=True) as partial:
            partial.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _Run:
    files: CellFiles
    workers: int
    log: Path
    retry_failed: bool
    report: Report | None

    def run(self, cells: Sequence[Cell], *, total: int, later: Sequence[Cell] = ()) -> None:
        todo = self._open(cells)
        finished = total - len(todo) - len(self._open(later))
        running: dict[int, str] = {}
        threads = threads_per_worker(min(self.workers, max(1, len(todo))))
        # Closing: an interrupt ends the workers at once, wherever it comes.
        with closing(run_tasks([_task(c) for c in todo], self.workers, self.log)) as events:
            for i, outcome in events:
                if outcome is None:
                    running[i] = str(todo[i])
                else:
                    del running[i]
                    finished += 1
                    numbers = outcome.get("numbers", {}) | {"threads": threads}
                    self.files.write(todo[i], {**outcome, "numbers": numbers})
                    _log_outcome(todo[i], outcome)
                if self.report:
                    self.report(GridProgress(finished, total, tuple(running.values())))

    def _open(self, cells: Sequence[Cell]) -> list[Cell]:
        # Cells of different labels may be the same run: each is run once.
        once = {cell.digest: cell for cell in cells if self._is_open(cell)}
        return sorted(once.values(), key=lambda cell: cell.cost)

    def _is_open(self, cell: Cell) -> bool:
        if cell.refusal:
            return False
        record = self.files.read(cell)
        return record is None or (self.retry_failed and record["status"] == "failed")


def _keep_known(cells: Sequence[Cell], files: CellFiles, known: Sequence[Result]) -> None:
    done = {result.digest: result for result in known if result.status == "done"}
    for cell in cells:
        if cell.digest in done and files.read(cell) is None:
            numbers = done[cell.digest].numbers
            files.write(cell, {"status": "done", "error": "", "numbers": dict(numbers)})


def _task(cell: Cell) -> Task:
    return Task(
        str(cell.split.path), cell.method_name, cell.method.model_dump(mode="json"), cell.ranking
    )


def _log_outcome(cell: Cell, outcome: dict[str, Any]) -> None:
    if outcome["status"] == "done":
        numbers = outcome["numbers"]
        logger.info("%s: AUC %.4f in %.1f s", cell, numbers["auc"], numbers["fit_seconds"])
    else:
        logger.warning("%s: failed: %s", cell, outcome["error"])


def _left_out(cells: Sequence[Cell], files: CellFiles, limit: float | None) -> dict[str, str]:
    """Return why further seeds are not run, by digest: the first was too slow, or failed."""
    first = {(c.dataset, c.label, c.dim): files.result(c) for c in cells if c.first_seed}
    reasons = {}
    for cell in cells:
        if cell.first_seed:
            continue
        before = first[cell.dataset, cell.label, cell.dim]
        seconds = before.number("fit_seconds")
        if before.status == "failed":
            reasons[cell.digest] = before.error
        elif limit is not None and seconds is not None and seconds >= limit:
            reasons[cell.digest] = f"the first seed took {limit:g} s or more"
    return reasons
