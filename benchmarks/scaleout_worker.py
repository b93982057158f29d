"""One worker of benchmarks/scaleout.py, or one process beside it: some steps, timed and counted.

python benchmarks/scaleout_worker.py GRAPH FOLDER --steps 60
torchrun --standalone --nproc-per-node 2 benchmarks/scaleout_worker.py GRAPH FOLDER --steps 60

Prints a line of JSON: seconds a step without the first round, by the clock and of the processor,
pairs, bytes sent by purpose and distinct nodes a step, and the peak of this process in GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from measure import high_water

from arcvec.cli.workers import is_worker
from arcvec.graph.files import load_graph, open_graph
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.sharded_plan import ShardedPlan
from arcvec.methods.training_plan import TrainingPlan
from arcvec.scaleout.graphs import mapped_both_ways, shared_graph
from arcvec.scaleout.workers import Workers
from arcvec.training.hooks import Hooks
from arcvec.training.loop import train


def make_plan(arguments: argparse.Namespace, workers: Workers | None) -> TrainingPlan:
    """Return the default plan of one member of dim 32, or its part for a worker."""
    update = {"node_dim": arguments.node_dim, "start": arguments.begin}
    method = EdgeProjection()
    model = method.model.model_copy(update=update)
    training = method.training.model_copy(
        update={"steps": 2 * arguments.steps, "batch_pairs": arguments.batch_pairs, "settle": 0.5}
    )
    walks = method.walks.model_copy(update={"window": (5,)})
    dim = arguments.dim
    if workers is None:
        graph = open_graph(arguments.graph)
    elif (arguments.graph / "meta.json").is_file():
        graph = load_graph(arguments.graph)
        graph = mapped_both_ways(workers, graph, arguments.folder / "graph")
    else:
        graph = shared_graph(
            workers, arguments.folder / "graph", lambda: open_graph(arguments.graph)
        )
    parts = (graph, walks, method.negatives, model, training)
    if workers is None:
        return TrainingPlan(*parts, dim=dim, projections=1, identity={})
    extra = {"workers": workers, "folder": arguments.folder}
    return ShardedPlan(*parts, dim=dim, projections=1, identity={}, **extra)


def measure_steps(plan: TrainingPlan, steps: int, workers: Workers | None) -> dict[str, Any]:
    """Return figures of some steps."""
    seen, _ = plan.hold_out(0)
    state = plan.state(seen, 0)
    stream, objective = plan.stream(seen, 0, 5), plan.objective(seen)
    ticks, cpu, sent = [], [], []

    def report(progress: Any) -> None:
        ticks.append(time.perf_counter())
        cpu.append(time.process_time())
        sent.append(dict(workers.traffic.bytes_by_purpose) if workers else {})

    counts: list[tuple[int, int]] = []
    begin = stream.start_at

    def counted(place: Any) -> Any:
        for batch in begin(place):
            counts.append((batch.counts.pairs, batch.counts.nodes))
            yield batch

    stream.start_at = counted  # type: ignore[method-assign]
    train(state, stream, objective, hooks=Hooks(report=report))
    # Whole rounds: the time that the next one is made in belongs to all of its steps.
    per_round = max(1, -(-stream.pairs.settings.shuffle_pairs // plan.batch_pairs))
    first = min(per_round, steps // 2)
    measured = len(ticks) - 1 - first
    names = sent[-1]
    by_purpose = {n: (sent[-1][n] - sent[first].get(n, 0.0)) / measured for n in names}
    later = counts[first + 1 : len(ticks)]
    return {
        "seconds": (ticks[-1] - ticks[first]) / measured,
        "pairs": sum(pairs for pairs, _ in later) / len(later),
        "nodes": sum(nodes for _, nodes in later) / len(later),
        "bytes": by_purpose,
        "bytes of all": workers.traffic.total if workers else 0.0,
        "CPU seconds": (cpu[-1] - cpu[first]) / measured,
        "GiB": high_water(os.getpid()),
    }


def main() -> None:
    """Train some steps and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--node-dim", type=int, default=64)
    parser.add_argument("--batch-pairs", type=int, default=65536)
    parser.add_argument("--begin", default="spectral")
    arguments = parser.parse_args()
    workers = Workers.join() if is_worker() else None
    plan = make_plan(arguments, workers)
    figures = measure_steps(plan, arguments.steps, workers)
    told = json.dumps({"rank": workers.rank if workers else None, **figures})
    # At once with its end: other workers write to the same place.
    sys.stdout.write(told + "\n")
    sys.stdout.flush()
    if workers:
        workers.leave()


if __name__ == "__main__":
    main()
