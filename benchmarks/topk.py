"""Rate of exact and approximate top-k, beside the machine's matrix product and other indexes.

python benchmarks/topk.py --save
python benchmarks/topk.py RESULT --nodes 1000000 --peers usearch faiss

Exact: all nodes of the result, k = 10, selection included, as a part of what a large float32 matrix
product reaches in the same run. Approximate: recall against the exact answers, and how many times
their rate, on the result itself and on as many nodes as asked for, drawn from it: vectors of random
nodes, moved by a fifth of the standard deviation of each coordinate.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import (
    Report,
    Table,
    command_line,
    example_result,
    matmul_rate,
    run_benchmark,
    seconds_of,
)

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.recommendation.approximate import build_index, measured_recall
from arcvec.recommendation.clusters import equally_long
from arcvec.recommendation.exact import top_k

K = 10
EXPANSIONS = (32, 64, 128, 256)
PROBES = (4, 8, 16, 32, 64)


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
    before = matmul_rate(torch.get_num_threads())
    seconds, _ = seconds_of(lambda: top_k(embeddings, np.arange(num_nodes), K), repeats=2)
    peak = max(before, matmul_rate(torch.get_num_threads()))
    width = embeddings.vectors("target", np.array([0])).shape[1]
    return {
        "vectors": num_nodes,
        "nodes a second": num_nodes / seconds,
        "matmul, Gflop/s": peak / 1e9,
        "of the peak": 2 * num_nodes**2 * width / seconds / peak,
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
            "index": what,
            "vectors": num_nodes,
            "built in, s": build,
            "recall@10": measured_recall(found, expected),
            "nodes a second": ids.size / seconds,
            "times exact": ids.size / seconds / exact_rate,
        }

    build, index = seconds_of(lambda: build_index(embeddings), repeats=1)
    top_k(embeddings, ids[:10], K, index=index)
    seconds, found = seconds_of(lambda: top_k(embeddings, ids, K, index=index)[0])
    rows = [row("arcvec", build, seconds, found)]
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


def measure(arguments: argparse.Namespace) -> Report:
    """Measure exact search, then the indexes."""
    embeddings = EdgeEmbeddings.load(arguments.result or example_result()[0], mmap=False)
    top_k(embeddings, np.arange(10), K)
    exact = Table("Exact search", [exact_row(embeddings)])
    rows = []
    for num_nodes in (len(embeddings.nodes), *arguments.nodes):
        large = embeddings if num_nodes == len(embeddings.nodes) else drawn(embeddings, num_nodes)
        rows += approximate_rows(large, arguments.queries, arguments.peers)
    return Report(command_line(), [exact, Table("Indexes", rows)])


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=Path, nargs="?", help="by default one of soc-epinions")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--queries", type=int, default=4096)
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=[])
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
