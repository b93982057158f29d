"""Rate of exact and approximate top-k, beside the machine's matrix product and other indexes.

python benchmarks/topk.py --save
python benchmarks/topk.py RESULT --nodes 1000000 --peers usearch faiss

Other indexes are those of indexes-requirements.txt, each at several efforts.

Exact: all nodes of the result, k = 10, selection included, as a part of what a large float32 matrix
product reaches in the same run. Approximate: recall against the exact answers, and how many times
their rate, on the result itself and on as many nodes as asked for, drawn from it: vectors of random
nodes, moved by a fifth of the standard deviation of each coordinate.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
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
    run_apart,
    run_benchmark,
    seconds_of,
)
from peer_indexes import PEERS
from peers_env import peers_python

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.recommendation.approximate import build_index, equally_long
from arcvec.recommendation.exact import top_k

K = 10


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
    # With equal norms the nearest vectors have the largest products, which is what others find.
    vectors = equally_long(embeddings.vectors("target"))
    queries = np.pad(embeddings.vectors("source", ids), [(0, 0), (0, 1)])
    for peer in peers:
        rows += peer_rows(peer, vectors, queries, ids, row)
    return rows


def peer_rows(
    peer: str, vectors: Any, queries: Any, ids: Any, row: Callable[..., dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield recall and rates of another index, at several efforts, each in its environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "vectors.npy", vectors)
        np.save(folder / "queries.npy", queries)
        script = str(Path(__file__).with_name("peer_indexes.py"))
        command = [str(peers_python("indexes")), script, peer, name, "--k", str(K + 1)]
        _, _, printed = run_apart([*command, "--threads", str(torch.get_num_threads())])
        seconds = json.loads(printed.splitlines()[-1])
        for effort, searched in seconds["search"].items():
            found = np.load(folder / f"{effort}.npy")
            # The query itself is dropped.
            others = [some[some != node][:K] for some, node in zip(found, ids, strict=True)]
            yield row(f"{peer} {effort}", seconds["build"], searched, others)


def measured_recall(found: Any, expected: Any) -> float:
    """Return which part of the expected ids, (q, k), was found; -1 is padding."""
    rows = zip(found, expected, strict=True)
    hits = sum(np.intersect1d(some[some >= 0], best[best >= 0]).size for some, best in rows)
    return hits / max(1, int((expected >= 0).sum()))


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
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=list(PEERS))
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
