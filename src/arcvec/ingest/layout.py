"""The layout of an edge file: its kind, separator, header and columns, as set or as guessed."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field

from arcvec.settings import Settings

SAMPLED_LINES = 200

_SOURCE_TARGET_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"))
_WEIGHT_NAMES = ("weight", "w")
_PARQUET_INTEGERS = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_INTEGER = re.compile(r"-?\d+")
_FIELD = re.compile(r"[^ \t\r\n]+")
# The first lines of KONECT and MatrixMarket files; a name may well start with a single "%".
_PERCENT_COMMENT = re.compile(r"%[%\s]")
_COLUMN = "its name, or its position from 0"


class EdgeFileSettings(Settings):
    """How to read edge files."""

    directed: bool = Field(True, description="edges have a direction, or none")
    separator: str | None = Field(
        None,
        min_length=1,
        max_length=4,
        description='what splits the columns, such as "," or "\\t"; guessed by default',
    )
    header: Literal["auto", "yes", "no"] = Field(
        "auto", description="whether the first line names the columns"
    )
    source: str | None = Field(None, description=f"column of the sources: {_COLUMN}")
    target: str | None = Field(None, description=f"column of the targets: {_COLUMN}")
    weight: str | None = Field(None, description=f'column of the weights: {_COLUMN}; "" for none')
    self_loops: Literal["drop", "keep"] = Field(
        "drop", description="what becomes of edges from a node to itself"
    )
    largest_component: bool = Field(
        False, description="keep only the largest weakly connected component"
    )
    comment: str = Field("#", description='lines that start with this are skipped; "" for none')
    memory_limit: str = Field(
        "1.5GB",
        pattern=r"^\d+(\.\d+)? ?[KMGT]i?B$",
        description="memory for sorting and joining; what is more goes to disk for a while",
    )

    @property
    def columns(self) -> tuple[str | None, str | None, str | None]:
        """The columns of source, target and weight as set; None: guessed."""
        return self.source, self.target, self.weight


@dataclass(frozen=True)
class EdgeLayout:
    """Where the edges are in one file."""

    path: Path
    kind: Literal["text", "parquet"]
    columns: tuple[str, ...]  # their names; "0", "1", ... if the file has no header
    source: int  # a position in `columns`, as those below
    target: int
    weight: int | None
    separator: str | None = None  # what splits columns in text; None: any run of tabs and spaces
    skip: int = 0  # lines of text before the first edge: comments and the header
    skip_ends: int = 0  # carriage returns and newlines in those lines
    trim: bool = False  # whether spaces after each separator belong to the separator
    integers: bool = False  # whether all names are integers of Parquet
    first_edge: tuple[str, str] | None = None  # the first line, if it might be a header instead
    notes: tuple[str, ...] = ()  # guesses the user should know of


def find_layouts(path: Path, settings: EdgeFileSettings) -> list[EdgeLayout]:
    """Return the layout of a file, or of all files in a folder, which must agree."""
    first, *others = layouts = [inspect_file(file, settings) for file in _find_files(path)]
    agreed = first.columns, first.weight, first.separator
    for other in others:
        if (other.columns, other.weight, other.separator) != agreed:
            raise ValueError(
                f"{other.path}: expected the columns {', '.join(first.columns)} as in "
                f"{first.path.name}, got {', '.join(other.columns)}; ingest them apart"
            )
    return layouts


def _find_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(
            f"{path}: no such file or folder; expected edges in text or Parquet"
        )
    # Spark and others leave _SUCCESS, hidden checksums and empty parts beside the data.
    shown = (file for file in path.iterdir() if file.name[0] not in "._")
    files = sorted(file for file in shown if file.is_file() and file.stat().st_size)
    if not files:
        raise FileNotFoundError(f"{path}: expected edge files in this folder, found none")
    kinds = {_suffix(file) or "no suffix": file.name for file in files}
    if len(kinds) > 1:
        one, two, *_ = (f"{kind} ({name})" for kind, name in kinds.items())
        raise ValueError(
            f"{path}: expected files of one kind, got {one} and {two}; ingest one file at a time"
        )
    return files


def inspect_file(path: Path, settings: EdgeFileSettings) -> EdgeLayout:
    """Return the layout of one file, from its first lines or its Parquet schema."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1" or _suffix(path) in (".parquet", ".pq")
    return (_inspect_parquet if is_parquet else _inspect_text)(path, settings)


def _inspect_parquet(path: Path, settings: EdgeFileSettings) -> EdgeLayout:
    import duckdb

    query = "SELECT * FROM read_parquet(?, hive_partitioning = false) LIMIT 0"
    try:
        with duckdb.connect() as connection:
            schema = connection.execute(query, [literal_path(path)]).description
    except (duckdb.Error, RuntimeError):  # RuntimeError: names of columns are not UTF-8
        raise ValueError(
            f"{path}: expected a Parquet file, got one that is not, or is cut short or damaged; "
            "write or fetch it again"
        ) from None
    names = tuple(column[0] for column in schema)
    positions = _choose_columns(path, names, settings, header=True)
    integers = all(str(schema[i][1]) in _PARQUET_INTEGERS for i in positions[:2])
    notes = tuple(_unused_columns_note(names, positions))
    return EdgeLayout(path, "parquet", names, *positions, integers=integers, notes=notes)


