"""Text files of edges, line by line: opened, decoded, split into columns, faults described."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

_FIELD = re.compile(r"[^ \t\r\n]+")
_SPACES_AND_QUOTE = re.compile(' {2,}"')


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
    """Look for text around quotes, some of which DuckDB joins, drops or takes for a name's.

    A space before an opening quote is none of the name; more of them, and anything after a closing
    quote, are faults.

    Args:
        separator: one character; skip: lines above the first row.

    Raises:
        ValueError: there is some; the message names the line.
    """
    if not _may_be_unclean(path):
        return
    for number, row in _csv_rows(path, separator, skip, strictly=False):
        if any(_SPACES_AND_QUOTE.match(field) for field in row):
            raise ValueError(
                f"{path}:{number}: expected an opening quote after the separator, got spaces "
                "before it; take them away"
            )
    for _ in _csv_rows(path, separator, skip, strictly=True):
        pass


def _csv_rows(
    path: Path, separator: str, skip: int, *, strictly: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows and the line each ends on; strictly, nothing may be around quotes but spaces."""
    with open_lines(path) as lines:
        reader = csv.reader(
            islice(decode(path, lines), skip, None),
            delimiter=separator,
            skipinitialspace=strictly,
            strict=strictly,
        )
        try:
            for row in reader:
                yield reader.line_num + skip, row
        except csv.Error:
            raise ValueError(
                f"{path}:{reader.line_num + skip}: expected a separator after a closing quote, got "
                "other text; write quotes inside a name twice"
            ) from None


def _may_be_unclean(path: Path) -> bool:
    last = b""
    with open_lines(path) as file:
        while chunk := file.read(1 << 20):
            text = last + chunk
            if b'" ' in text or b'  "' in text:
                return True
            last = text[-2:]
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
