"""A table of nodes: what is known about them besides their edges."""

from __future__ import annotations

import logging
from decimal import Decimal
from pathlib import Path

import numpy as np

from arcvec.explore.colourings import Colouring, by_category, by_number
from arcvec.graph.edge_layout import literal_path
from arcvec.graph.names import NodeNames

logger = logging.getLogger(__name__)

READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet"}


def read_colourings(path: Path, nodes: NodeNames) -> list[Colouring]:
    """Return a colouring by each column of a table but the first, which holds the nodes' names.

    Args:
        path: .csv, .tsv or .parquet file whose first row names the columns.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not such a table, or none of its nodes is in `nodes`.
    """
    import duckdb

    if path.suffix not in READERS:
        raise ValueError(f"{path}: expected a table whose name ends in .csv, .tsv or .parquet")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    header = ", header = true" if READERS[path.suffix] == "read_csv" else ""
    with duckdb.connect() as connection:
        try:
            table = connection.execute(
                f"SELECT * FROM {READERS[path.suffix]}(?, hive_partitioning = false{header})",
                [literal_path(path)],
            )
            columns = [(column[0], str(column[1])) for column in table.description or ()]
            rows = table.fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{path}: expected a table with a header, got: {reason}") from None
    if len(columns) < 2:
        raise ValueError(f"{path}: expected a column of names and at least one more, got {columns}")
    return _colourings(path, [name for name, _ in columns], rows, nodes)


def _colourings(
    path: Path, columns: list[str], rows: list[tuple[object, ...]], nodes: NodeNames
) -> list[Colouring]:
    row_of = {str(row[0]): row for row in rows}
    nothing = (None,) * len(columns)
    matched = [row_of.get(name, nothing) for name in nodes]
    found = sum(row is not nothing for row in matched)
    if not found:
        raise ValueError(
            f'{path}: expected node names in its first column, "{columns[0]}", got {len(rows):,} '
            f"rows none of which is among the {len(nodes):,} nodes of the result"
        )
    if found < len(nodes):
        logger.info("%s has no row for %d of %d nodes", path, len(nodes) - found, len(nodes))
    return [_colouring(columns[i], [row[i] for row in matched]) for i in range(1, len(columns))]


def _colouring(name: str, values: list[object]) -> Colouring:
    if all(value is None or _is_number(value) for value in values):
        return by_number(name, np.array([np.nan if v is None else v for v in values], dtype=float))
    return by_category(name, [None if value is None else str(value) for value in values])


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
