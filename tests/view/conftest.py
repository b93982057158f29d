"""Results whose pictures have obvious answers."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.view.plane import Plane


@pytest.fixture
def circle_plane() -> Plane:
    """Fifty nodes; sources in the right half of the circle, targets in the left, random edges."""
    generator = np.random.default_rng(0)
    turns = generator.uniform(-1.2, 1.2, size=(2, 50)) + np.array([[0], [np.pi]])
    source, target = np.stack([np.cos(turns), np.sin(turns)], axis=-1).astype(np.float32)
    edges = generator.integers(50, size=(2, 400))
    graph = Graph.from_edges(*edges, nodes=50)
    return Plane.of(EdgeEmbeddings(source, target, NodeNames.numbered(50)), graph)


@pytest.fixture
def free_plane() -> Plane:
    """Fifty nodes anywhere in the plane; the last has no edges."""
    generator = np.random.default_rng(0)
    source, target = generator.normal(size=(2, 50, 2)).astype(np.float32)
    graph = Graph.from_edges(*generator.integers(49, size=(2, 300)), nodes=50)
    return Plane.of(EdgeEmbeddings(source, target, NodeNames.numbered(50)), graph)
