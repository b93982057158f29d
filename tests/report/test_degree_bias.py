"""Degree bias of recommendations that are known beforehand."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.report import degree_bias
from arcvec.report.degree_bias import gini, measure_degree_bias
from arcvec.report.subject import Subject

N = 40


def subject(order):
    """Everybody ranks targets in one order; node 0 has most in-edges, the last nodes none."""
    target = np.zeros((N, 1), dtype=np.float32)
    target[order, 0] = np.arange(N, 0, -1)
    embeddings = EdgeEmbeddings(np.ones((N, 1), dtype=np.float32), target, NodeNames.numbered(N))
    sources, targets = np.nonzero(np.triu(np.ones((N, N)), 1).T)
    kept = targets < 5  # of these, node 0 is the target of all others
    graph = Graph.from_edges(sources[kept], targets[kept], nodes=N)
    return Subject.of(embeddings, graph)


def test_all_go_to_those_who_have_most():
    """Known targets are left out, so that the next in order get what is left."""
    found = measure_degree_bias(subject(np.arange(N)))
    assert found.groups[-1].edges == pytest.approx((39 + 38 + 37 + 36) / 185)
    assert sum(group.recommended for group in found.groups) == pytest.approx(1)
    assert [group.low for group in found.groups] == [0] * 8 + [0, 36]
    assert found.num_asked == N
    # All others know node 0; those from 5 on get 5 to 14, and 15 where they are one of these.
    assert found.coverage == pytest.approx(15 / N)


def test_all_go_to_those_who_have_none():
    found = measure_degree_bias(subject(np.arange(N)[::-1]))
    assert found.groups[-1].recommended == 0
    assert found.recommended_gini > 0.7


def test_many_nodes_are_sampled(monkeypatch):
    monkeypatch.setattr(degree_bias, "MAX_NODES", 7)
    one, same, other = (measure_degree_bias(subject(np.arange(N)), seed) for seed in (0, 0, 1))
    assert one.num_asked == 7
    assert one == same != other


def test_gini_of_nothing_is_zero():
    assert gini(np.zeros(4, dtype=np.int64)) == 0
