"""What a step takes as workers grow, simulated, and plans for two large graphs.

python benchmarks/scaleout_model.py --save

A step is a row of phases with an exchange or two after each. In a phase every worker computes its
share of the step, some faster than others, and all wait for the slowest; an exchange takes a
latency, some time for each other worker it sends to, and the bytes of docs/scale.md at the
bandwidth of a machine, which its workers share. Nothing overlaps, as in the training itself. The
time that a thread computes for a pair is what benchmarks/scaleout.py measured on a graph larger
than any cache; all other numbers are inputs.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from measure import SAVED, Report, Table, command_line, run_benchmark

GIB = 2**30


@dataclass(frozen=True)
class Job:
    """A graph, and how it is fitted.

    Attributes:
        nodes, edges: of the graph.
        pairs_each: pairs of a worker in a step.
        passes: pairs drawn for every edge.
        one_way: part of the edges whose reverse is none.
    """

    name: str
    nodes: float
    edges: float
    pairs_each: int = 32768
    passes: float = 2.0
    one_way: float = 0.6
    node_dim: int = 64
    side: int = 16
    hidden: int = 64
    block_sources: int = 256
    block_targets: int = 8192

    @property
    def parameters(self) -> int:
        """Numbers of the network: two layers, two projections."""
        return self.hidden * (self.node_dim + self.hidden + 2 * self.side + 4)


@dataclass(frozen=True)
class Cluster:
    """Machines, and the network between them.

    Attributes:
        workers: processes over all machines, one for every `threads` cores.
        bandwidth: bytes a second that a machine sends, over all of its workers.
        latency: seconds until a small message is there.
        per_message: seconds that a worker spends on a message to another.
        pair_seconds: of one thread, computing, for a pair.
        spread: standard deviation of the logarithm of the time of a phase, over workers.
        phases: of a step; after each, all wait for the slowest.
        sums: phases that end with a sum over all workers, which is two exchanges among more than
            two; others end with one.
    """

    workers: int
    per_machine: int
    pair_seconds: float
    memory: float = 256 * GIB
    threads: int = 4
    bandwidth: float = 25e9 / 8
    latency: float = 50e-6
    per_message: float = 5e-6
    spread: float = 0.05
    phases: int = 3
    sums: int = 1

    @property
    def machines(self) -> int:
        """Machines that the workers fill."""
        return math.ceil(self.workers / self.per_machine)

    @property
    def exchanges(self) -> int:
        """Exchanges in a step."""
        return 0 if self.workers == 1 else self.phases + (self.sums if self.workers > 2 else 0)


PLANS = [
    (
        Job("100 M nodes, 2 B edges", 1e8, 2e9),
        Cluster(workers=32, per_machine=8, pair_seconds=math.nan),
    ),
    (
        Job("1 B nodes, 50 B edges", 1e9, 5e10),
        Cluster(workers=256, per_machine=8, pair_seconds=math.nan, memory=512 * GIB),
    ),
]


def distinct(draws: float, kinds: float) -> float:
    """Return how many kinds are seen in some uniform draws: the most that any graph asks for."""
    return -kinds * math.expm1(-draws / kinds)


def bytes_sent(job: Job, workers: int) -> float:
    """Return what a worker sends in a step: the formula of docs/scale.md."""
    others = (workers - 1) / workers
    fetched = others * distinct(job.pairs_each, job.nodes)
    vectors = 8 * job.side * (fetched + others * job.block_sources) + 4 * fetched
    pairs = others * job.pairs_each * (8 + 3 * job.one_way)
    return vectors + pairs + others * 8 * job.parameters


def step_seconds(job: Job, cluster: Cluster, steps: int, seed: int = 0) -> dict[str, float]:
    """Return the mean seconds of simulated steps, by part."""
    workers, phases = cluster.workers, cluster.phases
    generator = np.random.default_rng(seed)
    share = job.pairs_each * cluster.pair_seconds / cluster.threads / phases
    drawn = share * np.exp(cluster.spread * generator.standard_normal((steps, phases, workers)))
    computed = drawn.mean(axis=2).sum(axis=1).mean()
    waited = drawn.max(axis=2).sum(axis=1).mean() - computed
    # Of a machine's bytes, those to its own workers do not leave it.
    here = (cluster.per_machine - 1) / max(1, workers - 1)
    leaving = bytes_sent(job, workers) * cluster.per_machine * max(0.0, 1 - here)
    messages = cluster.latency + cluster.per_message * (workers - 1)
    return {
        "computing": float(computed),
        "waiting": float(waited),
        "messages": cluster.exchanges * messages,
        "bytes": leaving / cluster.bandwidth,
    }


def worker_bytes(job: Job, workers: int, members_before: int = 0) -> float:
    """Return what a worker holds: the formula of docs/scale.md."""
    row = 12 * job.node_dim + 8 * job.side * (2 + members_before)
    return job.nodes / workers * row + 4 * job.nodes


def graph_bytes(job: Job) -> float:
    """Return the bytes of a directed graph on disk, out-edges and in-edges."""
    return 2 * (4 * job.edges + 8 * job.nodes)


def growth_rows(
    job: Job, cluster: Cluster, counts: list[int], steps: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for every number of workers."""
    alone = replace(cluster, workers=1, per_machine=1)
    best = job.pairs_each / sum(step_seconds(job, alone, steps).values())
    for workers in counts:
        some = replace(cluster, workers=workers, per_machine=min(workers, cluster.per_machine))
        parts = step_seconds(job, some, steps)
        rate = workers * job.pairs_each / sum(parts.values())
        yield {
            "workers": workers,
            "machines": some.machines,
            **{f"{name}, ms": 1e3 * seconds for name, seconds in parts.items()},
            "M pairs/s": rate / 1e6,
            "of ideal": rate / (best * workers),
        }


