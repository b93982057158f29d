"""What a raw edge file looks like: its kind, separator, header and columns, told or guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from arcvec.graph.edge_settings import EdgeFileSettings
from arcvec.graph.edge_text import (
    decode,
    describe_column_count,
    is_number,
    open_lines,
    split_rows,
)

SAMPLED_LINES = 200
SOURCE_TARGET_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"))
WEIGHT_NAMES = ("weight", "w")

_PARQUET_SUFFIXES = (".parquet", ".pq")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_WEIGHTS_NOTE = 'third column read as weights; to do without them, pass --weight ""'
_INTEGER = re.compile(r"-?\d+")
# The tops of KONECT and MatrixMarket files; a name may well start with a single "%".
_PERCENT_COMMENT = re.compile(r"%[%\s]")


@dataclass(frozen=True)
class EdgeLayout:
    """Where in one file the edges stand.

    Attributes:
        separator: what splits columns in text; None: any run of tabs and spaces.
        columns: their names; "0", "1", ... where the file has no header.
        source, target, weight: positions in `columns`.
        skip: lines of text before the first edge: comments and the header.
        skip_ends: carriage returns and newlines in those lines.
        trim: spaces after each separator belong to the separator.
        first_edge: the names on the first line, where they might be a header instead.
        notes: guesses the user should know of.
    """

    path: Path
    kind: Literal["text", "parquet"]
    columns: tuple[str, ...]
    source: int
    target: int
    weight: int | None
    separator: str | None = None
    skip: int = 0
    skip_ends: int = 0
    trim: bool = False
    integers: bool = False
    first_edge: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()


def find_layouts(path: Path, settings: EdgeFileSettings) -> list[EdgeLayout]:
    """Return the layout of a file, or of all files in a folder, which must agree.

    Raises:
        FileNotFoundError: there is no such file, or none in the folder.
        ValueError: the file holds no edges, lacks a column, or differs from its neighbours.
    """
    layouts = [inspect_file(file, settings) for file in _find_files(path)]
    first = layouts[0]
    for other in layouts[1:]:
        same_columns = (other.columns, other.weight) == (first.columns, first.weight)
        if not same_columns or other.separator != first.separator:
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
    # Spark and its kin leave _SUCCESS, hidden checksums and empty parts beside the data.
    files = sorted(
        file
        for file in path.iterdir()
        if file.is_file() and file.name[0] not in "._" and file.stat().st_size
    )
    if not files:
        raise FileNotFoundError(f"{path}: expected edge files in this folder, found none")
    kinds = {_suffix(file) or "no suffix": file.name for file in files}
    if len(kinds) > 1:
        (one, its_file), (two, another_file) = list(kinds.items())[:2]
        raise ValueError(
            f"{path}: expected files of one kind, got {one} ({its_file}) and {two} "
            f"({another_file}); ingest one file at a time"
        )
    return files


def inspect_file(path: Path, settings: EdgeFileSettings) -> EdgeLayout:
    """Return the layout of one file, from its first lines or its Parquet schema."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1" or _suffix(path) in _PARQUET_SUFFIXES:
        return _inspect_parquet(path, settings)
    return _inspect_text(path, settings)


def _inspect_parquet(path: Path, settings: EdgeFileSettings) -> EdgeLayout:
    import duckdb

    try:
        with duckdb.connect() as connection:
            description = connection.execute(
                "SELECT * FROM read_parquet(?, hive_partitioning = false) LIMIT 0",
                [literal_path(path)],
            ).description
    except (duckdb.Error, RuntimeError):  # the latter where names of columns are not UTF-8
        raise ValueError(
            f"{path}: expected a Parquet file, got one that is not, or is cut short or damaged; "
            "write or fetch it again"
        ) from None
    names = tuple(column[0] for column in description)
    source, target, weight = _choose_columns(path, names, settings, header=True)
    integers = all(
        str(description[i][1]) in ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER")
        for i in (source, target)
    )
    return EdgeLayout(
        path,
        "parquet",
        names,
        source,
        target,
        weight,
        integers=integers,
        notes=_unused_columns_note(names, (source, target, weight)),
    )


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
    source, target, weight = _choose_columns(path, columns, settings, header, numeric)
    undecided = settings.header == "auto" and separator is not None and not header
    return EdgeLayout(
        path,
        "text",
        columns,
        source,
        target,
        weight,
        separator,
        skip=skip + header,
        skip_ends=skip_ends + header * _ends_before_next_row(lines[0]),
        trim=_spaces_after_separators(rows[header:], lines[header:], separator),
        first_edge=(first[source], first[target]) if undecided else None,
        notes=(
            *_header_note(columns, header, settings),
            *_unused_columns_note(columns, (source, target, weight)),
            *([_WEIGHTS_NOTE] if weight is not None and not header and not settings.weight else []),
        ),
    )


def _ends_before_next_row(line: str) -> int:
    return line.count("\r") - line.lstrip(" \t\r").count("\r") + 1


