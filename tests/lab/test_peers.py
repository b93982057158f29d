"""The benchmark beside other libraries: who is above arcvec's curve, and how peers are scored."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("peers")


def test_each_number_has_its_own_frontier(peers):
    def run(library, seconds, auc, mrr):
        return {"graph": "g", "library": library, "seconds": seconds, "AUC": auc, "MRR": mrr}

    ours = [run("arcvec, 2 s", 2, 0.8, 0.3), run("arcvec, 10 s", 10, 0.9, 0.2)]
    fast, slow = run("fast", 0.5, 0.7, 0.31), run("slow", 20, 0.95, 0.25)
    rows = [*ours, fast, slow]
    assert [row["library"] for row in peers.points_above(rows)] == ["slow"]
    # The curve never falls: what arcvec had after 2 s it still has after 20 s.
    assert peers.points_above(rows, "MRR") == [{**fast, "arcvec by then": 0.3}]
    assert peers.points_above(ours, "MRR") == [{"library": "none"}]


@pytest.mark.parametrize("peer", ["implicit ALS", "ProNE"])
def test_vectors_of_communities_rank_their_edges(peers, peer):
    generator = np.random.default_rng(0)
    sources, targets = generator.integers(60, size=(2, 800))
    local = sources % 4 == targets % 4
    graph = Graph.from_edges(sources[local], targets[local], nodes=60, directed=False)
    split = split_edges(graph, test_fraction=0.3, seed=0)
    vectors = np.zeros((60, peers.DIM), dtype=np.float32)
    vectors[np.arange(60), np.arange(60) % 4] = 1
    if peer in peers.TWO_SIDED:
        vectors[:, peers.DIM // 2 :] = vectors[:, : peers.DIM // 2]
    found = peers.peer_numbers(split, vectors, peer)
    assert list(found) == ["AUC", "MRR", "hits@10"]
    assert found["AUC"] > 0.85
    assert found["hits@10"] > 0.5
