"""Steps a second of walks made by PecanPy and ensmallen, as JSON; run by walks.py.

python benchmarks/peer_walks.py WORK FOLDER THREADS LENGTH WALKS_PER_NODE SECONDS

WORK is `first-order`, `second-order` or `ensmallen`; THREADS are counts, as 1,2; FOLDER holds the
adjacency (indptr.npy, indices.npy) and, for ensmallen, the edges as text. Compilation is not
counted, but for that of PecanPy's tables, which is part of every call that makes them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

P, Q = 0.5, 2.0


def best_of(work: Callable[[], Any], seconds: float) -> tuple[float, Any]:
    """Return the seconds of the fastest of at least three runs, and what the last one returned."""
    best, spent, runs, answer = float("inf"), 0.0, 0, None
    while runs < 3 or spent < seconds:
        start = time.perf_counter()
        answer = work()
        took = time.perf_counter() - start
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best, answer


def pecanpy_graph(kind: Any, folder: Path, p: float, q: float) -> Any:
    """Return one of PecanPy's graphs, with the arrays its own reader would make."""
    graph = kind(p=p, q=q, workers=1, verbose=False, random_state=0)
    graph.indptr = np.load(folder / "indptr.npy").astype(np.uint32)
    graph.indices = np.load(folder / "indices.npy").astype(np.uint32)
    graph.data = np.ones(graph.indices.size, dtype=np.float32)
    graph.set_node_ids([str(node) for node in range(graph.indptr.size - 1)])
    return graph


def kernel_rate(graph: Any, num_steps: int, walks_per_node: int, seconds: float) -> float:
    """Return the steps a second of the compiled function alone that makes PecanPy's walks."""
    from numba_progress import ProgressBar

    starts = np.tile(np.arange(graph.num_nodes, dtype=np.uint32), walks_per_node)
    np.random.default_rng(0).shuffle(starts)
    moves = graph.get_has_nbrs(), graph.get_move_forward()
    with ProgressBar(total=starts.size, disable=True) as progress:

        def walk(starts: Any) -> Any:
            return graph._random_walks(starts.size, num_steps, 0, starts, *moves, progress)

        walk(starts[:2])
        best, walks = best_of(lambda: walk(starts), seconds)
    return int((walks[:, -1].astype(np.int64) - 1).sum()) / best


def keep_compiled(graph: Any) -> None:
    """Have PecanPy compile once: each of its calls would anew, for seconds, which is left out."""
    has_neighbours, move = graph.get_has_nbrs(), graph.get_move_forward()
    graph.get_has_nbrs, graph.get_move_forward = lambda: has_neighbours, lambda: move


def first_order(
    folder: Path, threads: list[int], length: int, walks_per_node: int, seconds: float
) -> list[dict[str, float]]:
    """Return steps a second of PecanPy's compiled function, and of the call its users make."""
    from numba import set_num_threads
    from pecanpy import pecanpy

    graph = pecanpy_graph(pecanpy.FirstOrderUnweighted, folder, 1, 1)
    keep_compiled(graph)
    rates = []
    for count in threads:
        set_num_threads(count)
        kernel = kernel_rate(graph, length - 1, walks_per_node, seconds)
        took, walks = best_of(lambda: graph.simulate_walks(walks_per_node, length - 1), 0)
        steps = sum(len(walk) - 1 for walk in walks)
        rates.append({"kernel": kernel, "called": steps / took})
    return rates


def second_order(
    folder: Path, threads: list[int], length: int, walks_per_node: int, seconds: float
) -> list[dict[str, float]]:
    """Return steps a second with PecanPy's tables, and what the tables take."""
    from numba import set_num_threads
    from pecanpy import pecanpy

    graph = pecanpy_graph(pecanpy.PreComp, folder, P, Q)
    start = time.perf_counter()
    graph.preprocess_transition_probs()
    tables = {
        "seconds_before": time.perf_counter() - start,
        "mib": (graph.alias_j.nbytes + graph.alias_q.nbytes) / 2**20,
    }
    keep_compiled(graph)
    rates = []
    for count in threads:
        set_num_threads(count)
        kernel = kernel_rate(graph, length - 1, walks_per_node, seconds)
        rates.append({"kernel": kernel, **tables})
    return rates


def ensmallen_graph(path: str) -> Any:
    """Return ensmallen's undirected graph of a file of numbered edges."""
    from ensmallen import Graph

    return Graph.from_csv(
        edge_path=path,
        edge_list_separator="\t",
        edge_list_header=False,
        sources_column_number=0,
        destinations_column_number=1,
        edge_list_numeric_node_ids=True,
        edge_list_may_contain_duplicates=False,
        edge_list_is_complete=False,
        directed=False,
        verbose=False,
    )


def ensmallen(
    folder: Path, threads: list[int], length: int, walks_per_node: int, seconds: float
) -> list[dict[str, float]]:
    """Return steps a second of ensmallen's first-order walks over an undirected graph.

    One number of threads only: it is read from the environment, when the process starts.
    """
    graph = ensmallen_graph(str(folder / "edges.tsv"))
    best, walks = best_of(
        lambda: graph.complete_walks(walk_length=length, iterations=walks_per_node), seconds
    )
    return [{"called": walks.shape[0] * (walks.shape[1] - 1) / best} for _ in threads]


WORK = {"first-order": first_order, "second-order": second_order, "ensmallen": ensmallen}


def main() -> None:
    """Measure one thing and print it."""
    work, folder, threads, length, walks_per_node, seconds = sys.argv[1:]
    counts = [int(count) for count in threads.split(",")]
    rates = WORK[work](Path(folder), counts, int(length), int(walks_per_node), float(seconds))
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
