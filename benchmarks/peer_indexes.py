"""One library for approximate search, in the environment of the indexes; topk.py runs it.

python peer_indexes.py PEER FOLDER --k 11 --threads 2

Reads vectors.npy and queries.npy from the folder and writes the ids found at each effort, as
EFFORT.npy. Prints the seconds to build the index and to search at each effort, as JSON. All vectors
have the same norm, so that the nearest vectors have the largest inner products.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Search: TypeAlias = Callable[[Any, int, int], Any]
"""From queries, k and effort to ids."""

EXPANSIONS = (32, 64, 128, 256)
PROBES = (4, 8, 16, 32, 64)
REPEATS = 3


def usearch(vectors: Any, threads: int) -> Search:
    """HNSW, a graph of near neighbours, by usearch; effort is the expansion of a search."""
    import numpy as np
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(vectors)), vectors, threads=threads)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.expansion_search = effort
        return index.search(queries, k, threads=threads).keys.astype(np.int64)

    return search


def scalable_vs(vectors: Any, threads: int) -> Search:
    """Vamana, a graph of near neighbours, by scalable-vs; effort is the search window."""
    import svs

    parameters = svs.VamanaBuildParameters(graph_max_degree=32, window_size=128)
    index = svs.Vamana.build(parameters, vectors, svs.DistanceType.L2, num_threads=threads)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.search_window_size = effort
        return index.search(queries, k)[0]

    return search


def faiss(vectors: Any, threads: int) -> Search:
    """An inverted file by faiss, with as many lists as arcvec has clusters; effort is in probes."""
    import faiss

    faiss.omp_set_num_threads(threads)
    num_lists = round(4 * len(vectors) ** 0.5)
    quantiser = faiss.IndexFlat(vectors.shape[1], faiss.METRIC_L2)
    index = faiss.IndexIVFFlat(quantiser, vectors.shape[1], num_lists, faiss.METRIC_L2)
    index.train(vectors[:: max(1, len(vectors) // (64 * num_lists))])
    index.add(vectors)

    def search(queries: Any, k: int, effort: int) -> Any:
        index.nprobe = effort
        return index.search(queries, k)[1]

    return search


PEERS: dict[str, tuple[Callable[[Any, int], Search], tuple[int, ...]]] = {
    "faiss": (faiss, PROBES),
    "usearch": (usearch, EXPANSIONS),
    "scalable-vs": (scalable_vs, EXPANSIONS),
}
"""Name -> what builds the index, and the efforts to search with."""


def main() -> None:
    """Build the index, search at each effort, print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=11)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    import numpy as np

    build, efforts = PEERS[arguments.peer]
    vectors, queries = (np.load(arguments.folder / f"{n}.npy") for n in ("vectors", "queries"))
    start = time.perf_counter()
    search = build(vectors, arguments.threads)
    built = time.perf_counter() - start
    searched = {}
    for effort in efforts:
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            found = search(queries, arguments.k, effort)
            times.append(time.perf_counter() - start)
        np.save(arguments.folder / f"{effort}.npy", np.asarray(found).astype(np.int64))
        searched[effort] = min(times)
    print(json.dumps({"build": built, "search": searched}))


if __name__ == "__main__":
    main()
