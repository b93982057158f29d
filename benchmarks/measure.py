"""What the benchmarks share: times, peak memory, limits of this machine, and how figures are kept.

A benchmark makes a `Report` of tables. It prints them, and writes them to results/benchmarks/ where
asked to (`--save`); docs/benchmarks.md is made of those files by `make pages`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

# As the command line does, and before numba is imported: see `arcvec.cli.main`.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import numpy as np
import torch
from numba import njit, prange

from arcvec.view.table_text import figure

ROOT = Path(__file__).parent.parent
SAVED = ROOT / "results/benchmarks"
DATA = Path(os.environ.get("ARCVEC_DATA", ROOT.parent / "shared/data"))

_PRODUCT = 4096
_GATHERED = 1 << 24

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Table:
    """Figures under a title.

    Attributes:
        rows: name -> text or number; all rows have the same names. Ratios are numbers, not text.
    """

    title: str
    rows: list[dict[str, Any]]

    def __str__(self) -> str:
        grid = [
            list(self.rows[0]),
            *([figure(value) for value in row.values()] for row in self.rows),
        ]
        widths = [max(len(text) for text in column) for column in zip(*grid, strict=True)]
        lines = ("  ".join(t.rjust(w) for t, w in zip(row, widths, strict=True)) for row in grid)
        return f"{self.title}\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Report:
    """What one run of a benchmark gave.

    Attributes:
        command: that made it, from the root of the project.
        limits: of this machine, measured in the same run.
    """

    command: str
    tables: list[Table]
    limits: dict[str, float] = field(default_factory=dict)

    def save(self, name: str) -> None:
        """Write it for the docs."""
        from arcvec.storage.atomic import new_file

        SAVED.mkdir(parents=True, exist_ok=True)
        with new_file(SAVED / f"{name}.json", overwrite=True) as partial:
            partial.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def run_benchmark(
    parser: argparse.ArgumentParser, work: Callable[[argparse.Namespace], Report]
) -> None:
    """Do the work with the arguments given, print what came of it, save it if asked to."""
    parser.add_argument(
        "--save", action="store_true", help="keep the figures in results/benchmarks/"
    )
    arguments = parser.parse_args()
    report = work(arguments)
    for table in report.tables:
        print(table)
    if arguments.save:
        report.save(Path(sys.argv[0]).stem)


def command_line() -> str:
    """Return how this benchmark was called, from the root of the project."""
    given = (part for part in sys.argv[1:] if part != "--save")
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *given])


def example_result() -> tuple[Path, Path]:
    """Return a result of soc-epinions, dim 32, and its whole graph, made where they are missing."""
    result, graph = ROOT / "build/benchmarks/epinions", ROOT / "build/benchmarks/epinions-graph"
    raw, split = DATA / "raw/soc-Epinions1.txt.gz", DATA / "splits/soc-epinions"
    result.parent.mkdir(parents=True, exist_ok=True)
    arcvec = [sys.executable, "-m", "arcvec"]
    if not graph.exists():
        subprocess.run([*arcvec, "ingest", str(raw), "-o", str(graph)], check=True)
    if not result.exists():
        subprocess.run([*arcvec, "fit", str(split), "-o", str(result)], check=True)
    return result, graph


def seconds_of(work: Callable[[], Answer], repeats: int = 3) -> tuple[float, Answer]:
    """Return the seconds of the fastest of some runs, and what the last one returned."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return best, answer


def run_apart(command: Sequence[str], **environment: str) -> tuple[float, float, str]:
    """Run a command as a process of its own.

    Returns:
        seconds of wall time, peak of memory in GiB, what it printed.
    """
    start, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen(list(command), stdout=printed, env={**os.environ, **environment})
        while child.poll() is None:
            peak = max(peak, high_water(child.pid))
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        printed.seek(0)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, list(command))
        return seconds, peak, printed.read()


def high_water(process: int) -> float:
    """Return the peak of a running process in GiB.

    What the system says of a child after its end counts this process too, which it was forked from.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:  # it has just ended
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) / 2**20 if found else 0.0


def matmul_rate(threads: int) -> float:
    """Return the float32 operations a second of a large square matrix product."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        square = torch.rand(_PRODUCT, _PRODUCT)
        return 2 * _PRODUCT**3 / seconds_of(lambda: square @ square)[0]
    finally:
        torch.set_num_threads(before)


def bandwidth(threads: int) -> float:
    """Return the bytes a second that copying a large array reads and writes."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        source = torch.rand(1 << 26)
        target = torch.empty_like(source)
        return 2 * 4 * source.numel() / seconds_of(lambda: target.copy_(source))[0]
    finally:
        torch.set_num_threads(before)


def gather_rate(num_numbers: int, threads: int) -> float:
    """Return how many numbers a second can be read at random places of an array.

    Args:
        num_numbers: int32s in the array; all of a graph's edges, say.
    """
    import numba

    generator = np.random.default_rng(0)
    places = generator.integers(num_numbers, size=_GATHERED, dtype=np.int32)
    values = np.zeros(num_numbers, dtype=np.int32)
    numba.set_num_threads(threads)
    try:
        _sum_at(values, places[:10])
        return _GATHERED / seconds_of(lambda: _sum_at(values, places))[0]
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)


@njit(parallel=True)
def _sum_at(values, places):
    total = 0
    for i in prange(places.size):
        total += values[places[i]]
    return total
