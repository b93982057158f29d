"""Seconds before arcvec does something: imports, the list of commands, compilation.

python benchmarks/startup.py
python benchmarks/startup.py --quick

Compilation is what numba's own events count, without that inside of other compilation. It is cold
where the folder of numba's cache is new, and warm in a second process with the same folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from typing import Any

from measure import Report, Table, command_line, run_apart, run_benchmark

STARTS = {
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import arcvec": ["-c", "import arcvec"],
    "arcvec --help": ["-m", "arcvec", "--help"],
    "arcvec fit --help": ["-m", "arcvec", "fit", "--help"],
}

# Both run in processes of their own, and print the seconds they took as the last line.
WALK = """
import numpy as np
from arcvec.kernels.walks import first_order_walks
edges = np.array([0, 1, 2]), np.array([1, 0], dtype=np.int32)
first_order_walks(*edges, np.empty(0), np.zeros(1, dtype=np.int32), 2, 0, 0)
"""
DEMO = """
from arcvec.cli import main
main(["demo", "--out", sys.argv[1] + "/demo"])
"""
COUNTED = """
import json, sys, time
start = time.perf_counter()
from numba.core import event
listener = event.RecordingListener()
event.register("numba:compile", listener)
{work}
seconds, compiling, depth, functions = time.perf_counter() - start, 0.0, 0, 0
for moment, happened in listener.buffer:
    if happened.is_start:
        functions += 1
        began = moment if depth == 0 else began
    depth += 1 if happened.is_start else -1
    compiling += moment - began if depth == 0 else 0.0
print()
print(json.dumps({{"seconds": seconds, "compiling": compiling, "functions": functions}}))
"""


def main() -> None:
    """Measure, print, keep if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="without the demo")
    run_benchmark(parser, measure)


def measure(arguments: argparse.Namespace) -> Report:
    """Return a table of what starts and one of what compiles."""
    repeats = 3 if arguments.quick else 10
    starts = [start_row(name, command, repeats) for name, command in STARTS.items()]
    works = {"one kernel": WALK} if arguments.quick else {"one kernel": WALK, "arcvec demo": DEMO}
    compiled = [row for name, work in works.items() for row in compile_rows(name, work)]
    tables = [Table("Start", starts), Table("Compilation", compiled)]
    return Report(command_line(), tables)


def start_row(name: str, command: list[str], repeats: int) -> dict[str, Any]:
    """Return the seconds of the fastest of some processes."""
    seconds = min(run_apart([sys.executable, *command])[0] for _ in range(repeats))
    return {"command": name, "seconds": seconds}


def compile_rows(name: str, work: str) -> list[dict[str, Any]]:
    """Return what a process takes with a new cache, and then another with the same."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("cold", "warm"):
            command = [sys.executable, "-c", COUNTED.format(work=work), folder]
            _, _, printed = run_apart(command, NUMBA_CACHE_DIR=f"{folder}/cache")
            rows.append({"what": name, "cache": cache} | json.loads(printed.splitlines()[-1]))
    return rows


if __name__ == "__main__":
    main()
