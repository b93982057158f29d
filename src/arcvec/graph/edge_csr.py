"""From the table of raw edges to the files of a graph, one block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.files import growing_array
from arcvec.graph.names import ESCAPES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES_PER_BLOCK = 1 << 20
ENTRIES_PER_BLOCK = 1 << 22
NODES_PER_BUCKET = 1 << 10


def number_nodes(connection: DuckDBPyConnection) -> int:
    """Make the table `nodes (name, id)` of all names in `raw`, and return its length.

    Ids follow the names, shorter ones first, then by their bytes.
    """
    connection.execute(
        "CREATE TABLE names AS SELECT DISTINCT name FROM "
        "(SELECT source AS name FROM raw UNION ALL SELECT target FROM raw)"
    )
    (count,) = connection.execute("SELECT count(*) FROM names").fetchall()[0]
    if count > np.iinfo(np.int32).max:
        raise ValueError(f"expected at most {np.iinfo(np.int32).max:,} nodes, got {count:,}")
    connection.execute(
        "CREATE TABLE nodes AS SELECT name, (row_number() OVER "
        "(ORDER BY strlen(name::VARCHAR), name::VARCHAR) - 1)::INTEGER AS id FROM names"
    )
    return int(count)


@dataclass(frozen=True)
class EdgesRead:
    """How many lines were edges, how many of them are kept, and how many are self-loops."""

    num_lines: int
    num_kept: int
    num_self_loops: int


def number_edges(
    connection: DuckDBPyConnection, *, directed: bool, self_loops: str, weighted: bool
) -> EdgesRead:
    """Make the view `entries` of all entries of the adjacency, and return what was counted.

    Entries are (source, target[, weight]) by id, in no order, repeats included; an undirected
    edge gives two.
    """
    weight = ", weight" if weighted else ""
    kept = "WHERE raw.source != raw.target" if self_loops == "drop" else ""
    connection.execute(
        f"CREATE TABLE edges AS SELECT s.id AS source, t.id AS target{weight} FROM raw "
        f"JOIN nodes s ON raw.source = s.name JOIN nodes t ON raw.target = t.name {kept}"
    )
    mirrored = f"UNION ALL SELECT target, source{weight} FROM edges WHERE source != target"
    connection.execute(
        f"CREATE VIEW entries AS SELECT source, target{weight} FROM edges "
        + ("" if directed else mirrored)
    )
    counts = connection.execute(
        "SELECT count(*), (SELECT count(*) FROM edges), count(*) FILTER (source = target) FROM raw"
    ).fetchall()[0]
    return EdgesRead(*map(int, counts))


def write_names(connection: DuckDBPyConnection, path: Path, num_nodes: int) -> None:
    """Write `nodes.txt`."""
    escaped = "name::VARCHAR"
    for plain, shown in ESCAPES:
        escaped = f"replace({escaped}, {_sql_text(plain)}, {_sql_text(shown)})"
    query = (
        f"SELECT string_agg({escaped} || chr(10), '' ORDER BY id) FROM nodes "
        "WHERE id >= ? AND id < ?"
    )
    with path.open("wb") as file:
        for start in range(0, num_nodes, NAMES_PER_BLOCK):
            block = connection.execute(query, [start, start + NAMES_PER_BLOCK]).fetchall()
            file.write(block[0][0].encode())


def _sql_text(text: str) -> str:
    # chr() for every character: no quoting, no escapes to get wrong.
    return "(" + " || ".join(f"chr({ord(character)})" for character in text) + ")"


@dataclass(frozen=True)
class Adjacency:
    """What was written.

    Attributes:
        num_entries: length of `indices.npy`.
        num_self_loops: entries from a node to itself.
        symmetric: every edge also occurs reversed, and there are others than self-loops.
    """

    num_entries: int
    num_self_loops: int
    symmetric: bool

    def num_edges(self, *, directed: bool) -> int:
        """Return the number of edges; an undirected one counts once."""
        return self.num_entries if directed else (self.num_entries + self.num_self_loops) // 2


def write_adjacency(
    connection: DuckDBPyConnection, folder: Path, num_nodes: int, *, weighted: bool
) -> Adjacency:
    """Write `indptr.npy`, `indices.npy` and perhaps `weights.npy`; repeats are merged."""
    degrees = np.zeros(num_nodes + 1, dtype=np.int64)
    num_self_loops, balance = 0, 0
    with ExitStack() as stack:
        append = stack.enter_context(growing_array(folder / "indices.npy", np.int32))
        if weighted:
            append_weights = stack.enter_context(growing_array(folder / "weights.npy", np.float32))
        for start, stop in _row_blocks(connection):
            keys, weights = _merged_entries(connection, start, stop, weighted=weighted)
            sources, targets = keys >> 32, keys & 0xFFFFFFFF
            append(targets)
            if weighted:
                append_weights(weights)
            stop = min(stop, num_nodes)
            degrees[start + 1 : stop + 1] = np.bincount(sources - start, minlength=stop - start)
            num_self_loops += int((sources == targets).sum())
            balance += _digest(keys) - _digest(targets << 32 | sources)
    indptr = np.cumsum(degrees)
    np.save(folder / "indptr.npy", indptr, allow_pickle=False)
    num_entries = int(indptr[-1])
    symmetric = balance % 2**64 == 0 and num_entries > num_self_loops
    return Adjacency(num_entries, num_self_loops, symmetric)


def _row_blocks(connection: DuckDBPyConnection) -> Iterator[tuple[int, int]]:
    """Yield ranges of sources that hold about `ENTRIES_PER_BLOCK` entries each."""
    counts = connection.execute(
        "SELECT source // ? AS bucket, count(*) AS size FROM entries GROUP BY bucket "
        "ORDER BY bucket",
        [NODES_PER_BUCKET],
    ).fetchall()
    start, size = 0, 0
    for bucket, bucket_size in counts:
        if size and size + bucket_size > ENTRIES_PER_BLOCK:
            yield start, bucket * NODES_PER_BUCKET
            start, size = bucket * NODES_PER_BUCKET, 0
        size += bucket_size
    if size:
        yield start, (counts[-1][0] + 1) * NODES_PER_BUCKET


def _merged_entries(
    connection: DuckDBPyConnection, start: int, stop: int, *, weighted: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the sorted keys (source << 32 | target) of some rows, once each, and their weights."""
    entries = connection.execute(
        "SELECT * FROM entries WHERE source >= ? AND source < ?", [start, stop]
    ).fetchnumpy()
    keys = entries["source"].astype(np.int64) << 32 | entries["target"]
    if not weighted:
        keys.sort()
        return keys[_starts_of_runs(keys)], np.empty(0)
    # By weight too: sums of floats depend on the order, and threads deliver any order.
    order = np.lexsort((entries["weight"], keys))
    keys, weights = keys[order], entries["weight"][order]
    first = np.flatnonzero(_starts_of_runs(keys))
    sums = np.add.reduceat(weights, first)
    if sums.max() > np.finfo(np.float32).max:
        raise OverflowError(f"the weights of a repeated edge add up to {sums.max():.3g}")
    return keys[first], sums


def _starts_of_runs(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.concatenate([[True], keys[1:] != keys[:-1]])


def _digest(keys: NDArray[np.int64]) -> int:
    """Return a sum modulo 2**64 that is equal for equal sets of keys, and hardly for others."""
    mixed = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))
