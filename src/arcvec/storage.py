"""Files and folders that appear whole or not at all: a temporary name first, then a rename."""

from __future__ import annotations

import csv
import errno
import glob
import json
import os
import shutil
import sys
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from arcvec.checksums import unsealed, write_checksums
from arcvec.locks import sole_writer

_HEADERS = ("meta.json", "split.json", "settings.json", "checkpoint.json")
DEMO_MARKER = "arcvec-demo.txt"
# In a folder of tables: Spark and pandas pass over such a name, polars over an empty file.
TABLE_MARKER = "_arcvec-table"
# Bytes; with less than these free, a disk is full for whatever is being written.
_LITTLE_ROOM = 1 << 20
# What numpy raises besides ValueError where the header of an array is damaged, which is Python.
_BAD_HEADER = (SyntaxError, TypeError, OverflowError, tokenize.TokenError)
# Of Linux: paths are taken from where the process is, and two names are exchanged.
_HERE, _RENAME_EXCHANGE = -100, 2


def require_writable(path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raise an `OSError` now if `path` could not be written later, after hours of work.

    Args:
        overwrite: whether something of arcvec's may be replaced.
        inputs: what is being read, which must not be replaced.
    """
    path = path.resolve()
    for read in inputs:
        if path in (read.resolve(), *read.resolve().parents):
            raise FileExistsError(f"{path}: the input {read} is in there; choose another output")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; choose another name or pass --overwrite")
    if path.is_dir() and not _is_ours(path):
        raise FileExistsError(
            f"{path} is a folder that arcvec did not write, so that --overwrite leaves it alone; "
            "choose another output"
        )
    parent = next(folder for folder in path.parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write to {parent}: {reason}; choose another output") from None


def _is_ours(folder: Path) -> bool:
    """Tell whether arcvec wrote a folder: it is empty, or has a marker or a header of ours."""
    marked = any((folder / marker).is_file() for marker in (DEMO_MARKER, TABLE_MARKER))
    if marked or not any(folder.iterdir()):
        return True
    for name in _HEADERS:
        try:
            header = read_json(folder / name)
        except (OSError, ValueError):
            continue
        if isinstance(header, dict) and str(header.get("format")).startswith("arcvec-"):
            return True
    return False


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False, checksums: bool = True) -> Iterator[Path]:
    """Yield an empty temporary folder that becomes `path` when the block ends without an error.

    One that `path` names already stays as it is until that moment.

    Args:
        checksums: write those of its files; other tools may stumble over one that is no table.

    Raises:
        FileExistsError: `path` exists and `overwrite` is false, or it is a file.
        BlockingIOError: another process is writing it.
    """
    with _place_for(path, overwrite) as path:
        if path.is_file():
            raise FileExistsError(f"{path} is a file; expected the name of a folder")
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
        try:
            with _room_on_disk(path):
                yield partial
                if checksums:
                    write_checksums(partial)
                partial.chmod(0o755)
                for file in partial.rglob("*"):
                    _flush(file)
                _flush(partial)
            if path.exists():
                _exchange(partial, path)
            else:
                partial.rename(path)
            _flush(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary file name that becomes `path` when the block ends without an error."""
    with _place_for(path, overwrite) as path:
        if path.is_dir():
            raise FileExistsError(f"{path} is a folder; expected the name of a file")
        # The suffix stays last: writers choose the format by it.
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}{path.suffix}")
        try:
            with _room_on_disk(path):
                yield partial
                _flush(partial)
            partial.replace(path)
            _flush(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _place_for(path: Path, overwrite: bool) -> Iterator[Path]:
    """Hold the lock of a path that may be written; yield it, absolute."""
    require_writable(path, overwrite=overwrite)
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with sole_writer(path) as alone:
        if alone:
            # What a process that was killed had begun.
            for left in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield path


@contextmanager
def _room_on_disk(path: Path) -> Iterator[None]:
    """Say of whatever goes wrong on a full disk that it is full: each library has its own words."""
    try:
        yield
    except Exception as error:
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{path.parent} was removed while {path.name} was written into it; write it again"
            ) from error
        if _tells_of_no_room(error) or shutil.disk_usage(path.parent).free < _LITTLE_ROOM:
            raise OSError(
                f"{path.parent}: no space left on the disk; make room or choose another output. "
                "What was there before is unchanged"
            ) from error
        raise