def _inspect_text(path: Path, settings: EdgeFileSettings) -> EdgeLayout:
    skip, skip_ends, lines = _first_lines(path, settings.comment)
    separator = _separator(path, lines, settings.separator)
    rows = [row for _, row in split_rows(path, lines, separator)]
    if len(rows) > SAMPLED_LINES // 2:
        rows.pop()  # its quotes may close beyond the sample
    header = _has_header(rows, settings, separator)
    first = rows[0]
    if len(first) < 2:
        raise ValueError(f"{path}:{skip + 1}: {describe_column_count(first, len(first))}")
    columns = tuple(name.strip() if header else str(i) for i, name in enumerate(first))
    edge = rows[header] if len(rows) > header else []
    numeric = len(edge) == 3 and is_number(edge[2])
    positions = source, target, weight = _choose_columns(path, columns, settings, header, numeric)
    notes = [*_unused_columns_note(columns, positions)]
    if header and settings.header == "auto" and not any(settings.columns):
        if not _known_pair(columns):
            read_as = f"the names of columns ({', '.join(columns)})"
            notes.insert(0, f"first line read as {read_as}; if not, pass --header no")
    elif weight is not None and not header and not settings.weight:
        notes.append('third column read as weights; to do without them, pass --weight ""')
    undecided = settings.header == "auto" and separator is not None and not header
    # Carriage returns before the header end lines of their own.
    header_ends = lines[0].count("\r") - lines[0].lstrip(" \t\r").count("\r") + 1
    # If a quote follows the separator, spaces are inside the quotes: part of the name.
    quoted = any(f'{separator}"' in line for line in lines[header:])
    padded = all(value.startswith(" ") for row in rows[header:] for value in row[1:])
    return EdgeLayout(
        path,
        "text",
        columns,
        *positions,
        separator,
        skip=skip + header,
        skip_ends=skip_ends + header * header_ends,
        trim=separator is not None and padded and not quoted,
        first_edge=(first[source], first[target]) if undecided else None,
        notes=tuple(notes),
    )


def _first_lines(path: Path, comment: str) -> tuple[int, int, list[str]]:
    """Return how many comments and blank lines open the file, their ends, and some lines after."""

    def is_edge(line: str) -> bool:
        return bool(line.strip()) and not (comment and line.lstrip().startswith(comment))

    skip = skip_ends = 0
    lines = read_lines(path)
    for line in lines:
        if is_edge(line) and not _PERCENT_COMMENT.match(line):
            return skip, skip_ends, [line, *filter(is_edge, islice(lines, SAMPLED_LINES))]
        skip += 1
        skip_ends += line.count("\r") + line.count("\n")
    if skip == 0:
        fault = "expected edges, got an empty file; is it the right one, and whole?"
        raise ValueError(f"{path}: {fault}")
    hint = f'; if "{comment}" starts a name, pass --comment ""' if comment else ""
    raise ValueError(f"{path}: expected edges, got only comments and blank lines{hint}")


def _separator(path: Path, lines: Sequence[str], given: str | None) -> str | None:
    if given is not None:
        given = given.replace("\\t", "\t")
        return given if given.strip(" ") else None
    if _suffix(path) in _SEPARATORS:
        return _SEPARATORS[_suffix(path)]
    lines = [line.strip() for line in lines if line.strip()]
    tightened = [re.sub(r"\s*,\s*", ",", line) for line in lines]
    if all("," in line and not re.search(r"\s", line) for line in tightened):
        return ","
    # Tabs throughout, and spaces too: the spaces are inside names.
    spaced = any(" " in part.strip(" ") for line in lines for part in line.split("\t"))
    return "\t" if spaced and all("\t" in line for line in lines) else None


def _has_header(
    rows: Sequence[Sequence[str]], settings: EdgeFileSettings, separator: str | None
) -> bool:
    if settings.header != "auto":
        return settings.header == "yes"
    if any(name and not name.isdigit() for name in settings.columns):
        return True
    first, rest = rows[0], rows[1:]
    values = {value for row in rest for value in row[:2]}
    pair = _known_pair(first)
    if pair and values.isdisjoint(first[i] for i in pair):
        return True
    if not rest or len(first) < 2:
        return False
    numbers_below = all(_INTEGER.fullmatch(value.strip()) for value in values)
    if numbers_below and not any(_INTEGER.fullmatch(value.strip()) for value in first[:2]):
        return True
    # A word above a column of numbers; without a separator it is more likely a bad weight.
    if separator is None or any(len(row) != 3 for row in rows):
        return False
    return not is_number(first[2]) and all(is_number(row[2]) for row in rest)


