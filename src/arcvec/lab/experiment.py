"""Run an experiment: cells in worker processes, each kept in a file, so that a run can resume."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from arcvec.lab.cells import NUMBERS, Result, run_tasks, write_results
from arcvec.lab.grid import Cell, ExperimentSettings
from arcvec.lab.tables import experiment_tables
from arcvec.parallel.threads import threads_per_worker
from arcvec.storage.atomic import new_file, sole_writer
from arcvec.storage.headers import KEY, read_json, sealed, unsealed, write_json
from arcvec.view.table_text import to_latex, to_markdown

logger = logging.getLogger(__name__)

# Receives how many cells are finished, of how many, and which are running.
Report: TypeAlias = Callable[[int, int, Sequence[str]], None]


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    *,
    workers: int = 1,
    retry_failed: bool = False,
    more_seeds_below: float | None = None,
    known: Sequence[Result] = (),
    report: Report = lambda finished, total, running: None,
) -> None:
    """Run the unfinished cells and write each to a file as soon as it is done.

    First seeds come first, then cheap cells. A run that is killed loses only the cells in progress;
    the same call resumes it.

    Args:
        folder: of the files of cells; experiments with cells in common may share it.
        more_seeds_below: seconds; further seeds are run only if the first took less.
        known: rows of an earlier table, whose finished cells are not run again.
    """
    if workers < 1:
        raise ValueError(f"expected at least 1 worker, got {workers}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write to {folder}: {reason}; choose another output") from None
    files = CellFiles(folder)
    with sole_writer(folder, lock=folder / ".lock"):
        done = {result.digest: dict(result.numbers) for result in known if result.status == "done"}
        for cell in cells:
            if cell.digest in done and files.read(cell) is None:
                numbers = done[cell.digest]
                files.write(cell, {"status": "done", "error": "", "numbers": numbers})
        further = [cell for cell in cells if not cell.first_seed]
        later = files.unfinished(further, retry_failed)
        todo = files.unfinished([cell for cell in cells if cell.first_seed], retry_failed)
        _run(todo, files, workers, report, len(cells) - len(todo + later), len(cells))
        left_out = _left_out(cells, files, more_seeds_below)
        todo = files.unfinished([c for c in further if c.digest not in left_out], retry_failed)
        total = sum(cell.digest not in left_out for cell in cells)
        _run(todo, files, workers, report, total - len(todo), total)


def collect_results(
    cells: Sequence[Cell], folder: Path, more_seeds_below: float | None = None
) -> list[Result]:
    """Return a row for every cell, finished or not, without running any."""
    files = CellFiles(folder)
    left_out = _left_out(cells, files, more_seeds_below)
    results = [files.result(cell) for cell in cells]
    return [
        replace(result, status="left-out", error=left_out[result.digest])
        if result.status == "missing" and result.digest in left_out
        else result
        for result in results
    ]


def write_outputs(experiment: ExperimentSettings, results: Sequence[Result], out: Path) -> None:
    """Write `results.csv`, `table.md` and `table.tex`, replacing older ones."""
    write_results(out / "results.csv", results)
    tables = experiment_tables(experiment, results)
    sections = (f"## {table.title}\n\n{to_markdown(table)}" for table in tables)
    parts = {"table.md": (f"# {experiment.title}", *sections), "table.tex": map(to_latex, tables)}
    for name, texts in parts.items():
        with new_file(out / name, overwrite=True) as partial:
            partial.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class CellFiles:
    """The folder of finished cells, one JSON file each, named by all that decides its numbers."""

    folder: Path

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return the record of a cell; None if it was never finished with these settings."""
        # The same run with test edges ranked has all the numbers of one without.
        for known in (cell, replace(cell, ranking=True)):
            path = self.folder / known.file_name
            if path.is_file():
                try:
                    record: dict[str, Any] = read_json(path)
                    # Cells of an earlier arcvec have no checksum.
                    return unsealed(record, path) if KEY in record else record
                except ValueError as error:
                    logger.warning("%s; it counts as never run", error)
        return None

    def write(self, cell: Cell, outcome: Mapping[str, Any]) -> None:
        """Keep the outcome of a cell, with its full definition."""
        names = ("dataset", "label", "dim", "seed", "digest")
        record = {
            "format": "arcvec-cell",
            **{name: getattr(cell, name) for name in names},
            "split_fingerprint": cell.split.fingerprint,
            **cell.definition,
            **outcome,
        }
        with new_file(self.folder / cell.file_name, overwrite=True) as partial:
            write_json(partial, sealed(record))

    def result(self, cell: Cell) -> Result:
        """Return the row of a cell, finished or not."""
        record = self.read(cell) or {"status": "missing", "error": "not run yet"}
        if cell.refusal:
            record = {"status": "refused", "error": cell.refusal}
        numbers = {name: record.get("numbers", {}).get(name) for name in NUMBERS}
        where = cell.dataset, cell.label, cell.dim, cell.seed
        return Result(*where, record["status"], record["error"], cell.digest, numbers)

    def unfinished(self, cells: Sequence[Cell], retry_failed: bool) -> list[Cell]:
        """Return the cells to run, cheap ones first; one of those that are the same run."""
        again = ("missing", "failed") if retry_failed else ("missing",)
        todo = {cell.digest: cell for cell in cells if self.result(cell).status in again}
        return sorted(todo.values(), key=lambda cell: cell.cost)


def _run(
    cells: Sequence[Cell], files: CellFiles, workers: int, report: Report, finished: int, total: int
) -> None:
    tasks = [{**cell.definition, "split": str(cell.split.path)} for cell in cells]
    threads = threads_per_worker(min(workers, max(1, len(cells))))
    running: dict[int, str] = {}
    # Closing ends the workers at once if the run is interrupted.
    with closing(run_tasks(tasks, workers, files.folder / "workers.log")) as events:
        for i, outcome in events:
            if outcome is None:
                running[i] = str(cells[i])
            else:
                name, finished = running.pop(i), finished + 1
                numbers = outcome.get("numbers", {}) | {"threads": threads}
                files.write(cells[i], {**outcome, "numbers": numbers})
                if outcome["status"] == "done":
                    mrr = "" if numbers["mrr"] is None else f", MRR {numbers['mrr']:.4f}"
                    said = f"AUC {numbers['auc']:.4f}{mrr}"
                    logger.info("%s: %s in %.1f s", name, said, numbers["fit_seconds"])
                else:
                    logger.warning("%s: failed: %s", name, outcome["error"])
            report(finished, total, tuple(running.values()))


def _left_out(cells: Sequence[Cell], files: CellFiles, limit: float | None) -> dict[str, str]:
    """Return why further seeds are not run, by digest: the first was too slow, or failed."""
    first = {(c.dataset, c.label, c.dim): files.result(c) for c in cells if c.first_seed}
    reasons = {}
    for cell in (cell for cell in cells if not cell.first_seed):
        before = first[cell.dataset, cell.label, cell.dim]
        seconds = before.numbers.get("fit_seconds")
        if before.status == "failed":
            reasons[cell.digest] = before.error
        elif limit is not None and seconds is not None and seconds >= limit:
            reasons[cell.digest] = f"the first seed took {limit:g} s or more"
    return reasons