def plan_row(job: Job, cluster: Cluster, steps: int) -> dict[str, Any]:
    """Return what a fit of one member takes on a cluster."""
    seconds = sum(step_seconds(job, cluster, steps).values())
    num_steps = job.passes * job.edges / (cluster.workers * job.pairs_each)
    machine = cluster.per_machine * worker_bytes(job, cluster.workers)
    return {
        "graph": job.name,
        "machines": cluster.machines,
        "workers": cluster.workers,
        "pairs in a step, M": cluster.workers * job.pairs_each / 1e6,
        "steps": round(num_steps),
        "hours of a member": num_steps * seconds / 3600,
        "sent in a step by a worker, MB": bytes_sent(job, cluster.workers) / 1e6,
        "a worker holds, GiB": worker_bytes(job, cluster.workers) / GIB,
        "a machine's workers, GiB": machine / GIB,
        "graph, GiB": graph_bytes(job) / GIB,
        "room for the graph, GiB": (cluster.memory - machine) / GIB,
        "one machine would hold, GiB": worker_bytes(job, 1) / GIB,
    }


def transposed(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return a row for every figure, with a column for every row that there was."""
    heads = [row.pop(name) for row in rows]
    return [
        {"": figure, **{head: row[figure] for head, row in zip(heads, rows, strict=True)}}
        for figure in rows[0]
    ]


def measured_pair_seconds() -> float:
    """Return the thread-seconds of a pair in one process of two threads, on a large graph."""
    report = json.loads((SAVED / "scaleout.json").read_text(encoding="utf-8"))
    tables = {table["title"]: table["rows"] for table in report["tables"]}
    return 2e-6 * float(tables["Memory of the largest worker"][0]["a pair, us"])


def run(arguments: argparse.Namespace) -> Report:
    """Simulate growth on both graphs, and make both plans."""
    pair_seconds = arguments.pair_seconds or measured_pair_seconds()
    changed = {
        "pair_seconds": pair_seconds,
        "bandwidth": arguments.gigabits * 1e9 / 8,
        "latency": arguments.latency,
        "spread": arguments.spread,
    }
    plans = [(job, replace(cluster, **changed)) for job, cluster in PLANS]
    inputs: list[dict[str, Any]] = [
        {"input": "thread-seconds of a pair", "value": f"{pair_seconds * 1e6:.2f} us"},
        {"input": "threads of a worker", "value": plans[0][1].threads},
        {"input": "bandwidth of a machine", "value": f"{arguments.gigabits:g} Gbit/s"},
        {"input": "latency", "value": f"{arguments.latency * 1e6:g} us"},
        {"input": "spread of the workers", "value": arguments.spread},
        {"input": "exchanges in a step", "value": plans[0][1].exchanges},
    ]
    job, cluster = plans[0]
    grown = list(growth_rows(job, cluster, arguments.workers, arguments.steps))
    planned = [plan_row(job, cluster, arguments.steps) for job, cluster in plans]
    tables = [
        Table("Inputs", inputs),
        Table("A step as workers grow", grown),
        Table("Plans", transposed(planned, "graph")),
    ]
    return Report(command_line(), tables)


def main() -> None:
    """Read the inputs and simulate."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 8, 32, 128, 512, 1024])
    parser.add_argument("--gigabits", type=float, default=25.0, help="a second, of a machine")
    parser.add_argument("--latency", type=float, default=50e-6, help="seconds")
    parser.add_argument("--spread", type=float, default=0.05, help="of the workers' times")
    parser.add_argument("--pair-seconds", type=float, help="of a thread; by default as measured")
    parser.add_argument("--steps", type=int, default=200, help="steps to simulate")
    run_benchmark(parser, run)


if __name__ == "__main__":
    main()
