"""Recommendations in a report: chosen by degree alone, known edges left out, test edges marked."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation.calibration import calibrate
from arcvec.recommendation.exact import recommend
from arcvec.view.report import sections
from arcvec.view.report.sections import (
    Subject,
    degree_bias,
    sample_tables,
    spread_nodes,
)
from tests.view.report.conftest import EVIL, NAMES

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
    found = degree_bias(subject(np.arange(N)))
    assert found["table"].rows[-1][2] == "81.1 %"  # (39 + 38 + 37 + 36) / 185
    recommended = [float(row[3].removesuffix(" %")) for row in found["table"].rows]
    assert sum(recommended) == pytest.approx(100, abs=0.5)
    assert [row[1] for row in found["table"].rows] == ["0"] * 8 + ["0 to 35", "36 to 39"]
    assert found["num_asked"] == N
    # All others know node 0; those from 5 on get 5 to 14, and 15 where they are one of these.
    assert found["coverage"] == pytest.approx(15 / N)


def test_all_go_to_those_who_have_none():
    found = degree_bias(subject(np.arange(N)[::-1]))
    assert found["table"].rows[-1][3] == "0.0 %"


def test_many_nodes_are_sampled(monkeypatch):
    monkeypatch.setattr(sections, "MAX_NODES", 7)
    one, same, other = (degree_bias(subject(np.arange(N)), seed) for seed in (0, 0, 1))
    assert one["num_asked"] == 7
    assert one == same != other


def test_tables_of_all_nodes(embeddings, split):
    made = calibrate(embeddings, split.graph, split.test)
    tables = sample_tables(Subject.of(embeddings, split), list(NAMES), 12, made)
    names, scores = recommend(embeddings, NAMES, k=12, exclude=split.train)
    hidden = {(NAMES[u], NAMES[v]) for u, v in split.test.tolist()}
    num_marked = 0
    for i, (node, table) in enumerate(zip(NAMES, tables, strict=True)):
        assert table.title == node
        assert tuple(table.header) == ("rank", "target", "score", "probability", "test edge")
        ranks, targets, shown, likely, marks = zip(*table.rows, strict=True)
        assert list(ranks) == [str(rank + 1) for rank in range(12)]
        assert list(targets) == names[i].tolist()
        assert list(shown) == [f"{score:.2f}" for score in scores[i]]
        assert list(likely) == [f"{value:.3f}" for value in made.probabilities(scores[i])]
        assert [bool(mark) for mark in marks] == [(node, name) in hidden for name in targets]
        num_marked += sum(map(bool, marks))
    assert num_marked > 10


def test_fewer_candidates_than_asked_for(embeddings, split):
    known = Graph.from_edges([4] * 118, [*range(4), *range(5, 119)], nodes=NAMES)
    (table,) = sample_tables(Subject.of(embeddings, known), ["node4"], 10, None)
    assert [row[1] for row in table.rows] == ["node119"]
    assert tuple(table.header) == ("rank", "target", "score")
    assert list(table.notes) == ["118 known edges left out"]


def test_nodes_are_spread_from_most_edges_to_fewest(embeddings, split):
    rows = [4, 4, 4, 4, 2, 2, 2, 1, 1, 0]
    graph = Graph.from_edges(rows, [0, 1, 2, 3, 0, 1, 3, 2, 3, 4], nodes=6)
    assert spread_nodes(graph, 2).tolist() == [4, 0]
    assert spread_nodes(graph, 9).tolist() == [4, 2, 1, 0]
    first = sample_tables(Subject.of(embeddings, split), (), 1, None)[0]
    assert first.title in EVIL  # which have most edges
