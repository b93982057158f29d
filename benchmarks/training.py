"""Pairs a second of the training loop, its part of the matrix product's peak, where its time goes.

python benchmarks/training.py --save

Steps are those of `arcvec fit` on soc-epinions' train edges. The operations counted are those of
the block of non-edges, forward and backward, and of the shared network; the peak is that of a
large square float32 product in the same run, on as many threads. Batches are made between steps, or
prefetched by a thread of their own, which is what `arcvec fit` does where a core is free.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from measure import DATA, Report, Table, command_line, matmul_rate, run_benchmark

from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.objective import Objective
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.sampling.batches import BatchStream
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.fit import Fit
from arcvec.training.hooks import Hooks
from arcvec.training.settings import TrainSettings
from arcvec.training.trainer import Trainer

SIZES = {
    "default, dim 32": (32, 256, 8192),
    "dim 128, blocks of 2,048 x 4,096": (128, 2048, 4096),
    "dim 128, blocks of 4,096 x 8,192": (128, 4096, 8192),
}
# What is timed: a name for the reader, where it is.
PARTS: dict[str, list[tuple[type, str]]] = {
    "gather": [(NodeTable, "read")],
    "f": [(EdgeModel, "forward")],
    "pairs": [(Sides, "pair_scores")],
    "block": [(Objective, "_block_loss")],
    "backward": [(torch.Tensor, "backward")],
    "update": [(Trainer, "_apply_gradients")],
}


@contextmanager
def timed_parts() -> Iterator[Counter[str]]:
    """Yield the seconds of each part, counted as long as this lasts."""
    seconds: Counter[str] = Counter()
    patches = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def measured(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[name] += time.perf_counter() - start

        return measured

    for name, places in PARTS.items():
        for owner, attribute in places:
            static = isinstance(owner.__dict__.get(attribute), staticmethod)
            function = timed(name, getattr(owner, attribute))
            patches.append(
                patch.object(owner, attribute, staticmethod(function) if static else function)
            )
    for each in patches:
        each.start()
    try:
        yield seconds
    finally:
        for each in patches:
            each.stop()


class WatchedStream:
    """A stream of batches that counts the seconds it is waited for."""

    def __init__(self, stream: BatchStream) -> None:
        self.stream = stream
        self.seconds = 0.0
        self.pairs = 0
        self.cells = 0
        self.nodes = 0

    def start_at(self, place: Any) -> Iterator[Any]:
        batches = iter(self.stream.start_at(place))
        while True:
            start = time.perf_counter()
            batch = next(batches)
            self.seconds += time.perf_counter() - start
            self.pairs += batch.sources.size
            self.cells += batch.block.sources.size * batch.block.targets.size
            self.nodes += batch.nodes.size
            yield batch


def measure_size(
    graph: Graph, name: str, steps: int, threads: int, *, ahead: bool
) -> dict[str, Any]:
    """Return the figures of one size on so many threads.

    Args:
        ahead: a thread of its own makes the batches.
    """
    dim, rows, columns = SIZES[name]
    negatives = NegativeSettings(block_sources=rows, block_targets=columns)
    settings = TrainSettings(steps=steps, settle=0.0, evaluate_every=steps)
    fit = Fit(
        *(graph, WalkSettings(window=5), negatives, ModelSettings(), settings),
        **{"dim": dim, "projections": 1, "seeds": [0], "identity": {}},
        hooks=Hooks(),
        workers=Alone(),
    )
    fit.__dict__["_held_out"] = graph, None  # all edges, without validation
    objective = Objective(negatives, graph.return_probability)
    torch.set_num_threads(threads)
    warm = fit._trainer("member-0", 0)
    warm.status.end = 3
    warm.train(fit._stream(graph, 0), objective)
    trainer = fit._trainer("member-0", 0)
    batches = fit._stream(graph, 0)
    batches.threads = int(ahead)
    stream = WatchedStream(batches)
    with timed_parts() as seconds:
        start = time.perf_counter()
        trainer.train(stream, objective)  # type: ignore[arg-type]
        total = time.perf_counter() - start
    width = dim // 2 if graph.directed else dim
    weights = sum(p.numel() for p in trainer.model.parameters() if p.dim() == 2)
    # A product forward, two backward, each of two operations a weight.
    operations = 6 * (stream.cells * width + stream.nodes * weights)
    peak = matmul_rate(threads)
    return {
        "what": name,
        "threads": threads,
        "batches": "prefetched" if ahead else "in between",
        "pairs a second": stream.pairs / total,
        "ms a step": 1e3 * total / steps,
        "Gflop/s": operations / total / 1e9,
        "of the peak": operations / total / peak,
        "sampling": stream.seconds / total,
        **{part: seconds[part] / total for part in PARTS},
    }


def measure(arguments: argparse.Namespace) -> Report:
    """Measure all sizes."""
    import numba

    graph = read_split(DATA / "splits" / arguments.graph).train
    rows = []
    for threads in arguments.threads:
        numba.set_num_threads(threads)
        rows += [
            measure_size(graph, name, arguments.steps, threads, ahead=ahead)
            for ahead in (False, True)
            for name in SIZES
        ]
    limits = {f"matmul, {n} threads, Gflop/s": matmul_rate(n) / 1e9 for n in arguments.threads}
    return Report(command_line(), [Table("Training", rows)], limits)


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", default="soc-epinions", help="name of a split")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
