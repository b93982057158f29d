"""Raw edge files in a DuckDB table: `raw (source, target[, weight])`, one row an edge."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arcvec.graph.edge_layout import EdgeLayout, literal_path
from arcvec.graph.edge_text import (
    decode,
    describe_column_count,
    is_gzip,
    open_lines,
    require_clean_fields,
    require_whole,
    split_rows,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SPACE, _NO_SPACE = "[ \t\r]", "[^ \t\r]"
_READ_CSV = "header = false, auto_detect = false, comment = '', hive_partitioning = false"
# The graph keeps float32: what is zero or infinite there is so here.
_IS_WEIGHT = "(TRY_CAST({0} AS FLOAT) > 0 AND isfinite(TRY_CAST({0} AS FLOAT)))"


@contextmanager
def work_database(
    folder: Path, memory_limit: str, *, keep_order: bool = False
) -> Iterator[DuckDBPyConnection]:
    """Yield a DuckDB database that spills into `folder`, which the caller removes afterwards."""
    import duckdb

    if "?" in str(folder):
        raise OSError(
            f'cannot work in {folder.parent}: to DuckDB the name of a file ends at "?"; '
            "choose an output without it"
        )
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory_limit,
        "temp_directory": str(folder / "spill"),
        "preserve_insertion_order": keep_order,
        # Each thread has buffers of its own, which the limit must hold.
        "threads": min(os.cpu_count() or 1, 8),
    }
    try:
        with duckdb.connect(str(folder / "edges.duckdb"), config=config) as connection:
            connection.execute("SET enable_progress_bar = false")
            # Where Parquet says that all weights are above 0, a check of that would be left out.
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            yield connection
    except duckdb.OutOfMemoryException:
        raise MemoryError(
            f"{memory_limit} of memory do not suffice for these edges; raise --memory-limit"
        ) from None
    except duckdb.IOException as error:
        reason = str(error).removeprefix("IO Error: ").splitlines()[0]
        raise OSError(f"cannot work in {folder.parent}: {reason}") from None


def load_raw_edges(
    connection: DuckDBPyConnection, layouts: Sequence[EdgeLayout], comment: str
) -> int:
    """Fill the table `raw` from all files, checked, and return the number of its rows.

    Names are VARCHAR, or BIGINT where all files are Parquet with integers.

    Raises:
        ValueError: a row is not an edge; the message names file and line.
    """
    import duckdb

    name_type = "BIGINT" if all(layout.integers for layout in layouts) else "VARCHAR"
    weight = ", weight DOUBLE NOT NULL" if layouts[0].weight is not None else ""
    connection.execute(
        f"CREATE TABLE raw (source {name_type} NOT NULL, target {name_type} NOT NULL{weight})"
    )
    for layout in layouts:
        query, parameters = _select_checked(layout, comment)
        try:
            connection.execute(f"INSERT INTO raw {query}", parameters)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise ValueError(_explain(connection, layout, comment, error)) from None
        if layout.kind == "text" and is_gzip(layout.path):
            require_whole(layout.path)  # DuckDB passes over the checksum
        if layout.separator is not None and len(layout.separator) == 1:
            require_clean_fields(layout.path, layout.separator, layout.skip)
    (count,) = connection.execute("SELECT count(*) FROM raw").fetchall()[0]
    return int(count)


def _select_checked(layout: EdgeLayout, comment: str) -> tuple[str, list[object]]:
    """Return SQL for source, target and weight, each NULL where it is not fit for an edge."""
    query, parameters = _select(layout, comment)
    names = ["source", "target"]
    if layout.trim:
        names = [f"ltrim({name}, ' ')" for name in names]
    if not layout.integers:
        names = [f"nullif({name}::VARCHAR, '')" for name in names]
    columns = [
        f"{value} AS {name}" for value, name in zip(names, ("source", "target"), strict=True)
    ]
    if layout.weight is not None:
        is_weight = _IS_WEIGHT.format("weight")
        columns.append(f"CASE WHEN {is_weight} THEN weight::DOUBLE END AS weight")
    return f"SELECT {', '.join(columns)} FROM ({query})", parameters


def _select(layout: EdgeLayout, comment: str) -> tuple[str, list[object]]:
    roles = {"source": layout.source, "target": layout.target}
    if layout.weight is not None:
        roles["weight"] = layout.weight
    if layout.kind == "parquet":
        columns = ", ".join(
            f"{_quoted(layout.columns[position])} AS {role}" for role, position in roles.items()
        )
        return f"SELECT {columns} FROM read_parquet(?, hive_partitioning = false)", [
            literal_path(layout.path)
        ]
    if layout.separator is None:
        return _select_by_spaces(layout, roles, comment)
    columns = ", ".join(f"column{position} AS {role}" for role, position in roles.items())
    types = ", ".join(f"'column{i}': 'VARCHAR'" for i in range(len(layout.columns)))
    # Python's csv module, which looks for faults, has no quotes with long separators either.
    quote = '"' if len(layout.separator) == 1 else ""
    return (
        f"SELECT {columns} FROM read_csv(?, delim = ?, quote = ?, escape = ?, skip = ?, "
        f"columns = {{{types}}}, compression = ?, {_READ_CSV})",
        [
            literal_path(layout.path),
            layout.separator,
            quote,
            quote,
            layout.skip,
            _compression(layout.path),
        ],
    )


def _select_by_spaces(
    layout: EdgeLayout, roles: dict[str, int], comment: str
) -> tuple[str, list[object]]:
    # Whole lines (nothing but their end is a separator), then one regular expression:
    # as fast as the parser of DuckDB, which cannot take runs of spaces for one separator.
    # Told that lines end in newlines, DuckDB lets carriage returns end lines too, alone or not;
    # left to guess, it drops the character after a lone one.
    fields = [
        f"({_NO_SPACE}+)" if i in roles.values() else f"{_NO_SPACE}+"
        for i in range(len(layout.columns))
    ]
    pattern = f"^{_SPACE}*" + f"{_SPACE}+".join(fields) + f"{_SPACE}*$"
    captured = ", ".join(f"'{role}'" for role in sorted(roles, key=roles.__getitem__))
    columns = ", ".join(f"found.{role} AS {role}" for role in roles)
    query = (
        f"SELECT {columns} FROM ("
        f"SELECT line, regexp_extract(line, '{pattern}', [{captured}]) AS found "
        "FROM read_csv(?, delim = chr(10), quote = '', escape = '', skip = ?, "
        "strict_mode = false, new_line = '\\n', columns = {'line': 'VARCHAR'}, compression = ?, "
        f"{_READ_CSV}) "  # contains: to trim every line would take as long as to read it
        "WHERE ? = '' OR NOT (contains(line, ?) AND starts_with(ltrim(line, ' \t'), ?))) "
        f"WHERE found.source != '' OR NOT regexp_matches(line, '^{_SPACE}*$')"
    )
    file = [literal_path(layout.path), layout.skip_ends, _compression(layout.path)]
    return query, [*file, comment, comment, comment]


def _compression(path: Path) -> str:
    return "gzip" if is_gzip(path) else "none"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explain(
    connection: DuckDBPyConnection, layout: EdgeLayout, comment: str, error: Exception
) -> str:
    """Return in one line where the file is wrong and how, by a second, slower look at it."""
    if layout.kind == "parquet":
        found = _find_bad_row(connection, layout)
        hint = "if it is damaged, write or fetch it again"
    else:
        found = _find_bad_line(layout, comment)
        hint = "see to its quotes and line endings"
        if is_gzip(layout.path):
            hint += ", or unpack it first"
    first = re.sub(r"^[\w ]*Error: ", "", str(error)).partition("\n")[0]
    too_long = re.search(r"^Maximum line size.*exceeded", str(error), re.MULTILINE)
    reason = " ".join(first.split()) + (f": {too_long[0]}" if too_long else "")
    return found or f"{layout.path}: cannot be read: {reason}; {hint}"


def _find_bad_line(layout: EdgeLayout, comment: str) -> str | None:
    with open_lines(layout.path) as lines:
        decoded = decode(layout.path, lines)
        for _ in range(layout.skip):
            next(decoded)
        for number, row in split_rows(layout.path, decoded, layout.separator):
            commented = bool(comment) and row[0].startswith(comment)
            if commented and layout.separator is None:
                continue
            fault = _find_fault(layout, row)
            if fault and commented:
                fault = "expected comments above the first edge only, where columns have separators"
            if fault:
                return f"{layout.path}:{number + layout.skip}: {fault}"
    return None


def _find_bad_row(connection: DuckDBPyConnection, layout: EdgeLayout) -> str | None:
    import duckdb

    columns = [_quoted(layout.columns[i]) for i in (layout.source, layout.target)]
    faults = [f"coalesce({name}::VARCHAR, '') = ''" for name in columns]
    if layout.weight is not None:
        columns.append(_quoted(layout.columns[layout.weight]))
        faults.append(f"NOT coalesce({_IS_WEIGHT.format(columns[2])}, false)")
    shown = ", ".join(f"coalesce({name}::VARCHAR, '')" for name in columns)
    try:
        rows = connection.execute(
            f"SELECT file_row_number + 1, {shown} FROM read_parquet(?, file_row_number = true) "
            f"WHERE {' OR '.join(faults)} ORDER BY 1 LIMIT 1",
            [literal_path(layout.path)],
        ).fetchall()
    except duckdb.Error:  # damaged, not wrong
        return None
    if not rows:
        return None
    number, *values = rows[0]
    return f"{layout.path}: row {number}: {_describe_values(values)}"


def _find_fault(layout: EdgeLayout, row: Sequence[str]) -> str | None:
    if len(row) != len(layout.columns):
        return describe_column_count(row, len(layout.columns))
    values = [row[i] for i in (layout.source, layout.target, layout.weight) if i is not None]
    if layout.trim:
        values = [value.lstrip(" ") for value in values]
    if all(values[:2]) and all(map(_is_weight, values[2:])):
        return None
    return _describe_values(values)


def _describe_values(values: Sequence[str]) -> str:
    """Return what is wrong with a source, a target and perhaps a weight."""
    if not all(values[:2]):
        return "expected a source and a target, got an empty name"
    return (
        f'expected a positive, finite weight, got "{values[2]}"; '
        'to do without weights, pass --weight ""'
    )


def _is_weight(text: str) -> bool:
    if not text.isascii():  # numpy also reads the digits of other scripts
        return False
    try:
        with np.errstate(over="ignore"):
            value = np.float32(text)
    except ValueError:
        return False
    return bool(np.isfinite(value) and value > 0)
