"""Steps a second of random walks, beside PecanPy, ensmallen and random reads of memory.

python benchmarks/walks.py
python benchmarks/walks.py --quick

Graphs: two published splits, and an undirected R-MAT graph with 16 edges a node. All walks have 20
nodes and start at every node equally often; steps are counted as made, and walks end at sinks.
PecanPy's figures are those of the compiled function that makes its walks, called directly, and of
`simulate_walks`, compilation left out. Its tables for p and q need edges that go both ways, so
second-order walks are over undirected graphs; they take memory for every two edges
that meet, too much for the R-MAT graph. ensmallen walks no directed graph with sinks, and its
second-order walks stop with an illegal instruction on some processors; they are left out.
For the limit, numbers are read at random places of an array as large as the edges: a step must
read twice, its row and then its target.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import (
    DATA,
    Report,
    Table,
    command_line,
    gather_rate,
    run_apart,
    run_benchmark,
    seconds_of,
)
from numba import get_num_threads, set_num_threads
from numpy.typing import NDArray
from peer_walks import P, Q
from peers_env import peers_python
from rmat import rmat_edges

from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split
from arcvec.kernels import walks as kernels
from arcvec.sampling.pairs import WalkPairs
from arcvec.sampling.settings import WalkSettings

ORDERS = ("first", "second")
GRAPHS = ("wiki-vote", "ca-AstroPh", "rmat")
LENGTH = 20
EDGES_PER_NODE = 16
NUM_WALKS = 200_000
NO_WEIGHTS = np.empty(0)
# PecanPy's tables have two numbers for every two edges that meet in a node.
LARGEST_TABLES = 1 << 28
# Where a peer cannot do it.
NONE = "-"
# What is said of PecanPy's second-order walks; the last, for as many walks as node2vec has.
USUAL_WALKS = 10
TABLES = (
    "PecanPy's tables",
    "times them",
    "their seconds before",
    "their MiB",
    f"times both, {USUAL_WALKS} walks a node",
)


@dataclass(frozen=True)
class Plan:
    """What is measured of each graph.

    Attributes:
        seconds: how long a measurement is repeated.
        all_peers: ensmallen and PecanPy's tables too, which take long to start.
    """

    threads: list[int]
    seconds: float
    all_peers: bool


def main() -> None:
    """Measure, print, keep if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=20, help="log2 of the R-MAT graph's nodes")
    parser.add_argument("--quick", action="store_true", help="a small graph, one thread")
    parser.add_argument("--graphs", choices=GRAPHS, nargs="+", default=GRAPHS)
    parser.add_argument("--orders", choices=ORDERS, nargs="+", default=ORDERS)
    run_benchmark(parser, measure)


def measure(arguments: argparse.Namespace) -> Report:
    """Return a table of first-order and one of second-order walks."""
    names = ["rmat"] if arguments.quick else arguments.graphs
    scale = 10 if arguments.quick else arguments.nodes
    plan = Plan([1], 0.1, all_peers=False) if arguments.quick else Plan([1, 2], 1.0, all_peers=True)
    first, second, limits = [], [], {}
    for name in names:
        graph = read_graph(name, scale)
        title = f"R-MAT 2^{scale}" if name == "rmat" else name
        reads = [gather_rate(graph.indices.size, count) for count in plan.threads]
        for count, rate in zip(plan.threads, reads, strict=True):
            limits[f"random reads a second, {title}, {count} threads"] = rate
        if "first" in arguments.orders:
            rows = first_order_rows(graph, plan, reads)
            first += [{"graph": title} | row for row in rows]
        if "second" in arguments.orders:
            second += [{"graph": title} | row for row in second_order_rows(graph, plan)]
    tables = [
        Table("First-order walks, million steps a second", first),
        Table(f"Second-order walks with p = {P} and q = {Q}, million steps a second", second),
    ]
    tables = [table for table in tables if table.rows]
    return Report(command_line(), tables, limits)


def read_graph(name: str, scale: int) -> Graph:
    """Return the train graph of a published split, or an R-MAT graph."""
    if name != "rmat":
        return read_split(DATA / "splits" / name).train
    sources, targets = rmat_edges(scale, EDGES_PER_NODE, seed=0)
    return Graph.from_edges(sources, targets, nodes=1 << scale, directed=False)


def undirected(graph: Graph) -> Graph:
    """Return the graph with every edge in both directions."""
    if not graph.directed:
        return graph
    return Graph.from_edges(
        graph.row_of_entry, graph.indices, nodes=graph.num_nodes, directed=False
    )


