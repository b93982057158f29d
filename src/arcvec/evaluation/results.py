"""Results of an experiment: a file per finished cell, and all of them as one tidy table."""

from __future__ import annotations

import csv
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from arcvec.checksums import KEY, sealed, unsealed
from arcvec.evaluation.grid import Cell
from arcvec.storage import new_file, read_json, write_json, write_table

logger = logging.getLogger(__name__)

Status: TypeAlias = Literal["done", "failed", "refused", "left-out", "missing"]

NUMBERS = (
    *("auc", "auc_random", "auc_reversed", "average_precision", "mrr", "mrr_standard_error"),
    *("hits@10", "hits@50", "hits@100", "num_test_edges", "num_ranked", "train_auc", "norm_std"),
    *("validation_auc", "steps_done", "fit_seconds", "fit_cpu_seconds", "evaluation_seconds"),
    *("peak_memory_mb", "threads"),
)

_COLUMNS = {
    **{"dataset": "VARCHAR", "method": "VARCHAR", "dim": "INTEGER", "seed": "INTEGER"},
    "status": "VARCHAR",
    **dict.fromkeys(NUMBERS, "DOUBLE"),
    **{"digest": "VARCHAR", "error": "VARCHAR"},
}


@dataclass(frozen=True)
class Result:
    """One row of the tidy table: a cell, and what came of it.

    Attributes:
        method: the label of the column.
        dim, seed: None where the method has none.
        status: done; failed (see `error`); refused before it ran (see `error`); left-out: a further
            seed of a run whose first was too slow or failed; missing: not run yet.
        numbers: measured values by the names in `NUMBERS`; None where one does not apply.
    """

    dataset: str
    method: str
    dim: int | None
    seed: int | None
    status: Status
    error: str
    digest: str
    numbers: Mapping[str, float | None]

    def number(self, name: str) -> float | None:
        """Return a measured value; None if there is none."""
        return self.numbers.get(name)


@dataclass(frozen=True)
class CellFiles:
    """The folder of finished cells, one JSON file each, named by all that decides its numbers."""

    folder: Path

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return what is known of a cell; None if it was never finished as it is now."""
        # The same run with test edges ranked knows all that is asked for, and more.
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
        with new_file(self.folder / cell.file_name, overwrite=True) as partial:
            write_json(
                partial,
                sealed(
                    {
                        "format": "arcvec-cell",
                        "dataset": cell.dataset,
                        "label": cell.label,
                        "dim": cell.dim,
                        "seed": cell.seed,
                        "digest": cell.digest,
                        "split_fingerprint": cell.split.fingerprint,
                        **cell.definition,
                        **outcome,
                    }
                ),
            )

    def result(self, cell: Cell) -> Result:
        """Return the row of a cell, whatever came of it."""
        record = self.read(cell) or {"status": "missing", "error": "not run yet"}
        if cell.refusal:
            record = {"status": "refused", "error": cell.refusal}
        return Result(
            dataset=cell.dataset,
            method=cell.label,
            dim=cell.dim,
            seed=cell.seed,
            status=record["status"],
            error=record["error"],
            digest=cell.digest,
            numbers={name: record.get("numbers", {}).get(name) for name in NUMBERS},
        )


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Write the tidy table as `.csv` or `.parquet`, by the suffix."""
    rows = (
        (
            *(result.dataset, result.method, result.dim, result.seed, result.status),
            *(_plain(result.number(name)) for name in NUMBERS),
            *(result.digest, result.error),
        )
        for result in results
    )
    write_table(path, _COLUMNS, rows, overwrite=True)


def read_results(path: Path) -> list[Result]:
    """Return the rows of a tidy table in csv, such as `write_results` makes."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = set(_COLUMNS)
    if rows and set(rows[0]) != expected:
        raise ValueError(f"{path}: expected the columns of a results.csv, got others")
    return [_parse(row, path) for row in rows]


def _parse(row: Mapping[str, str], path: Path) -> Result:
    if row["status"] not in get_args(Status):
        raise ValueError(f'{path}: expected a status, got "{row["status"]}"')
    return Result(
        dataset=row["dataset"],
        method=row["method"],
        dim=int(row["dim"]) if row["dim"] else None,
        seed=int(row["seed"]) if row["seed"] else None,
        status=row["status"],  # type: ignore[arg-type]  # checked above
        error=row["error"],
        digest=row["digest"],
        numbers={name: float(row[name]) if row[name] else None for name in NUMBERS},
    )


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
