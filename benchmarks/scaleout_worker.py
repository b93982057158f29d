"""One worker of benchmarks/scaleout.py, or one process beside it: some steps, timed and counted.

python benchmarks/scaleout_worker.py GRAPH FOLDER --steps 60
torchrun --standalone --nproc-per-node 2 benchmarks/scaleout_worker.py GRAPH FOLDER --steps 60

Prints a line of JSON: seconds a step without the first round, by the clock and of the processor,
pairs, bytes sent and distinct nodes a step, and the peak of this process in GiB.
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

from arcvec.graph.files import load_graph
from arcvec.graph.graph import Graph
from arcvec.ingest.ingest import open_graph
from arcvec.model.objective import Objective
from arcvec.parallel.alone import Alone
from arcvec.parallel.launch import is_worker
from arcvec.parallel.shared import mapped_both_ways, shared_graph
from arcvec.parallel.workers import Workers
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.fit import Fit
from arcvec.training.hooks import Hooks


def open_shared(path: Path, folder: Path, workers: Alone) -> Graph:
    """Return the graph, mapped by all workers."""
    if workers.count == 1 or not (path / "meta.json").is_file():
        return shared_graph(workers, folder / "graph", lambda: open_graph(path))
    return mapped_both_ways(workers, load_graph(path), folder / "graph")


def make_fit(arguments: argparse.Namespace, workers: Alone) -> Fit:
    """Return the default fit of one member."""
    method = EdgeProjection()
    update = {"node_dim": arguments.node_dim, "start": arguments.begin}
    training = {"steps": arguments.steps, "batch_pairs": arguments.batch_pairs, "settle": 0.0}
    return Fit(
        open_shared(arguments.graph, arguments.folder, workers),
        method.walks,
        method.negatives,
        method.model.model_copy(update=update),
        method.training.model_copy(update={**training, "validation_fraction": 0.0}),
        dim=arguments.dim,
        projections=1,
        seeds=[0],
        identity={},
        hooks=Hooks(checkpoint=arguments.folder / "checkpoint"),
        workers=workers,
    )


def measure_steps(fit: Fit, steps: int) -> dict[str, Any]:
    """Return figures of some steps."""
    workers, graph = fit.workers, fit.graph
    trainer = fit._trainer("member-0", 0)
    stream = fit._stream(graph, 0)
    ticks, cpu, sent = [], [], []

    def report(progress: Any) -> None:
        ticks.append(time.perf_counter())
        cpu.append(time.process_time())
        sent.append(workers.bytes_sent)

    counts: list[tuple[int, int]] = []
    begin = stream.start_at

    def counted(place: Any) -> Any:
        for batch in begin(place):
            counts.append((batch.counts.pairs, batch.counts.nodes))
            yield batch

    stream.start_at = counted  # type: ignore[method-assign]
    objective = Objective(fit.negatives, fit._reversed_label(graph))
    trainer.train(stream, objective, hooks=Hooks(report=report))
    # Whole rounds: the time that the next one is made in belongs to all of its steps.
    per_round = max(1, -(-stream.pairs.settings.shuffle_pairs // stream.batch_pairs))
    first = min(per_round, steps // 2)
    measured = len(ticks) - 1 - first
    later = counts[first + 1 : len(ticks)]
    parameters = sum(p.numel() for p in trainer.model.parameters())
    return {
        "seconds": (ticks[-1] - ticks[first]) / measured,
        "pairs": sum(pairs for pairs, _ in later) / len(later),
        "nodes": sum(nodes for _, nodes in later) / len(later),
        "bytes": (sent[-1] - sent[first]) / measured,
        "network": 8 * parameters * (workers.count - 1) / workers.count,
        "bytes of all": workers.bytes_sent,
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
    workers = Workers.join() if is_worker() else Alone()
    figures = measure_steps(make_fit(arguments, workers), arguments.steps)
    told = json.dumps({"rank": workers.rank, **figures})
    # At once with its end: other workers write to the same place.
    sys.stdout.write(told + "\n")
    sys.stdout.flush()
    if isinstance(workers, Workers):
        workers.leave()


if __name__ == "__main__":
    main()
