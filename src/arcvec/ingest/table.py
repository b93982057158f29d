"""Edge files in DuckDB: `raw (source, target[, weight])`, then nodes and edges by row number."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.names import ESCAPES
from arcvec.ingest import layout as edge_files
from arcvec.ingest.layout import EdgeFileSettings, EdgeLayout

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES_PER_BLOCK = 1 << 20
ENTRIES_PER_BLOCK = 1 << 22

_READ_CSV = "header = false, auto_detect = false, comment = '', hive_partitioning = false"
# Checked as float32, in which weights are stored: tiny ones become 0, huge ones infinite.
_IS_WEIGHT = "TRY_CAST(weight AS FLOAT) > 0 AND isfinite(TRY_CAST(weight AS FLOAT))"
_SPACES_AND_QUOTE = re.compile(' {2,}"')


@contextmanager
def work_database(folder: Path, memory_limit: str) -> Iterator[DuckDBPyConnection]:
    """Yield a DuckDB database in memory; what exceeds the limit is in `folder` for a while."""
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": memory_limit,
        "temp_directory": str(folder / "spill"),
        # The limit must hold the buffers of all threads.
        "threads": min(os.cpu_count() or 1, 8),
    }
    try:
        with duckdb.connect(config=config) as connection:
            connection.execute("SET enable_progress_bar = false")
            # It would drop the check of weights if Parquet's statistics say that all are above 0.
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            yield connection
    except duckdb.OutOfMemoryException:
        fault = f"{memory_limit} of memory do not suffice for these edges"
        raise MemoryError(f"{fault}; raise --memory-limit") from None
    except duckdb.IOException as error:
        reason = str(error).removeprefix("IO Error: ").splitlines()[0]
        raise OSError(f"cannot work in {folder.parent}: {reason}") from None


def load_raw_edges(
    connection: DuckDBPyConnection, layouts: Sequence[EdgeLayout], comment: str
) -> int:
    """Fill the table `raw` from all files, checked, and return the number of its rows.

    Names are VARCHAR, or BIGINT if all files are Parquet with integers. A ValueError names file
    and line of a row that is not an edge.
    """
    import duckdb

    name_type = "BIGINT" if all(layout.integers for layout in layouts) else "VARCHAR"
    weight = ", weight DOUBLE NOT NULL" if layouts[0].weight is not None else ""
    connection.execute(
        f"CREATE TABLE raw (source {name_type} NOT NULL, target {name_type} NOT NULL{weight})"
    )
    for layout in layouts:
        query, parameters = _select(layout, comment)
        checked = ", ".join(_checked_columns(layout))
        try:
            connection.execute(f"INSERT INTO raw SELECT {checked} FROM ({query})", parameters)
        except duckdb.OutOfMemoryException:
            raise ValueError(
                f"{layout.path}: expected edges that fit into memory, got a file that claims to "
                "hold more; it is damaged, or needs a larger --memory-limit"
            ) from None
        except duckdb.Error as error:
            raise ValueError(_explain(connection, layout, comment, error)) from None
        if layout.kind == "text":
            _require_sound(layout)
    (count,) = connection.execute("SELECT count(*) FROM raw").fetchall()[0]
    return int(count)


def _require_sound(layout: EdgeLayout) -> None:
    """Refuse what DuckDB does not notice: damaged gzip files, and text around quotes."""
    path, separator = layout.path, layout.separator
    has_quotes = separator is not None and len(separator) == 1
    if not has_quotes and not edge_files.is_gzip(path):
        return
    is_suspicious = False
    with edge_files.open_bytes(path) as file:
        # Up to the checksum at the end of a gzip file.
        while chunk := file.read(1 << 20) + file.readline():
            is_suspicious |= b'" ' in chunk or b'  "' in chunk
    if separator is None or not has_quotes or not is_suspicious:
        return
    for strict in (False, True):
        lines = edge_files.read_lines(path)
        rows = edge_files.split_csv(path, lines, separator, layout.skip, strict=strict)
        for number, row in rows:
            if any(map(_SPACES_AND_QUOTE.match, row)):
                raise ValueError(
                    f"{path}:{number}: expected an opening quote after the separator, got spaces "
                    "before it; take them away"
                )


def _roles(layout: EdgeLayout) -> dict[str, int]:
    roles = {"source": layout.source, "target": layout.target, "weight": layout.weight}
    return {role: position for role, position in roles.items() if position is not None}


def _checked_columns(layout: EdgeLayout) -> Iterator[str]:
    """Yield SQL for source, target and weight, each NULL if it is not fit for an edge."""
    for name in ("source", "target"):
        value = f"ltrim({name}, ' ')" if layout.trim else name
        yield value if layout.integers else f"nullif({value}::VARCHAR, '')"
    if layout.weight is not None:
        yield f"CASE WHEN {_IS_WEIGHT} THEN weight::DOUBLE END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _select(layout: EdgeLayout, comment: str) -> tuple[str, list[object]]:
    """Return SQL for the columns of a file by role, and for its row numbers if it is Parquet."""
    roles, path = _roles(layout), edge_files.literal_path(layout.path)
    if layout.kind == "parquet":
        named = [f"{_quoted(layout.columns[i])} AS {role}" for role, i in roles.items()]
        return (
            f"SELECT {', '.join(named)}, file_row_number + 1 AS number "
            "FROM read_parquet(?, hive_partitioning = false, file_row_number = true)",
            [path],
        )
    compression = "gzip" if edge_files.is_gzip(layout.path) else "none"
    columns = ", ".join(f"column{position} AS {role}" for role, position in roles.items())
    fields = [f"'column{i}'" for i in range(len(layout.columns))]
    if layout.separator is None:
        parameters = [path, layout.skip_ends, compression, comment, comment, comment]
        return f"SELECT {columns} FROM {_split_by_spaces(fields)}", parameters
    types = ", ".join(f"{name}: 'VARCHAR'" for name in fields)
    # Python's csv module, which looks for faults, has no quotes with long separators either.
    quote = '"' if len(layout.separator) == 1 else ""
    return (
        f"SELECT {columns} FROM read_csv(?, delim = ?, quote = ?, escape = ?, "
        f"skip = ?, columns = {{{types}}}, compression = ?, {_READ_CSV})",
        [path, layout.separator, quote, quote, layout.skip, compression],
    )


def _split_by_spaces(names: Sequence[str]) -> str:
    """Return SQL that splits lines by one regular expression: DuckDB cannot split by runs."""
    fields = "[ \t\r]+".join(["([^ \t\r]+)"] * len(names))
    pattern = f"^[ \t\r]*{fields}[ \t\r]*$"
    # With new_line set, DuckDB lets carriage returns end lines too, alone or not; left to guess,
    # it drops the character after a lone one. `contains` is cheap: trimming every line is not.
    return (
        f"(SELECT line, unnest(regexp_extract(line, '{pattern}', [{', '.join(names)}])) "
        "FROM read_csv(?, delim = chr(10), quote = '', escape = '', skip = ?, "
        "strict_mode = false, new_line = '\\n', columns = {'line': 'VARCHAR'}, compression = ?, "
        f"{_READ_CSV}) "
        "WHERE ? = '' OR NOT (contains(line, ?) AND starts_with(ltrim(line, ' \t'), ?))) "
        "WHERE column0 != '' OR NOT regexp_matches(line, '^[ \t\r]*$')"
    )


def _explain(
    connection: DuckDBPyConnection, layout: EdgeLayout, comment: str, error: Exception
) -> str:
    """Return in one line where the file is wrong and how, by a second, slower look at it."""
    if layout.kind == "parquet":
        found = _find_bad_row(connection, layout)
        hint = "if it is damaged, write or fetch it again"
    else:
        found = _find_bad_line(layout, comment)
        unpack = ", or unpack it first" if edge_files.is_gzip(layout.path) else ""
        hint = f"see to its quotes and line endings{unpack}"
    first = re.sub(r"^[\w ]*Error: ", "", str(error)).partition("\n")[0]
    too_long = re.search(r"^Maximum line size.*exceeded", str(error), re.MULTILINE)
    reason = " ".join(first.split()) + (f": {too_long[0]}" if too_long else "")
    return f"{layout.path}{found or f': cannot be read: {reason}; {hint}'}"


def _find_bad_line(layout: EdgeLayout, comment: str) -> str | None:
    lines = edge_files.read_lines(layout.path)
    for number, row in edge_files.split_rows(layout.path, lines, layout.separator, layout.skip):
        commented = bool(comment) and row[0].startswith(comment)
        if commented and layout.separator is None:
            continue
        if len(row) != len(layout.columns):
            fault = edge_files.describe_column_count(row, len(layout.columns))
        else:
            values = [row[position] for position in _roles(layout).values()]
            values = [text.lstrip(" ") if layout.trim else text for text in values]
            if all(values[:2]) and all(map(_is_weight, values[2:])):
                continue
            fault = _describe_values(values)
        if commented:
            fault = "expected comments above the first edge only, where columns have separators"
        return f":{number}: {fault}"
    return None


def _find_bad_row(connection: DuckDBPyConnection, layout: EdgeLayout) -> str | None:
    query, parameters = _select(layout, "")
    shown = ", ".join(f"coalesce({role}::VARCHAR, '')" for role in _roles(layout))
    faults = " OR ".join(f"({column}) IS NULL" for column in _checked_columns(layout))
    query = f"SELECT number, {shown} FROM ({query}) WHERE {faults} ORDER BY 1 LIMIT 1"
    import duckdb

    try:
        rows = connection.execute(query, parameters).fetchall()
    except duckdb.Error:  # damaged, not wrong
        return None
    return f": row {rows[0][0]}: {_describe_values(rows[0][1:])}" if rows else None


def _describe_values(values: Sequence[str]) -> str:
    """Return what is wrong with a source, a target and perhaps a weight."""
    if not all(values[:2]):
        return "expected a source and a target, got an empty name"
    hint = 'to do without weights, pass --weight ""'
    return f'expected a positive, finite weight, got "{values[2]}"; {hint}'


def _is_weight(text: str) -> bool:
    try:
        with np.errstate(over="ignore"):
            value = np.float32(text)
    except ValueError:
        return False
    # numpy also reads the digits of other scripts
    return text.isascii() and bool(np.isfinite(value) and value > 0)


def number_nodes(connection: DuckDBPyConnection) -> Iterator[bytes]:
    """Make the table `nodes` of the names in `raw`, in order; yield blocks of a `nodes.txt`."""
    connection.execute(
        "CREATE TABLE nodes AS "
        "FROM (SELECT source AS name FROM raw UNION SELECT target FROM raw) "
        "ORDER BY strlen(name::VARCHAR), name::VARCHAR"
    )
    (num_nodes,) = connection.execute("SELECT count(*) FROM nodes").fetchall()[0]
    if num_nodes > np.iinfo(np.int32).max:
        raise ValueError(f"expected at most {np.iinfo(np.int32).max:,} nodes, got {num_nodes:,}")
    escaped = "name::VARCHAR"
    for _ in ESCAPES:
        escaped = f"replace({escaped}, ?, ?)"
    query = (
        f"SELECT string_agg({escaped} || chr(10), '' ORDER BY rowid) FROM nodes "
        "WHERE rowid >= ? AND rowid < ?"
    )
    texts = list(chain.from_iterable(ESCAPES))
    for start in range(0, num_nodes, NAMES_PER_BLOCK):
        block = connection.execute(query, [*texts, start, start + NAMES_PER_BLOCK]).fetchall()
        yield block[0][0].encode()


def merge_edges(
    connection: DuckDBPyConnection, settings: EdgeFileSettings, *, weighted: bool
) -> dict[str, Any]:
    """Make the table `entries` of the rows, in order and once each; return counts by name."""
    weight, weight_sum = (", weight", ", fsum(weight) AS weight") if weighted else ("", "")
    kept = "WHERE raw.source != raw.target" if settings.self_loops == "drop" else ""
    connection.execute(
        "CREATE TABLE edges AS "
        f"SELECT s.rowid::INTEGER AS source, t.rowid::INTEGER AS target{weight} FROM raw "
        f"JOIN nodes s ON raw.source = s.name JOIN nodes t ON raw.target = t.name {kept}"
    )
    mirrored = f"UNION ALL SELECT target, source{weight} FROM edges WHERE source != target"
    mirrored = "" if settings.directed else mirrored
    # `fsum` is exact to the last bits of a float64, whatever the order of the lines.
    connection.execute(
        f"CREATE TABLE entries AS SELECT source, target{weight_sum} "
        f"FROM (FROM edges {mirrored}) GROUP BY ALL ORDER BY ALL"
    )
    result = connection.execute(
        "SELECT (SELECT count(*) FROM nodes) AS num_nodes,"
        "(SELECT count(*) FROM raw WHERE source = target) AS num_loop_lines,"
        "(SELECT count(*) FROM edges) AS num_kept,"
        "count(*) AS num_entries, count(*) FILTER (source = target) AS num_self_loops,"
        # Equal for equal sets of edges, and hardly for others.
        "num_entries > num_self_loops AND sum(hash(source, target)) = sum(hash(target, source)) "
        f"AS is_symmetric, {'max(weight)' if weighted else 'NULL'} AS largest_weight "
        "FROM entries"
    )
    names = [column[0] for column in result.description]
    return dict(zip(names, result.fetchall()[0], strict=True))


def entry_blocks(
    connection: DuckDBPyConnection, num_entries: int
) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of `entries`, block by block."""
    query = "SELECT * FROM entries WHERE rowid >= ? AND rowid < ?"
    for start in range(0, num_entries, ENTRIES_PER_BLOCK):
        yield connection.execute(query, [start, start + ENTRIES_PER_BLOCK]).fetchnumpy()
