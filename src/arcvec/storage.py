"""Files and folders that appear whole or not at all: a temporary name first, then a rename."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO


def require_writable(path: Path, *, overwrite: bool = False) -> None:
    """Raise an `OSError` now if `path` could not be written later, after hours of work."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; choose another name or pass --overwrite")
    parent = path.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write to {parent}: {reason}; choose another output") from None


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder that becomes `path` when the block ends without an error.

    Raises:
        FileExistsError: `path` exists and `overwrite` is false.
    """
    require_writable(path, overwrite=overwrite)
    path = path.absolute()
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    try:
        yield partial
        partial.chmod(0o755)
        for file in partial.rglob("*"):
            _flush(file)
        _flush(partial)
        if path.exists():
            retired = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
            path.rename(retired / path.name)
            partial.rename(path)
            shutil.rmtree(retired)
        else:
            partial.rename(path)
        _flush(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary file name that becomes `path` when the block ends without an error."""
    require_writable(path, overwrite=overwrite)
    path = path.absolute()
    # The suffix stays last: writers choose the format by it.
    partial = path.with_name(f".{path.stem}.partial-{os.getpid()}{path.suffix}")
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
        _flush(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_table(
    path: Path | None,
    columns: Mapping[str, str],
    rows: Iterable[Sequence[object]],
    *,
    overwrite: bool = False,
) -> None:
    """Write rows as csv to standard output, or to a file in the format of its suffix.

    Args:
        path: a `.csv`, `.tsv` or `.parquet` file; None is standard output.
        columns: the SQL type of each column, by name.
        rows: may be an iterator: rows are written as they come.
    """
    if path is None:
        _write_csv(sys.stdout, columns, rows)
        return
    if path.suffix not in (".csv", ".tsv", ".parquet"):
        raise ValueError(f"{path}: expected a name ending in .csv, .tsv or .parquet")
    with new_file(path, overwrite=overwrite) as partial:
        text = partial.with_suffix(".csv") if path.suffix == ".parquet" else partial
        try:
            with text.open("w", encoding="utf-8", newline="") as file:
                _write_csv(file, columns, rows, "\t" if path.suffix == ".tsv" else ",")
            if text != partial:
                _csv_to_parquet(text, partial, columns)
        finally:
            if text != partial:
                text.unlink(missing_ok=True)


def _write_csv(
    file: TextIO, columns: Mapping[str, str], rows: Iterable[Sequence[object]], separator: str = ","
) -> None:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def _csv_to_parquet(text: Path, parquet: Path, columns: Mapping[str, str]) -> None:
    import duckdb

    table = duckdb.read_csv(str(text), header=True, columns=dict(columns), auto_detect=False)
    table.write_parquet(str(parquet))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Return the JSON value in a file, or say which file is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got text that is not: {error}") from None


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
