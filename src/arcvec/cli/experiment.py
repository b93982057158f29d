"""Grids of runs: `experiment`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.cli.errors import fail
from arcvec.cli.flags import Out
from arcvec.console import grid_progress, note, output, plain_print, results_tables

if TYPE_CHECKING:
    from arcvec.evaluation.experiment_file import ExperimentSettings
    from arcvec.evaluation.results import Result


def experiment(
    file: Path,
    /,
    *,
    out: Out,
    data: Path | None = None,
    cells: Path | None = None,
    known: Path | None = None,
    quick: bool = False,
    workers: int = 1,
    retry_failed: bool = False,
    tables_only: bool = False,
    quiet: bool = False,
) -> None:
    """Run a grid of datasets, methods, dims and seeds, and make its tables; goes on where it was.

    Args:
        file: TOML file of the experiment, such as experiments/table1.toml.
        out: folder for results.csv, results.parquet, table.md, table.tex and curves.
        data: folder of the split folders; by default $ARCVEC_DATA/splits or ../shared/data/splits.
        cells: folder of finished cells, by default `cells` in the output folder; experiments that
            share it do not run the cells they have in common again.
        known: results.csv of an earlier run, perhaps on another machine: the runs that it has are
            not run again.
        quick: the small size that the file describes, which ends in minutes.
        workers: processes that share the cores; one uses them all.
        retry_failed: run cells again that failed earlier.
        tables_only: run nothing, make the tables of the cells that are finished.
        quiet: show no progress.
    """
    from arcvec.evaluation.experiment import collect_results, run_cells, write_outputs
    from arcvec.evaluation.experiment_file import read_experiment
    from arcvec.evaluation.grid import data_folders, grid_cells
    from arcvec.evaluation.results import read_results
    from arcvec.evaluation.tables import experiment_tables

    asked = read_experiment(file, quick=quick)
    grid = grid_cells(asked, data_folders(asked, data, file.absolute().parent.parent))
    kept = cells or out / "cells"
    if not tables_only:
        try:
            with grid_progress(quiet=quiet) as report:
                run_cells(
                    grid,
                    kept,
                    workers=workers,
                    retry_failed=retry_failed,
                    more_seeds_below=asked.more_seeds_below,
                    known=() if known is None else read_results(known),
                    report=report,
                )
        except KeyboardInterrupt:
            message = "stopped; finished cells are kept, and the same command does the others"
            raise SystemExit(fail(message, code=130)) from None
    results = collect_results(grid, kept, asked.more_seeds_below)
    write_outputs(asked, results, out)
    _draw_curves(asked, results, out)
    output.print(*results_tables(experiment_tables(asked, results)[0]))
    counts = Counter(result.status for result in results)
    if counts["failed"] and not retry_failed:
        note(f"{counts['failed']} cells failed; --retry-failed runs them again")
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    plain_print(f"{out}: {len(results)} cells ({said})")


def _draw_curves(asked: ExperimentSettings, results: Sequence[Result], out: Path) -> None:
    from arcvec.evaluation.tables import auc_curves
    from arcvec.plot.curves import draw_curves

    finished = any(result.dim is not None and result.status == "done" for result in results)
    if asked.kind != "auc" or not finished:
        return
    paths = [out / "curves.png", out / "curves.svg"]
    ours = asked.comparison.ours if asked.comparison else ""
    curves = auc_curves(results)
    try:
        draw_curves(curves, paths, title=asked.title, highlighted=ours, overwrite=True)
    except ImportError as error:
        note(str(error))
