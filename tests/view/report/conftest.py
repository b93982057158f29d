"""A split with names hostile to HTML, and a result on its train part that finds its edges."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import Split, split_edges
from arcvec.sampling.settings import WalkSettings
from arcvec.training.edge_projection import EdgeProjection

NUM_NODES = 120
EVIL = (
    "<script>alert('&')</script>",
    '"><img src=x onerror=alert(1)>',
    "</style>{{ 7*7 }}",
    "$\\x$",
)
NAMES = NodeNames.from_strings([*EVIL, *(f"node{i}" for i in range(len(EVIL), NUM_NODES))])
METHOD = EdgeProjection(goal="pairs", dim=8, walks=WalkSettings(window=3))


def make_graph(vectors, directed=True):
    """Return a graph of the edges that vectors favour; the hostile names have the most."""
    scores = vectors[0] @ vectors[1].T
    scores[:, : len(EVIL)] += 2
    scores[: len(EVIL)] += 2
    ends = np.nonzero(scores > np.quantile(scores, 0.9))
    return Graph.from_edges(*ends, nodes=NAMES, directed=directed)


def make_embeddings(vectors, train, **more):
    """Return a result with all that a fit on `train` remembers."""
    settings = METHOD.model_dump(mode="json")
    provenance = {
        "method": "edge-projection",
        "seed": settings.pop("seed"),
        "settings": settings,
        "graph_fingerprint": train.fingerprint,
        "validation_auc": 0.9,
        "history": {
            "member": [0, 0],
            "step": [25, 50],
            "loss": [2.0, 1.0],
            "validation_auc": [0.8, 0.9],
        },
    }
    return EdgeEmbeddings(*vectors, train.nodes, train.directed, {**provenance, **more})


@pytest.fixture(scope="session")
def vectors():
    return np.random.default_rng(3).normal(size=(2, NUM_NODES, 4)).astype(np.float32)


@pytest.fixture(scope="session")
def split(vectors) -> Split:
    return split_edges(make_graph(vectors), test_fraction=0.3, seed=0)


@pytest.fixture(scope="session")
def embeddings(vectors, split) -> EdgeEmbeddings:
    return make_embeddings(vectors, split.train)
