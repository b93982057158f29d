import math

import numpy as np
import pytest
import torch

from arcvec.baselines.dense import (
    WatchYourStep,
    graph_likelihood_of_rows,
    transition_powers,
)
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges


def test_powers_of_a_walk(path_graph):
    """0 -> 1 -> 2 -> 3 -> 4: after k steps a walk is k nodes on, or has ended."""
    powers = transition_powers(path_graph, 3).float().numpy()
    for hop in (1, 2, 3):
        np.testing.assert_array_equal(powers[hop - 1], np.eye(5, k=hop))


def test_likelihood_by_hand():
    scores = torch.tensor([[math.log(3.0), 0.0]])  # sigmoid: 3/4 and 1/2
    expected = torch.tensor([[2.0, 0.5]])
    is_edge = torch.tensor([[True, False]])
    loss = graph_likelihood_of_rows(scores, expected, is_edge)
    assert loss.item() == pytest.approx(-2 * math.log(0.75) - 0.5 * math.log(0.5) - math.log(0.5))


def test_likelihood_stays_finite():
    scores = torch.tensor([[1e9, -1e9]])
    loss = graph_likelihood_of_rows(scores, torch.ones(1, 2), torch.zeros(1, 2, dtype=torch.bool))
    assert torch.isfinite(loss)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_training_finds_a_planted_graph(directed):
    source, target = np.random.default_rng(7).normal(size=(2, 300, 3))
    scores = source @ target.T if directed else source @ source.T
    np.fill_diagonal(scores, -np.inf)
    graph = Graph.from_edges(*np.nonzero(scores > np.quantile(scores, 0.95)), directed=directed)
    split = split_edges(graph, test_fraction=0.3, seed=0)
    embeddings = WatchYourStep(dim=8, hops=3).fit(split.train)
    assert link_prediction(embeddings, split, ranking=False).auc > 0.85
    assert sum(embeddings.settings["hop_weights"]) == pytest.approx(1)


def test_hop_weights_are_learned_where_nothing_holds_them(two_cliques):
    """All neighbours are one step away: later steps, which also return, count less."""
    weights = WatchYourStep(dim=8, hops=3, hop_l2=0.0).fit(two_cliques).settings["hop_weights"]
    assert weights[0] == max(weights) > 0.4


def test_too_many_nodes_are_refused(path_graph):
    with pytest.raises(ValueError, match="at most 4 nodes, got 5: Watch Your Step trains on"):
        WatchYourStep(max_nodes=4).fit(path_graph)
