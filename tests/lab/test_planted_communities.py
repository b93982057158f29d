"""The planted follow graph has the communities and the skew it claims, and is measured as such."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from arcvec.graph.split import split_edges
from arcvec.training.edge_projection import EdgeProjection

SCRIPT = Path(__file__).parents[2] / "scripts/planted_communities.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("planted_communities", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_most_edges_are_local_and_a_few_nodes_popular(script):
    graph, communities = script.planted_graph(6000, seed=0)
    assert graph.directed
    assert np.unique(communities).size == script.NUM_COMMUNITIES
    sources, targets = graph.edges()
    assert (sources != targets).all()
    local = (communities[sources] == communities[targets]).mean()
    # Repeated draws are dropped, and those within a community are repeated more often.
    assert 0.65 < local < script.LOCAL + 0.01
    degrees = np.sort(graph.in_degrees)[::-1]
    assert degrees[:600].sum() > 0.3 * graph.num_edges
    again, _ = script.planted_graph(6000, seed=0)
    assert again.fingerprint == graph.fingerprint


def test_a_fit_is_measured_and_saved(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "NUM_COMMUNITIES", 8)
    graph, communities = script.planted_graph(800, seed=1)
    split = split_edges(graph, test_fraction=0.2, seed=1)
    method = EdgeProjection(dim=8, seed=0, training={"steps": 20}, members=1)
    numbers = script.measure(method, split, communities)
    assert 10 <= numbers["nodes recommended@10"] <= 800
    assert numbers["coverage@10"] == numbers["nodes recommended@10"] / 800
    for name in ("largest share of users", "local, recommended", "MRR", "hits@10", "AUC"):
        assert 0 < numbers[name] <= 1
    assert 0.6 < numbers["local, true"] < 0.9
    path = tmp_path / "saved.json"
    for seed, mrr in ((0, 0.1), (1, 0.2), (0, 0.3)):
        script.save({"seed": seed, "MRR": mrr}, {"seed": seed}, path)
    rows = json.loads(path.read_text())["tables"][0]["rows"]
    assert rows == [{"seed": 1, "MRR": 0.2}, {"seed": 0, "MRR": 0.3}]
