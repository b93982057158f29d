"""Rate of exact and approximate top-k, beside the machine's matrix product and other indexes.

python benchmarks/topk.py RESULT --json topk.json
python benchmarks/topk.py RESULT --nodes 1000000 --peers usearch faiss

Exact: all nodes of the result, k = 10, selection included, as a part of what a large float32 matrix
product reaches in the same run. Approximate: recall against the exact answers, and how many times
their rate, on the result itself and on as many nodes as asked for, drawn from it: vectors of random
nodes, moved by a fifth of the standard deviation of each coordinate.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# As the command line does, and before numba is imported: see `arcvec.cli.main`.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.recommendation.approximate import build_index, measured_recall
from arcvec.recommendation.clusters import equally_long
from arcvec.recommendation.exact import top_k

K = 10
PRODUCT = 4096
EXPANSIONS = (32, 64, 128, 256)
PROBES = (4, 8, 16, 32, 64)


def seconds_of(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the seconds of the fastest of some runs, and what it returned."""
    best, answer = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return best, answer


def peak_rate() -> float:
    """Return the floating-point operations a second of a large float32 matrix product."""
    square = np.random.default_rng(0).random((PRODUCT, PRODUCT), dtype=np.float32)
    return 2 * PRODUCT**3 / seconds_of(lambda: square @ square)[0]


def drawn(embeddings: EdgeEmbeddings, num_nodes: int) -> EdgeEmbeddings:
    """Return embeddings of many nodes that look like those of a few."""
    generator = np.random.default_rng(0)
    sides = []
    for side in ("source", "target"):
        vectors = embeddings.vectors(side)
        noise = generator.standard_normal((num_nodes, vectors.shape[1]), dtype=np.float32)
        chosen = vectors[generator.integers(len(vectors), size=num_nodes)]
        sides.append(chosen + noise * (vectors.std(axis=0) / 5))
    return EdgeEmbeddings(*sides, NodeNames.numbered(num_nodes))


def exact_row(embeddings: EdgeEmbeddings) -> dict[str, Any]:
    """Return rate and part of the peak of exact top-k for all nodes."""
    num_nodes = len(embeddings.nodes)
    before = peak_rate()
    seconds, _ = seconds_of(lambda: top_k(embeddings, np.arange(num_nodes), K), repeats=2)
    peak = max(before, peak_rate())
    width = embeddings.vectors("target", np.array([0])).shape[1]
    return {
        "what": "exact",
        "num_nodes": num_nodes,
        "nodes_per_second": num_nodes / seconds,
        "peak_gflops": peak / 1e9,
        "part_of_peak": 2 * num_nodes**2 * width / seconds / peak,
    }


def approximate_rows(
    embeddings: EdgeEmbeddings, num_queries: int, peers: list[str]
) -> list[dict[str, Any]]:
    """Return recall and rates of our index and of others, on the same queries."""
    num_nodes = len(embeddings.nodes)
    ids = np.random.default_rng(1).permutation(num_nodes)[:num_queries]
    top_k(embeddings, ids[:10], K)  # compiled before it is timed
    seconds, expected = seconds_of(lambda: top_k(embeddings, ids, K)[0], repeats=2)
    exact_rate = ids.size / seconds

    def row(what: str, build: float, seconds: float, found: Any) -> dict[str, Any]:
        return {
            "what": what,
            "num_nodes": num_nodes,
            "build_seconds": build,
            "recall": measured_recall(found, expected),
            "nodes_per_second": ids.size / seconds,
            "times_exact": ids.size / seconds / exact_rate,
        }

    build, index = seconds_of(lambda: build_index(embeddings), repeats=1)
    top_k(embeddings, ids[:10], K, index=index)
    seconds, found = seconds_of(lambda: top_k(embeddings, ids, K, index=index)[0])
    rows = [row("arcvec index", build, seconds, found)]
    # Equally long vectors, without which their recall is poor; the query itself is dropped.
    vectors = equally_long(embeddings.vectors("target"))
    queries = np.pad(embeddings.vectors("source", ids), [(0, 0), (0, 1)])
    for peer in peers:
        build, search = seconds_of(lambda peer=peer: PEERS[peer](vectors), repeats=1)
        for effort in PROBES if peer == "faiss" else EXPANSIONS:
            seconds, found = seconds_of(
                lambda search=search, effort=effort: search(queries, K + 1, effort)
            )
            ours = [some[some != node][:K] for some, node in zip(found, ids, strict=True)]
            rows.append(row(f"{peer} {effort}", build, seconds, ours))
    return rows


def usearch_index(vectors: Any) -> Callable[[Any, int, int], Any]:
    """Return the search of a graph of near neighbours by usearch."""
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(vectors)), vectors)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.expansion_search = effort
        return index.search(queries, k).keys.astype(np.int64)

    return search


def hnswlib_index(vectors: Any) -> Callable[[Any, int, int], Any]:
    """Return the search of a graph of near neighbours by hnswlib."""
    import hnswlib

    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=128, M=16)
    index.add_items(vectors)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.set_ef(effort)
        return index.knn_query(queries, k=k)[0].astype(np.int64)

    return search


def faiss_index(vectors: Any) -> Callable[[Any, int, int], Any]:
    """Return the search of an inverted file by faiss, with as many lists as we have clusters."""
    import faiss

    num_lists = round(4 * len(vectors) ** 0.5)
    quantiser = faiss.IndexFlat(vectors.shape[1], faiss.METRIC_L2)
    index = faiss.IndexIVFFlat(quantiser, vectors.shape[1], num_lists, faiss.METRIC_L2)
    index.train(vectors[:: max(1, len(vectors) // (64 * num_lists))])
    index.add(vectors)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.nprobe = effort
        return index.search(queries, k)[1]

    return search


PEERS = {"usearch": usearch_index, "hnswlib": hnswlib_index, "faiss": faiss_index}


def show(row: dict[str, Any]) -> None:
    """Print one line of the table."""
    if row["what"] == "exact":
        rest = f"{row['part_of_peak']:.0%} of {row['peak_gflops']:.0f} Gflop/s"
    else:
        rest = f"{row['times_exact']:.1f}x recall {row['recall']:.3f} "
        rest += f"built in {row['build_seconds']:.0f} s"
    rate = f"{row['nodes_per_second']:>10,.0f}/s"
    print(f"{row['what']:<14}{row['num_nodes']:>10,}{rate}  {rest}", flush=True)


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=Path, help="result folder, as of soc-epinions")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--queries", type=int, default=4096)
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=[])
    parser.add_argument("--json", type=Path, help="write the figures here too")
    arguments = parser.parse_args()
    embeddings = EdgeEmbeddings.load(arguments.result, mmap=False)
    top_k(embeddings, np.arange(10), K)
    rows = [exact_row(embeddings)]
    show(rows[0])
    for num_nodes in (len(embeddings.nodes), *arguments.nodes):
        large = embeddings if num_nodes == len(embeddings.nodes) else drawn(embeddings, num_nodes)
        for row in approximate_rows(large, arguments.queries, arguments.peers):
            show(row)
            rows.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
