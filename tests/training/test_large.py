"""What is done differently on large graphs, on small ones that are called large."""

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.training import checkpoint as checkpoints
from arcvec.training import validation as validations
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import choose_validation


@pytest.fixture(scope="module")
def graph():
    sources, targets = np.random.default_rng(0).integers(120, size=(2, 900))
    return Graph.from_edges(sources, targets)


def method(optimiser="adam"):
    training = TrainSettings(
        steps=24,
        batch_pairs=256,
        evaluate_every=2,
        checkpoint_every=5,
        optimiser=optimiser,
    )
    return EdgeProjection(goal="pairs", dim=16, members=2, training=training, seed=3)


@pytest.mark.parametrize("optimiser", ["adam", "percent-delta"])
def test_snapshots_on_disk_change_no_byte(monkeypatch, graph, optimiser):
    expected = method(optimiser).fit(graph)
    written = []
    monkeypatch.setattr(checkpoints, "_SMALL_TABLE", 10)

    def noted(path, tensors, write=checkpoints._write):
        written.append(path.parent.name)
        write(path, tensors)

    monkeypatch.setattr(checkpoints, "_write", noted)
    fitted = method(optimiser).fit(graph)
    assert len(written) > 3
    assert fitted.source.tobytes() == expected.source.tobytes()
    assert fitted.target.tobytes() == expected.target.tobytes()


@pytest.mark.parametrize("directed", [True, False])
def test_no_more_edges_are_held_out_than_needed(monkeypatch, directed):
    sources, targets = np.random.default_rng(1).integers(400, size=(2, 4000))
    graph = Graph.from_edges(sources, targets, directed=directed)
    monkeypatch.setattr(validations, "_MOST_HELD_OUT", 50)
    seen, validation = choose_validation(graph, TrainSettings(), seed=0)
    edges, others = validation.pairs[validation.is_edge], validation.pairs[~validation.is_edge]
    assert len(edges) == 50 == graph.num_edges - seen.num_edges
    assert graph.has_edges(*edges.T).all()
    assert not seen.has_edges(*edges.T).any()
    assert not graph.has_edges(*others.T).any()
    assert len(np.unique(others[:50], axis=0)) == 50
    assert len(others) >= 50


def test_selection_on_train_watches_some_edges_of_a_large_graph(monkeypatch, graph):
    monkeypatch.setattr(validations, "_MOST_WATCHED", 100)
    seen, validation = choose_validation(graph, TrainSettings(selection="train"), seed=0)
    edges = validation.pairs[validation.is_edge]
    assert seen is graph
    assert len(np.unique(edges, axis=0)) == len(edges) == 100
    assert len(validation.pairs) == 200
    assert graph.has_edges(*edges.T).all()
