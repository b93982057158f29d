"""node2vec (Grover and Leskovec, 2016): walks, skip-gram, and logistic regression for the edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method

if TYPE_CHECKING:
    from arcvec.sampling.pairs import WalkPairs

_WALKS_AT_ONCE = 10_000


class Node2Vec(Method):
    """Learns a vector of every node by skip-gram on walks, then what each coordinate counts.

    The score is w . (Y_u * Y_v); w is fitted by logistic regression on the edges of the graph
    against as many non-edges. It is blind to direction. Walks stop at nodes without out-edges.
    The skip-gram training is gensim's, on one thread, so that the same seed gives the same vectors;
    the defaults are those of the authors' code.
    """

    dim: int = Field(32, ge=1, description="numbers stored per node")
    seed: int = Field(0, ge=0, description="decides every random choice")
    direction: Literal["followed", "ignored"] = Field(
        "followed",
        description="walk along out-edges, or on the undirected version of a directed graph",
    )
    walks_per_node: int = Field(10, ge=1, description="walks started from every node")
    walk_length: int = Field(80, ge=2, description="nodes in one walk, the start included")
    window: int = Field(10, ge=1, description="largest distance in a walk between nodes of a pair")
    p: float = Field(1.0, gt=0, description="return parameter of the walks")
    q: float = Field(1.0, gt=0, description="in-out parameter of the walks")
    epochs: int = Field(1, ge=1, description="times that skip-gram goes over the walks")
    negatives: int = Field(5, ge=1, description="negatives per pair in skip-gram")

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes and the weights of their coordinates.

        Raises:
            ImportError: gensim is not installed.
        """
        from arcvec.methods.record import describe_fit

        vectors = self._skip_gram(graph)
        return EdgeEmbeddings.one_vector(
            vectors,
            edge_weights(graph, vectors, self.seed),
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("node2vec", self, graph),
        )

    def _skip_gram(self, graph: Graph) -> NDArray[np.float32]:
        from arcvec.sampling.pairs import WalkPairs
        from arcvec.sampling.settings import WalkSettings

        word2vec = _import_word2vec()
        walks = WalkSettings(
            kind="forward",
            starts="nodes",
            walks_per_node=self.walks_per_node,
            walk_length=self.walk_length,
            p=self.p,
            q=self.q,
        )
        if self.direction == "ignored":
            graph = _undirected(graph)
        model = word2vec(
            _Sentences(WalkPairs(graph, walks, self.seed)),
            vector_size=self.dim,
            window=self.window,
            epochs=self.epochs,
            negative=self.negatives,
            sg=1,
            min_count=0,
            workers=1,
            seed=self.seed % (1 << 32),
        )
        # Every node starts a walk, so every node has a vector.
        vectors: NDArray[np.float32] = model.wv[list(range(graph.num_nodes))]
        return vectors


def edge_weights(graph: Graph, vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Return what each coordinate of Y_u * Y_v counts, by logistic regression: (dim,).

    Edges of the graph are held against as many non-edges; zeros where one of both is missing.
    """
    from sklearn.linear_model import LogisticRegression

    from arcvec.graph.non_edges import draw_non_edges
    from arcvec.sampling.pairs import derive_seed

    generator = np.random.default_rng(derive_seed(seed, "non-edges"))
    edges = np.stack(graph.edges(), axis=1)
    non_edges = draw_non_edges(graph, len(edges), generator)
    if len(edges) == 0 or len(non_edges) == 0:
        return np.zeros(vectors.shape[1], dtype=np.float32)
    pairs = np.concatenate([edges, non_edges])
    is_edge = np.arange(len(pairs)) < len(edges)
    features = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
    regression = LogisticRegression(max_iter=1000).fit(features, is_edge)
    coefficients: NDArray[np.float32] = regression.coef_[0].astype(np.float32)
    return coefficients


@dataclass(frozen=True)
class _Sentences:
    """Walks as gensim reads them: a list of node ids each, from the start at every pass."""

    walks: WalkPairs

    def __iter__(self) -> Iterator[list[int]]:
        settings = self.walks.settings
        num_walks = settings.walks_per_node * self.walks.graph.num_nodes
        for first in range(0, num_walks, _WALKS_AT_ONCE):
            block = self.walks.walks(first, min(_WALKS_AT_ONCE, num_walks - first))
            lengths = (block >= 0).sum(axis=1)
            for walk, length in zip(block.tolist(), lengths.tolist(), strict=True):
                yield walk[:length]


def _undirected(graph: Graph) -> Graph:
    if not graph.directed:
        return graph
    sources, targets = graph.edges()
    return Graph.from_edges(
        sources, targets, nodes=graph.nodes, directed=False, weights=graph.weights
    )


def _import_word2vec() -> type:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise ImportError("node2vec needs gensim; pip install 'arcvec[baselines]'") from None
    word2vec: type = Word2Vec
    return word2vec
