"""node2vec (Grover and Leskovec, 2016): walks, skip-gram, and logistic regression for the edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from sklearn.linear_model import LogisticRegression

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import draw_non_edges
from arcvec.method import Dim, Method, Seed, one_side
from arcvec.sampling.pairs import WalkPairs, derive_seed
from arcvec.sampling.settings import WalkSettings

_WALKS_AT_ONCE = 10_000


class Node2Vec(Method):
    """Learns a vector of every node by skip-gram on walks, then a weight for each coordinate.

    The score is w . (Y_u * Y_v), the same both ways; w is fitted by logistic regression on the
    edges of the graph against as many non-edges. The skip-gram training is gensim's, on one thread,
    so that the same seed gives the same vectors; the defaults are those of the authors' code.
    """

    dim: Dim = 32
    seed: Seed = 0
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
        """Return the vectors of all nodes and the weights of their coordinates."""
        vectors = self._skip_gram(graph)
        weights = edge_weights(graph, vectors, self.seed)
        return one_side("node2vec", self, graph, vectors, weights)

    def _skip_gram(self, graph: Graph) -> NDArray[np.float32]:
        try:
            from gensim.models import Word2Vec
        except ImportError:
            raise ImportError("node2vec needs gensim; pip install 'arcvec[baselines]'") from None
        own = self.model_dump(include={"walks_per_node", "walk_length", "p", "q"})
        walks = WalkSettings(kind="forward", starts="nodes", **own)
        graph = graph.undirected if self.direction == "ignored" else graph
        model = Word2Vec(
            _Sentences(WalkPairs(graph, walks, self.seed), self.walks_per_node * graph.num_nodes),
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
        return np.asarray(model.wv[list(range(graph.num_nodes))])


def edge_weights(graph: Graph, vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Return weights of the coordinates of Y_u * Y_v that tell edges from as many non-edges."""
    generator = np.random.default_rng(derive_seed(seed, "non-edges"))
    edges = np.stack(graph.edges(), axis=1)
    non_edges = draw_non_edges(graph, len(edges), generator)
    if len(edges) == 0 or len(non_edges) == 0:
        return np.zeros(vectors.shape[1], dtype=np.float32)
    pairs = np.concatenate([edges, non_edges])
    is_edge = np.arange(len(pairs)) < len(edges)
    features = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
    regression = LogisticRegression(max_iter=1000).fit(features, is_edge)
    return np.asarray(regression.coef_[0], dtype=np.float32)


@dataclass(frozen=True)
class _Sentences:
    """Walks as gensim reads them: one list of node ids per walk, the same at every pass."""

    walks: WalkPairs
    count: int

    def __iter__(self) -> Iterator[list[int]]:
        for first in range(0, self.count, _WALKS_AT_ONCE):
            for walk in self.walks.walks(first, min(_WALKS_AT_ONCE, self.count - first)):
                yield walk[walk >= 0].tolist()
