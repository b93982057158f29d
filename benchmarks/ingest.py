"""Seconds and peak memory of `ingest_edges` on random edges, in Parquet and in text.

python benchmarks/ingest.py --edges 50000000 --json ingest.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

FORMATS = {"parquet": "FORMAT parquet", "txt": "FORMAT csv, DELIMITER '\t', HEADER false"}

# Run in a process of its own, so that its peak is the peak of ingest alone.
CHILD = """
import json, resource, sys, time
from arcvec.graph.ingest import EdgeFileSettings, ingest_edges
start = time.perf_counter()
report = ingest_edges(sys.argv[1], sys.argv[2], EdgeFileSettings(**json.loads(sys.argv[3])))
seconds = time.perf_counter() - start
cpu = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1),
                  "peak_gib": round(peak, 2),
                  "num_nodes": report.num_nodes, "num_edges": report.num_edges}))
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


def measure(path: Path, out: Path, settings: dict[str, object]) -> dict[str, object]:
    """Return the figures of one ingest."""
    command = [sys.executable, "-c", CHILD, str(path), str(out), json.dumps(settings)]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    name = "undirected" if settings.get("directed") is False else "directed"
    return {"format": path.suffix[1:], "settings": name, **figures}


def main() -> None:
    """Write the files, read them, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        print(f"{arguments.edges:,} edges, {arguments.nodes:,} names to draw from")
        titles = ("format", "settings", "seconds", "cpu", "peak GiB", "edges")
        print("{:<8} {:<11} {:>8} {:>7} {:>9} {:>12}".format(*titles))
        for kind in FORMATS:
            path = folder / f"edges.{kind}"
            write_random_edges(path, arguments.edges, arguments.nodes)
            for directed in (True, False):
                out = folder / f"{kind}-{directed}-{time.time_ns()}"
                row = measure(path, out, {"directed": directed})
                rows.append(row)
                print(
                    f"{row['format']:<8} {row['settings']:<11} {row['seconds']:>8} "
                    f"{row['cpu_seconds']:>7} {row['peak_gib']:>9} {row['num_edges']:>12,}",
                    flush=True,
                )
            path.unlink()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
