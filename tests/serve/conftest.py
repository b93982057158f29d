"""Results with ties and odd names, and servers of them."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from tests.serve.processes import running

NUM_NODES = 60
ODD = ("two words", "a/b", "ünïcödé", "q?x=1&y=2#z", "new\nline", "", "Alice", "alice", "%41")
NAMES = NodeNames.from_strings([*ODD, *(f"node{i}" for i in range(len(ODD), NUM_NODES))])


def make_result(kind, seed=0):
    """Return embeddings of small whole numbers: scores are exact, and full of ties."""
    sides = np.random.default_rng(seed).integers(-3, 4, size=(2, NUM_NODES, 4)).astype(np.float32)
    if kind == "one vector":
        return EdgeEmbeddings.one_vector(sides[0], [4, -1, 0.25, 1], NAMES, directed=False)
    return EdgeEmbeddings(*sides, NAMES, directed=kind == "directed")


def make_graph(directed=True):
    sources, targets = np.random.default_rng(1).integers(NUM_NODES, size=(2, 300))
    return Graph.from_edges(sources, targets, nodes=NAMES, directed=directed)


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder with the result and the graph that `server` serves."""
    folder = tmp_path_factory.mktemp("serve")
    make_result("directed").save(folder / "result")
    save_graph(make_graph(), folder / "graph")
    return folder


@pytest.fixture(scope="session")
def server(place):
    """A server of a directed result, known edges excluded, for tests that leave it as it was."""
    with running(place, "serve", place / "result", "--graph", place / "graph") as started:
        yield started
        assert "Traceback" not in started.logged()
