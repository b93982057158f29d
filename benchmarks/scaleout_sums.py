"""How long workers wait for a sum of some numbers, over their own connections and by gloo.

python benchmarks/scaleout_sums.py --save

Two workers of this machine with a thread each compute for a millisecond, then sum: what it takes
longer than that is what a step waits for at each of its sums.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from measure import Report, Table, command_line, run_benchmark

from arcvec.cli.workers import is_worker
from arcvec.scaleout.workers import Workers

SIZES = (1, 1000, 10_000)
REPEATS = 300
COMPUTING = 1e-3


def by_gloo(values: torch.Tensor) -> torch.Tensor:
    """Return the sum over all workers, by torch's way on processors."""
    total = values.clone()
    dist.all_reduce(total)
    return total


def microseconds(add: Callable[[torch.Tensor], torch.Tensor], size: int) -> float:
    """Return what a sum takes after some computing."""
    values = torch.ones(size)
    for _ in range(20):
        add(values)
    began = time.perf_counter()
    for _ in range(REPEATS):
        busy_until = time.perf_counter() + COMPUTING
        while time.perf_counter() < busy_until:
            pass
        add(values)
    return 1e6 * ((time.perf_counter() - began) / REPEATS - COMPUTING)


def work() -> None:
    """Measure as one of the workers; the first prints the rows as JSON."""
    workers = Workers.join()
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        own, gloo = microseconds(workers.sum, size), microseconds(by_gloo, size)
        rows.append({"numbers": size, "own connections, us": own, "gloo, us": gloo})
    if workers.is_first:
        print(json.dumps(rows))
    workers.leave()


def measure(arguments: argparse.Namespace) -> Report:
    """Start the workers, and return what they say."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *torchrun, __file__],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return Report(command_line(), [Table("A sum over two workers", json.loads(done.stdout))])


if __name__ == "__main__":
    if is_worker():
        work()
    else:
        run_benchmark(argparse.ArgumentParser(description=__doc__.split("\n")[0]), measure)
