"""Seconds and peak memory of `ingest_edges` on random edges, in Parquet and in text.

python benchmarks/ingest.py --edges 50000000 --save
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
from measure import Report, Table, command_line, run_apart, run_benchmark

FORMATS = {"parquet": "FORMAT parquet", "txt": "FORMAT csv, DELIMITER '\t', HEADER false"}

# Run in a process of its own, so that its peak is the peak of ingest alone.
CHILD = """
import json, sys, time
from arcvec.ingest.ingest import EdgeFileSettings, ingest_edges
start = time.perf_counter()
report = ingest_edges(sys.argv[1], sys.argv[2], EdgeFileSettings(**json.loads(sys.argv[3])))
print(json.dumps({"seconds": time.perf_counter() - start, "edges": report.num_edges}))
"""


def write_random_edges(path: Path, num_edges: int, num_nodes: int) -> None:
    """Write edges between names with gaps, in no order; the same ones each time."""
    source, target = (
        f"(hash(range + {offset}) % {num_nodes})::BIGINT * 7 + 3" for offset in (0, 10**12)
    )
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(
            f"COPY (SELECT {source} AS source, {target} AS target FROM range({num_edges})) "
            f"TO '{path}' ({FORMATS[path.suffix[1:]]})"
        )


def ingest(path: Path, out: Path, *, directed: bool) -> dict[str, Any]:
    """Return the figures of one ingest."""
    settings = json.dumps({"directed": directed})
    _, peak, printed = run_apart([sys.executable, "-c", CHILD, str(path), str(out), settings])
    figures = json.loads(printed)
    return {
        "format": path.suffix[1:],
        "edges are": "directed" if directed else "undirected",
        **figures,
        "edges a second": figures["edges"] / figures["seconds"],
        "peak GiB": peak,
    }


def measure(arguments: argparse.Namespace) -> Report:
    """Write the files and read them."""
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        for kind in FORMATS:
            path = folder / f"edges.{kind}"
            write_random_edges(path, arguments.edges, arguments.nodes)
            rows += [
                ingest(path, folder / f"{kind}-{directed}", directed=directed)
                for directed in (True, False)
            ]
            path.unlink()
    return Report(command_line(), [Table("Reading edges", rows)])


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--nodes", type=int, default=5_000_000, help="names to draw from")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
