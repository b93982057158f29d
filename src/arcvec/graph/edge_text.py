"""Text files of edges, line by line: opened, decoded, split into columns, faults described."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

_FIELD = re.compile(r"[^ \t\r\n]+")


def is_gzip(path: Path) -> bool:
    """Tell whether a file is gzipped, whatever its name."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


@contextmanager
def open_lines(path: Path) -> Iterator[BufferedIOBase]:
    """Open a text file, gzipped or not, for reading its lines as bytes."""
    zipped = is_gzip(path)
    try:
        with open(path, "rb") as file, gzip.open(file) if zipped else file as lines:
            yield lines
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(
            f"{path}: expected a whole gzip file, got one cut short or damaged; fetch it again"
        ) from None


def require_whole(path: Path) -> None:
    """Read a gzip file to its end, where its checksum is.

    Raises:
        ValueError: it is cut short or damaged.
    """
    with open_lines(path) as lines:
        while lines.read(1 << 20):
            pass


def require_clean_fields(path: Path, separator: str, skip: int) -> None:
    """Look for text between a closing quote and the separator; DuckDB joins or drops some of it.

    Args:
        separator: one character; skip: lines above the first row.

    Raises:
        ValueError: there is some; the message names the line.
    """
    if not _may_have_text_between(path):
        return
    with open_lines(path) as lines:
        decoded = decode(path, lines)
        for _ in range(skip):
            next(decoded)
        reader = csv.reader(decoded, delimiter=separator, strict=True)
        try:
            for _ in reader:
                pass
        except csv.Error:
            raise ValueError(
                f"{path}:{reader.line_num + skip}: expected a separator after a closing quote, got "
                "other text; write quotes inside a name twice"
            ) from None


def _may_have_text_between(path: Path) -> bool:
    last = b""
    with open_lines(path) as file:
        while chunk := file.read(1 << 20):
            if b'" ' in last + chunk:
                return True
            last = chunk[-1:]
    return False


def decode(path: Path, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield lines of text.

    Raises:
        ValueError: a line is not UTF-8; the message names it.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}:{number}: expected UTF-8 text, got the byte 0x{line[error.start]:02x}; "
                "save the file as UTF-8"
            ) from None


def split_rows(
    path: Path, lines: Iterable[str], separator: str | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each row and the line it starts on, from 1; blank lines are passed."""
    if separator is None:
        for number, line in enumerate(lines, start=1):
            # A carriage return alone ends a line too.
            fields = filter(None, map(_FIELD.findall, line.split("\r")))
            yield from ((number, row) for row in fields)
        return
    if len(separator) > 1:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.rstrip("\r\n").split(separator)
        return
    reader = csv.reader(lines, delimiter=separator)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}: cannot be read as csv: {error}; see to its quotes and line endings"
        ) from None


def describe_column_count(row: Sequence[str], expected: int) -> str:
    """Return what is wrong with a row that has not the columns it should, and what to do."""
    if len(row) > 1:
        return f"expected {expected} columns as on the first line, got {len(row)}"
    names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    found = [(mark, name) for mark, name in names.items() if row and mark in row[0].strip()]
    mark, name = found[0] if found else (",", "commas")
    shown = mark.replace("\t", "\\t")
    return (
        f"expected 2 or 3 columns, got {len(row)}; "
        f'if columns are split by {name}, pass --separator "{shown}"'
    )


def is_number(text: str) -> bool:
    """Tell whether the text is a number, be it negative or not finite."""
    try:
        float(text)
    except ValueError:
        return False
    return True
