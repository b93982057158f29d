"""The laboratory: `demo`, `experiment` and `doctor`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from rich.table import Table

from arcvec.cli.app import fail
from arcvec.cli.common import Json, Out, Quiet
from arcvec.lab.cells import read_results
from arcvec.lab.demo import run_demo
from arcvec.lab.doctor import diagnose
from arcvec.lab.experiment import collect_results, run_cells, write_outputs
from arcvec.lab.grid import data_folders, grid_cells, read_experiment
from arcvec.lab.tables import RANKS, curves_of, experiment_tables
from arcvec.view.console import escape, grid_progress, note, output, plain_print, results_tables
from arcvec.view.figures import draw_curves


def demo(*, out: Out = Path("arcvec-demo"), seed: int = 0) -> None:
    """Learn the import graph of Python's standard library, end to end, in under a minute.

    Args:
        out: folder for split, result and picture; that of an earlier demo is replaced.
        seed: decides every random choice.
    """
    run_demo(out, seed)


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
    quiet: Quiet = False,
) -> None:
    """Run a grid of datasets, methods, dims and seeds, and make its tables; goes on where it was.

    Args:
        file: TOML file of the experiment, such as experiments/table1.toml.
        out: folder for results.csv, table.md, table.tex and curves.
        data: folder of the split folders; by default $ARCVEC_DATA/splits or ../shared/data/splits.
        cells: folder of finished cells, by default `cells` in the output folder; experiments that
            share it do not run the cells they have in common again.
        known: results.csv of an earlier run, perhaps on another machine, whose cells are not run
            again.
        quick: the small size that the file describes, which takes minutes.
        workers: processes that share the cores; one uses them all.
        retry_failed: run cells again that failed earlier.
        tables_only: run nothing, make the tables of the cells that are finished.
    """
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
    if asked.kind == "auc" and any(one.dim is not None and one.status == "done" for one in results):
        paths = [out / "curves.png", out / "curves.svg"]
        ours = asked.comparison.ours if asked.comparison else ""
        try:
            draw_curves(
                curves_of(results), paths, title=asked.title, highlighted=ours, overwrite=True
            )
        except ImportError as error:
            note(str(error))
    for table in experiment_tables(asked, results)[: 1 + len(RANKS) * asked.ranking]:
        output.print(*results_tables(table))
    counts = Counter(result.status for result in results)
    if counts["failed"] and not retry_failed:
        note(f"{counts['failed']} cells failed; --retry-failed runs them again")
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    plain_print(f"{out}: {len(results)} cells ({said})")


def doctor(*, as_json: Json = False) -> None:
    """Print versions, threads, extras and free space: paste it into a bug report.

    The exit code is 1 if a package that arcvec needs cannot be imported.
    """
    found = diagnose()
    if as_json:
        plain_print(json.dumps(found, indent=2))
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, value in found["facts"].items():
            table.add_row(f"[bold]{escape(name)}[/]", escape(value))
        for package, problem in found["problems"].items():
            table.add_row(f"[bold]{package}[/]", f"[red]failed[/]: {escape(problem)}")
        output.print(table)
    if not found["healthy"]:
        sys.exit(1)