def walks_per_node(graph: Graph) -> int:
    """Return how many walks start at a node, as many on a small graph as take a while."""
    return max(1, NUM_WALKS // graph.num_nodes)


def first_order_rows(graph: Graph, plan: Plan, reads: list[float]) -> Iterator[dict[str, Any]]:
    """Yield the figures of first-order walks, ours and those of peers."""
    csr, starts = (graph.indptr, graph.indices), shuffled_starts(graph)
    weights = np.random.default_rng(0).integers(1, 10, graph.indices.size).astype(np.float32)
    sums = kernels.cumulative_weights(graph.indptr, weights)
    settings = WalkSettings(
        kind="forward", starts="nodes", walks_per_node=walks_per_node(graph), walk_length=LENGTH
    )
    pairs = WalkPairs(graph, settings, seed=0)
    pecanpy = peer_rates("first-order", graph, plan.threads, plan.seconds)
    for count, theirs, limit in zip(plan.threads, pecanpy, reads, strict=True):
        ours, weighted, called = (
            step_rate(walk, count, plan.seconds)
            for walk in (
                lambda: kernels.first_order_walks(*csr, NO_WEIGHTS, starts, LENGTH, 0, 0),
                lambda: kernels.first_order_walks(*csr, sums, starts, LENGTH, 0, 0),
                lambda: pairs.walks(0, starts.size),
            )
        )
        row = {
            "threads": count,
            "arcvec": ours / 1e6,
            "weighted": weighted / 1e6,
            "PecanPy's kernel": theirs["kernel"] / 1e6,
            "times it": ours / theirs["kernel"],
            "arcvec as called": called / 1e6,
            "PecanPy as called": theirs["called"] / 1e6,
            "times that": called / theirs["called"],
            "ensmallen": NONE,
            "times ensmallen": NONE,
            "random reads": limit / 1e6,
            "part of half of them": ours / (limit / 2),
        }
        if plan.all_peers and not graph.directed:
            ensmallen = peer_rates("ensmallen", graph, [count], plan.seconds)[0]["called"]
            row |= {"ensmallen": ensmallen / 1e6, "times ensmallen": ours / ensmallen}
        yield row


def second_order_rows(graph: Graph, plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the figures of second-order walks over the undirected graph."""
    graph = undirected(graph)
    csr, starts = (graph.indptr, graph.indices), shuffled_starts(graph)
    pecanpy = None
    if plan.all_peers and np.square(graph.out_degrees).sum() <= LARGEST_TABLES:
        pecanpy = peer_rates("second-order", graph, plan.threads, plan.seconds)
    for place, count in enumerate(plan.threads):
        ours = step_rate(
            lambda: kernels.second_order_walks(*csr, NO_WEIGHTS, starts, LENGTH, P, Q, 0, 0),
            count,
            plan.seconds,
        )
        row = {"threads": count, "arcvec": ours / 1e6}
        if pecanpy is None:
            yield row | dict.fromkeys(TABLES, NONE)
            continue
        theirs = pecanpy[place]
        steps = USUAL_WALKS * LENGTH * graph.num_nodes
        seconds = theirs["seconds_before"] + steps / theirs["kernel"]
        figures = (
            theirs["kernel"] / 1e6,
            ours / theirs["kernel"],
            theirs["seconds_before"],
            theirs["mib"],
            ours * seconds / steps,
        )
        yield row | dict(zip(TABLES, figures, strict=True))


def shuffled_starts(graph: Graph) -> NDArray[np.int32]:
    """Return every node equally often, in random order."""
    starts = np.tile(np.arange(graph.num_nodes, dtype=np.int32), walks_per_node(graph))
    np.random.default_rng(0).shuffle(starts)
    return starts


def step_rate(walk: Callable[[], NDArray[np.int32]], threads: int, seconds: float) -> float:
    """Return the steps a second of the fastest of at least three runs."""
    before = get_num_threads()
    set_num_threads(threads)
    try:
        walk()  # compiled before it is timed
        once, _ = seconds_of(walk, repeats=1)
        took, walks = seconds_of(walk, repeats=max(3, round(seconds / once)))
    finally:
        set_num_threads(before)
    return int((walks[:, 1:] >= 0).sum()) / took


def peer_rates(
    work: str, graph: Graph, threads: list[int], seconds: float
) -> list[dict[str, float]]:
    """Return what `peer_walks.py` measures with each number of threads, in a process of its own."""
    script = Path(__file__).with_name("peer_walks.py")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/indptr.npy", graph.indptr)
        np.save(f"{folder}/indices.npy", graph.indices)
        if work == "ensmallen":
            write_edges(graph, Path(folder) / "edges.tsv")
        counts = ",".join(map(str, threads))
        numbers = (counts, *map(str, (LENGTH, walks_per_node(graph), seconds)))
        command = [str(peers_python()), str(script), work, folder, *numbers]
        _, _, printed = run_apart(command, RAYON_NUM_THREADS=counts.split(",")[0])
    rates: list[dict[str, float]] = json.loads(printed)
    return rates


def write_edges(graph: Graph, path: Path) -> None:
    """Write each edge of an undirected graph once, as text."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    sources, targets = graph.row_of_entry, graph.indices
    once = sources <= targets
    table = pa.table({"source": sources[once], "target": targets[once]})
    write_csv(table, path, WriteOptions(include_header=False, delimiter="\t"))


if __name__ == "__main__":
    main()