def _tells_of_no_room(error: BaseException | None) -> bool:
    while error is not None:
        if getattr(error, "errno", None) == errno.ENOSPC or "no space left" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def _exchange(one: Path, other: Path) -> None:
    """Let two folders of the same parent take each other's name."""
    if sys.platform == "linux" and _renameat2(one, other):
        return
    # Not a name that the next writer clears away: after a kill here, it is the only one there is.
    aside = Path(tempfile.mkdtemp(prefix=f".{other.name}.old-", dir=other.parent))
    other.rename(aside / other.name)
    one.rename(other)
    shutil.rmtree(aside)


def _renameat2(one: Path, other: Path) -> bool:
    """Exchange two names at once, so that no moment is without them; false if that cannot be."""
    import ctypes

    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    code: int = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE)
    return code == 0


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
    require_table_name(path)
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


def require_table_name(path: Path) -> None:
    """Raise a `ValueError` if the suffix of a path is not that of a table."""
    if path.suffix not in (".csv", ".tsv", ".parquet"):
        raise ValueError(f"{path}: expected a name ending in .csv, .tsv or .parquet")


def _write_csv(
    file: TextIO, columns: Mapping[str, str], rows: Iterable[Sequence[object]], separator: str = ","
) -> None:
    plain = csv.writer(file, delimiter=separator, lineterminator="\n")
    # Python leaves a lone carriage return unquoted, which other readers take for a line's end.
    careful = csv.writer(
        file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
    )
    plain.writerow(columns)
    for row in rows:
        returns = any(isinstance(value, str) and "\r" in value for value in row)
        (careful if returns else plain).writerow(row)


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
    except (ValueError, RecursionError) as error:  # the latter: brackets within brackets
        raise ValueError(f"{path}: expected JSON, got text that is not: {error}") from None


def read_header(
    path: Path,
    kind: str,
    versions: Sequence[int],
    keys: Iterable[str] = (),
    *,
    is_sealed: bool = False,
) -> dict[str, Any]:
    """Return the JSON header of one of our folders, its format checked and taken off.

    Args:
        kind: the format expected, such as "arcvec-graph".
        versions: what "format_version" may be.
        keys: what must be in it.
        is_sealed: whether it was written with a checksum of its own.
    """
    header = read_json(path)
    if is_sealed:
        header = unsealed(header, path)
    if not isinstance(header, dict) or header.get("format") != kind:
        raise ValueError(f'{path}: expected the format "{kind}"; is it the right folder?')
    found = header.get("format_version")
    if found not in versions:
        raise ValueError(
            f"{path}: expected format version {' or '.join(map(str, versions))}, got {found}; "
            "write the folder again with this arcvec"
        )
    for key in keys:
        if key not in header:
            raise ValueError(f'{path}: expected "{key}" in it; write the folder again')
    return {key: v for key, v in header.items() if key != "format"}


def load_array(path: Path, *, mmap: bool = True) -> NDArray[Any]:
    """Return the array in a .npy file; an error names the file."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: missing from the folder") from None
    except (*_BAD_HEADER, ValueError, EOFError, MemoryError):
        raise ValueError(
            f"{path}: expected a numpy array, got a file cut short or damaged"
        ) from None
    return array


class ArrayOnDisk:
    """An array put aside: in a file without a name, which goes with this object.

    >>> aside = ArrayOnDisk(np.array([3, 1, 2]))
    >>> aside.read()
    array([3, 1, 2])
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._file = tempfile.TemporaryFile(prefix="arcvec-")  # noqa: SIM115
        np.save(self._file, array, allow_pickle=False)
        self._file.flush()

    def read(self) -> NDArray[Any]:
        """Return a copy of the array, in memory."""
        self._file.seek(0)
        array: NDArray[Any] = np.load(self._file, allow_pickle=False)
        return array

    def mapped(self) -> NDArray[Any]:
        """Return the array where it is: memory holds what is looked at, and what is changed."""
        self._file.seek(0)
        np.lib.format.read_magic(self._file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(self._file)
        return np.memmap(self._file, dtype, "c", offset=self._file.tell(), shape=shape)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
