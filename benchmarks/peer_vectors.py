"""Vectors of one peer, in the environment of the peers; see peers.py, which runs it.

python peer_vectors.py PEER EDGES.npz VECTORS.npy --dim 128 --threads 2

Prints the seconds that were spent on compiling, as JSON: every peer is tried on a small ring first,
once it is imported.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WALKS, WALK_LENGTH, WINDOW = 10, 80, 5
_RING = 300


def pecanpy(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """node2vec with p = q = 1: walks by PecanPy, vectors by gensim, as its users call it."""
    from gensim.models import Word2Vec
    from pecanpy.pecanpy import FirstOrderUnweighted

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/edges.txt"
        _write_edges(path, edges)
        graph = FirstOrderUnweighted(1, 1, threads, verbose=False)
        graph.read_edg(path, weighted=False, directed=False)
        walks = graph.simulate_walks(WALKS, WALK_LENGTH)
    model = Word2Vec(
        walks, vector_size=dim, window=WINDOW, sg=1, min_count=0, workers=threads, epochs=1, seed=0
    )
    return _by_number(model.wv, num_nodes, dim)


def fastnode2vec(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """node2vec with p = q = 1, walks and vectors at once."""
    from fastnode2vec import Graph, Node2Vec

    graph = Graph(
        [(str(tail), str(head)) for tail, head in edges.tolist()], directed=False, weighted=False
    )
    model = Node2Vec(graph, dim, WALK_LENGTH, WINDOW, p=1.0, q=1.0, workers=threads, seed=0)
    model.train(epochs=WALKS, verbose=False)
    return _by_number(model.wv, num_nodes, dim)


def prone(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """ProNE by nodevectors: a sparse factorisation, spread over the graph."""
    from nodevectors import ProNE

    return ProNE(n_components=dim, verbose=False).fit_transform(_adjacency(edges, num_nodes))


def spectral(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """Laplacian eigenvectors by scikit-network."""
    from sknetwork.embedding import Spectral

    return Spectral(dim).fit_transform(_adjacency(edges, num_nodes))


def singular(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """A truncated singular value decomposition by scikit-network; sources, then targets."""
    import numpy as np
    from sknetwork.embedding import SVD

    model = SVD(dim // 2).fit(_adjacency(edges, num_nodes, both=False))
    return np.concatenate([model.embedding_row_, model.embedding_col_], axis=1)


def implicit_als(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """Alternating least squares by implicit, as it comes; sources, then targets."""
    from implicit.cpu.als import AlternatingLeastSquares

    return _fit_implicit(AlternatingLeastSquares, edges, num_nodes, dim // 2, threads)


def implicit_bpr(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """BPR by implicit, as it comes; each side has one number more, for the bias of the target."""
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    return _fit_implicit(BayesianPersonalizedRanking, edges, num_nodes, dim // 2, threads)


def fastrp(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """FastRP by scikit-network: random projections, spread over the graph."""
    from sknetwork.embedding import RandomProjection

    return RandomProjection(dim, random_state=0).fit_transform(_adjacency(edges, num_nodes))


def cleora(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """Cleora's propagation, by its own embed()."""
    import numpy as np
    from pycleora import SparseMatrix, embed

    os.environ["RAYON_NUM_THREADS"] = str(threads)
    lines = (f"{tail} {head}" for tail, head in edges.tolist())
    matrix = SparseMatrix.from_iterator(lines, "complex::reflexive::node")
    vectors = np.zeros((num_nodes, dim), dtype=np.float32)
    vectors[np.array(matrix.entity_ids, dtype=np.int64)] = embed(matrix, feature_dim=dim)
    return vectors


def skipgram(edges: Any, num_nodes: int, dim: int, threads: int) -> Any:
    """SkipGram by ensmallen."""
    import numpy as np
    from ensmallen import models
    from peer_walks import ensmallen_graph

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/edges.txt"
        _write_edges(path, edges)
        graph = ensmallen_graph(path)
    model = models.SkipGram(
        embedding_size=dim,
        walk_length=WALK_LENGTH,
        iterations=WALKS,
        window_size=WINDOW,
        epochs=1,
        verbose=False,
    )
    found = model.fit_transform(graph)
    found = found[0] if isinstance(found, (list, tuple)) else found
    vectors = np.zeros((num_nodes, dim), dtype=np.float32)
    vectors[np.array(graph.get_node_names(), dtype=np.int64)] = found
    return vectors


# Name -> what it imports, what makes the vectors.
PEERS: dict[str, tuple[tuple[str, ...], Callable[[Any, int, int, int], Any]]] = {
    "PecanPy + gensim": (("pecanpy.pecanpy", "gensim.models"), pecanpy),
    "fastnode2vec": (("fastnode2vec",), fastnode2vec),
    "ensmallen SkipGram": (("ensmallen",), skipgram),
    "ProNE": (("nodevectors",), prone),
    "Spectral": (("sknetwork.embedding",), spectral),
    "SVD": (("sknetwork.embedding",), singular),
    "FastRP": (("sknetwork.embedding",), fastrp),
    "Cleora": (("pycleora",), cleora),
    "implicit ALS": (("implicit.cpu.als",), implicit_als),
    "implicit BPR": (("implicit.cpu.bpr",), implicit_bpr),
}


def _fit_implicit(kind: Any, edges: Any, num_nodes: int, factors: int, threads: int) -> Any:
    import numpy as np
    from threadpoolctl import threadpool_limits

    matrix = _adjacency(edges, num_nodes, both=False).astype(np.float32)
    with threadpool_limits(1, "blas"):  # as implicit advises: its own threads do the work
        model = kind(factors=factors, num_threads=threads, random_state=0)
        model.fit(matrix, show_progress=False)
    return np.concatenate([model.user_factors, model.item_factors], axis=1)


def _adjacency(edges: Any, num_nodes: int, both: bool = True) -> Any:
    import numpy as np
    from scipy.sparse import csr_matrix

    ones = np.ones(len(edges))
    matrix = csr_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(num_nodes, num_nodes))
    if both:
        matrix = matrix.maximum(matrix.T)
    return matrix.tocsr()


def _write_edges(path: str, edges: Any) -> None:
    Path(path).write_text("".join(f"{tail}\t{head}\n" for tail, head in edges.tolist()))


def _by_number(words: Any, num_nodes: int, dim: int) -> Any:
    import numpy as np

    vectors = np.zeros((num_nodes, dim), dtype=np.float32)
    for name in words.index_to_key:
        vectors[int(name)] = words[name]
    return vectors


def main() -> None:
    """Make the vectors and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("edges", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    import numpy as np

    modules, make = PEERS[arguments.peer]
    for module in modules:
        importlib.import_module(module)
    begun = time.perf_counter()
    ring = np.stack([np.arange(_RING), (np.arange(_RING) + 1) % _RING], axis=1)
    make(ring, _RING, arguments.dim, arguments.threads)
    compiling = time.perf_counter() - begun
    with np.load(arguments.edges) as stored:
        edges, num_nodes = stored["edges"], int(stored["num_nodes"])
    vectors = make(edges, num_nodes, arguments.dim, arguments.threads)
    np.save(arguments.vectors, np.asarray(vectors, dtype=np.float32))
    print(json.dumps({"compiling": compiling}))


if __name__ == "__main__":
    main()