def _choose_columns(
    path: Path,
    columns: Sequence[str],
    settings: EdgeFileSettings,
    header: bool,
    numeric_third: bool = False,
) -> tuple[int, int, int | None]:
    """Return the positions of source, target and weight: as set, well-known, or the first ones."""
    positions = {str(i): i for i in range(len(columns))}
    if header:
        positions |= {name: columns.index(name) for name in columns}
    for name in filter(None, settings.columns):
        if name not in positions:
            hint = "" if header else "; if the first line names the columns, pass --header yes"
            shown = ", ".join(columns)
            raise ValueError(f'{path}: no column "{name}"; the columns are {shown}{hint}')
    if len(columns) < 2:
        raise ValueError(f"{path}: expected 2 or 3 columns, got 1: {columns[0]}")
    defaults = (_known_pair(columns) if header else None) or (0, 1)
    source = positions[settings.source] if settings.source else defaults[0]
    target = positions[settings.target] if settings.target else defaults[1]
    if source == target:
        raise ValueError(
            f'{path}: source and target are both the column "{columns[source]}"; '
            f"pass --source and --target, out of: {', '.join(columns)}"
        )
    if settings.weight is not None:
        return source, target, positions[settings.weight] if settings.weight else None
    weight = 2 if numeric_third and not header and {source, target} == {0, 1} else None
    if header:
        named = [i for i, name in enumerate(columns) if name.strip().lower() in _WEIGHT_NAMES]
        weight = next((i for i in named if i not in (source, target)), None)
    return source, target, weight


def _known_pair(columns: Sequence[str]) -> tuple[int, int] | None:
    lowered = [name.strip().lower() for name in columns]
    for source, target in _SOURCE_TARGET_NAMES:
        if source in lowered and target in lowered:
            return lowered.index(source), lowered.index(target)
    return None


def _unused_columns_note(columns: Sequence[str], used: Sequence[int | None]) -> Iterator[str]:
    unused = [name for i, name in enumerate(columns) if i not in used]
    if unused:
        hint = "" if used[2] is not None else "; if one of them holds weights, pass --weight"
        yield f"columns not used: {', '.join(unused)}{hint}"


def is_gzip(path: Path) -> bool:
    """Return whether a file is gzipped, whatever its name."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedIOBase]:
    """Open a text file, gzipped or not, for reading bytes."""
    try:
        with gzip.open(path) if is_gzip(path) else path.open("rb") as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(
            f"{path}: expected a whole gzip file, got one cut short or damaged; fetch it again"
        ) from None


def read_lines(path: Path) -> Iterator[str]:
    """Yield lines of text; raise a ValueError that names the line if one is not UTF-8."""
    with open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}:{number}: expected UTF-8 text, got the byte "
                    f"0x{line[error.start]:02x}; save the file as UTF-8"
                ) from None


def split_rows(
    path: Path, lines: Iterable[str], separator: str | None, skip: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each row and the line it starts on, from 1; blank lines are skipped."""
    if separator is not None and len(separator) == 1:
        yield from split_csv(path, lines, separator, skip)
        return
    for number, line in enumerate(islice(lines, skip, None), start=skip + 1):
        if separator is None:
            # A carriage return alone ends a line too.
            yield from ((number, row) for row in map(_FIELD.findall, line.split("\r")) if row)
        elif line.strip():
            yield number, line.rstrip("\r\n").split(separator)


def split_csv(
    path: Path, lines: Iterable[str], separator: str, skip: int, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of `split_rows`; if strict, only spaces may be around quotes."""
    reader = csv.reader(
        islice(lines, skip, None), delimiter=separator, skipinitialspace=strict, strict=strict
    )
    number = skip + 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = skip + reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}:{skip + reader.line_num}: expected a separator after a closing quote, got "
            "other text; write quotes inside a name twice"
            if strict
            else f"{path}: cannot be read as csv: {error}; see to its quotes and line endings"
        ) from None


def describe_column_count(row: Sequence[str], expected: int) -> str:
    """Return what is wrong with a row of too few or too many columns, and what to do."""
    if len(row) > 1:
        return f"expected {expected} columns as on the first line, got {len(row)}"
    names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    mark = next((mark for mark in names if row and mark in row[0].strip()), ",")
    hint = f'if columns are split by {names[mark]}, pass --separator "{mark}"'.replace("\t", "\\t")
    return f"expected 2 or 3 columns, got {len(row)}; {hint}"


def is_number(text: str) -> bool:
    """Return whether the text is a number, which may be negative or not finite."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def literal_path(path: Path) -> str:
    """Return the path with DuckDB's wildcards "*", "?" and "[" escaped."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix
