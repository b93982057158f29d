"""Known edges of a node, as the explorer lists them."""

import numpy as np

from arcvec.graph.graph import Graph
from arcvec.serve.explore import known_edges
from arcvec.serve.result import Served
from tests.serve.conftest import NAMES, make_result


def test_known_edges_come_by_score():
    graph = Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], nodes=NAMES)
    served = Served.of(make_result("directed"), graph)
    found = known_edges(served, 0, "targets", 2)
    scores = served.embeddings.score(np.zeros(3, dtype=int), np.array([1, 2, 3]))
    best = np.argsort(-scores, kind="stable")[:2] + 1
    assert found["total"] == 3
    assert [edge["node"] for edge in found["edges"]] == [NAMES[i] for i in best]
    sources = known_edges(served, 2, "sources", 9)["edges"]
    assert {edge["node"] for edge in sources} == {NAMES[0], NAMES[1]}
