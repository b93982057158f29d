"""Tables of rows, as csv, tsv or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, TypeAlias

from arcvec.storage.atomic import new_file

_Rows: TypeAlias = Iterable[Sequence[object]]


def write_table(
    path: Path | None, columns: Mapping[str, str], rows: _Rows, *, overwrite: bool = False
) -> None:
    """Write rows, as they come, to standard output as csv, or to a .csv, .tsv or .parquet file.

    `columns` has the SQL type of each column, by name.
    """
    if path is None:
        return _write_csv(sys.stdout, columns, rows)
    require_table_name(path)
    with new_file(path, overwrite=overwrite) as partial:
        text = partial.with_suffix(".csv") if path.suffix == ".parquet" else partial
        try:
            with text.open("w", encoding="utf-8", newline="") as file:
                _write_csv(file, columns, rows, "\t" if path.suffix == ".tsv" else ",")
            if text != partial:
                import duckdb

                types = dict(columns)
                table = duckdb.read_csv(str(text), header=True, columns=types, auto_detect=False)
                table.write_parquet(str(partial))
        finally:
            if text != partial:
                text.unlink(missing_ok=True)


def require_table_name(path: Path) -> None:
    """Raise a `ValueError` if the suffix of a path is not that of a table."""
    if path.suffix not in (".csv", ".tsv", ".parquet"):
        raise ValueError(f"{path}: expected a name ending in .csv, .tsv or .parquet")


def _write_csv(file: TextIO, columns: Iterable[str], rows: _Rows, separator: str = ",") -> None:
    plain, careful = (
        csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC)
    )
    plain.writerow(columns)
    for row in rows:
        # Python leaves a lone carriage return unquoted, which other readers take for a line's end.
        returns = any(isinstance(value, str) and "\r" in value for value in row)
        (careful if returns else plain).writerow(row)