def _first_lines(path: Path, comment: str) -> tuple[int, int, list[str]]:
    """Return how many comments and blank lines open the file, their ends, and some lines after."""

    def is_edge(line: str) -> bool:
        return bool(line.strip()) and not (comment and line.lstrip().startswith(comment))

    skip = skip_ends = 0
    with open_lines(path) as lines:
        decoded = decode(path, lines)
        for line in decoded:
            if is_edge(line) and not _PERCENT_COMMENT.match(line):
                return skip, skip_ends, [line, *filter(is_edge, islice(decoded, SAMPLED_LINES))]
            skip += 1
            skip_ends += line.count("\r") + line.count("\n")
    if skip == 0:
        raise ValueError(
            f"{path}: expected edges, got an empty file; is it the right one, and whole?"
        )
    hint = f'; if "{comment}" starts a name, pass --comment ""' if comment else ""
    raise ValueError(f"{path}: expected edges, got only comments and blank lines{hint}")


def _separator(path: Path, lines: Sequence[str], told: str | None) -> str | None:
    if told is not None:
        told = told.replace("\\t", "\t")
        return told if told.strip(" ") else None
    if _suffix(path) in _SEPARATORS:
        return _SEPARATORS[_suffix(path)]
    lines = [line.strip() for line in lines if line.strip()]
    if all("," in line for line in lines):
        tightened = [re.sub(r"\s*,\s*", ",", line) for line in lines]
        if not any(re.search(r"\s", line) for line in tightened):
            return ","
    # Tabs throughout, and spaces too: the spaces are inside names.
    spaced = any(" " in part.strip(" ") for line in lines for part in line.split("\t"))
    return "\t" if spaced and all("\t" in line for line in lines) else None


def _has_header(
    rows: Sequence[Sequence[str]], settings: EdgeFileSettings, separator: str | None
) -> bool:
    if settings.header != "auto":
        return settings.header == "yes"
    if any(name and not name.isdigit() for name in _told_columns(settings)):
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
    # A word above a column of numbers; in loose text it is likelier a bad weight.
    third = [row[2] for row in rows if len(row) == 3]
    return (
        separator is not None
        and len(third) == len(rows)
        and not is_number(third[0])
        and all(map(is_number, third[1:]))
    )


def _choose_columns(
    path: Path,
    columns: Sequence[str],
    settings: EdgeFileSettings,
    header: bool,
    numeric_third: bool = False,
) -> tuple[int, int, int | None]:
    """Return the positions of source, target and weight: told, well-known, or the first ones."""
    told = [
        None if not name else _position(path, columns, name, header)
        for name in _told_columns(settings)
    ]
    default = _known_pair(columns) if header else None
    if len(columns) < 2:
        raise ValueError(f"{path}: expected 2 or 3 columns, got 1: {columns[0]}")
    source, target = (
        chosen if chosen is not None else position
        for chosen, position in zip(told[:2], default or (0, 1), strict=True)
    )
    if source == target:
        raise ValueError(
            f'{path}: source and target are both the column "{columns[source]}"; '
            f"pass --source and --target, out of: {', '.join(columns)}"
        )
    weight = told[2]
    if weight is None and settings.weight is None:
        named = [i for i, name in enumerate(columns) if name.strip().lower() in WEIGHT_NAMES]
        named = [i for i in named if i not in (source, target)]
        if header and named:
            weight = named[0]
        elif not header and numeric_third and {source, target} == {0, 1}:
            weight = 2
    return source, target, weight


def _told_columns(settings: EdgeFileSettings) -> tuple[str | None, str | None, str | None]:
    return settings.source, settings.target, settings.weight


def _position(path: Path, columns: Sequence[str], name: str, header: bool) -> int:
    if header and name in columns:
        return columns.index(name)
    positions = [str(i) for i in range(len(columns))]
    if name in positions:
        return positions.index(name)
    hint = "" if header else "; if the first line names the columns, pass --header yes"
    raise ValueError(f'{path}: no column "{name}"; the columns are {", ".join(columns)}{hint}')


def _known_pair(columns: Sequence[str]) -> tuple[int, int] | None:
    lowered = [name.strip().lower() for name in columns]
    for source, target in SOURCE_TARGET_NAMES:
        if source in lowered and target in lowered:
            return lowered.index(source), lowered.index(target)
    return None


def _spaces_after_separators(
    rows: Sequence[Sequence[str]], lines: Sequence[str], separator: str | None
) -> bool:
    # Where a quote follows the separator, the spaces are inside: part of the name.
    if separator is None or any(f'{separator}"' in line for line in lines):
        return False
    return all(value.startswith(" ") for row in rows for value in row[1:])


def _header_note(
    columns: Sequence[str], header: bool, settings: EdgeFileSettings
) -> tuple[str, ...]:
    told = settings.header == "yes" or any(_told_columns(settings))
    if not header or told or _known_pair(columns):
        return ()
    names = ", ".join(columns)
    return (f"first line read as the names of columns ({names}); if not, pass --header no",)


def _unused_columns_note(columns: Sequence[str], used: Sequence[int | None]) -> tuple[str, ...]:
    unused = [name for i, name in enumerate(columns) if i not in used]
    if not unused:
        return ()
    hint = "" if used[2] is not None else "; if one of them holds weights, pass --weight"
    return (f"columns not used: {', '.join(unused)}{hint}",)


def literal_path(path: Path) -> str:
    """Return the path so that DuckDB takes "*", "?" and "[" for what they are."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix
