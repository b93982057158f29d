"""The graphs on which reversed edges are studied have the reciprocity they claim."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/planted_reciprocity.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("planted_reciprocity", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("reciprocity", [0.0, 0.3, 0.9])
def test_reciprocity_is_as_planted(script, reciprocity):
    graph = script.planted_graph(reciprocity)
    assert graph.directed
    assert graph.reciprocity == pytest.approx(reciprocity, abs=0.02)
    assert graph.num_edges == pytest.approx(script.NUM_EDGES, rel=0.02)
