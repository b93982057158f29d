import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from arcvec.graph.graph import Graph
from arcvec.model.sides import Sides
from arcvec.training.settings import TrainSettings
from arcvec.training.validation import choose_validation

TENTH = TrainSettings(validation_fraction=0.1, validation_edges=0)


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    sources, targets = np.random.default_rng(0).integers(80, size=(2, 600))
    return Graph.from_edges(sources, targets, directed=request.param)


def test_held_out_edges_leave_the_training_graph(graph):
    seen, validation = choose_validation(graph, TENTH, 0)
    edges = validation.pairs[validation.is_edge]
    others = validation.pairs[~validation.is_edge]
    assert len(edges) == round(0.1 * graph.num_edges)
    assert seen.num_edges == graph.num_edges - len(edges)
    assert graph.has_edges(*edges.T).all()
    assert not seen.has_edges(*edges.T).any()
    assert not graph.has_edges(*others.T).any()
    # On a directed graph, the reversed one-way edges are among the negatives.
    turned = others[len(edges) :]  # after as many random ones
    assert bool(len(turned)) == graph.directed
    if graph.directed:
        assert graph.has_edges(turned[:, 1], turned[:, 0]).all()
        of_held_out = ~seen.has_edges(turned[:, 1], turned[:, 0])
        assert of_held_out.mean() == 0.5


def test_auc_is_scikit_learns(graph):
    _, validation = choose_validation(graph, TENTH, 0)
    source, target = np.random.default_rng(1).normal(size=(2, 80, 3)).astype(np.float32)
    table = source @ target.T
    if not graph.directed:
        table = table + table.T
    expected = roc_auc_score(validation.is_edge, table[tuple(validation.pairs.T)])
    sides = Sides(torch.from_numpy(source), torch.from_numpy(target))
    assert validation.auc(sides) == pytest.approx(expected, abs=1e-6)


def test_nothing_is_held_out_of_a_tree_or_when_not_asked(graph, path_graph):
    assert choose_validation(path_graph, TENTH, 0) == (path_graph, None)
    nothing = TrainSettings(validation_fraction=0)
    assert choose_validation(graph, nothing, 0) == (graph, None)


def test_selection_on_train_holds_nothing_out(graph):
    seen, validation = choose_validation(graph, TrainSettings(selection="train"), seed=0)
    assert seen is graph
    edges = validation.pairs[validation.is_edge]
    assert len(edges) == graph.num_edges == len(validation.pairs) - len(edges)
    assert graph.has_edges(*edges.T).all()
    assert not graph.has_edges(*validation.pairs[~validation.is_edge].T).any()
