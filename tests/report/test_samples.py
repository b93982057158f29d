"""Recommendations in a report: chosen by degree alone, known edges left out, test edges marked."""

from arcvec.graph.graph import Graph
from arcvec.recommendation.calibration import calibrate
from arcvec.recommendation.exact import recommend
from arcvec.report.samples import sample_tables, spread_nodes
from arcvec.report.subject import Subject
from tests.report.conftest import EVIL, NAMES


def test_tables_of_all_nodes(embeddings, split):
    made = calibrate(embeddings, split.graph, split.test)
    tables = sample_tables(Subject.of(embeddings, split), list(NAMES), 12, made)
    names, scores = recommend(embeddings, NAMES, k=12, exclude=split.train)
    hidden = {(NAMES[u], NAMES[v]) for u, v in split.test.tolist()}
    num_marked = 0
    for i, (node, table) in enumerate(zip(NAMES, tables, strict=True)):
        assert table.title == node
        assert table.header == ("rank", "target", "score", "probability", "test edge")
        ranks, targets, shown, likely, marks = zip(
            *([entry.text for entry in row] for row in table.rows), strict=True
        )
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
    assert [row[1].text for row in table.rows] == ["node119"]
    assert table.header == ("rank", "target", "score")
    assert table.notes == ("118 known edges left out",)


def test_nodes_are_spread_from_most_edges_to_fewest(embeddings, split):
    rows = [4, 4, 4, 4, 2, 2, 2, 1, 1, 0]
    graph = Graph.from_edges(rows, [0, 1, 2, 3, 0, 1, 3, 2, 3, 4], nodes=6)
    assert spread_nodes(graph, 2).tolist() == [4, 0]
    assert spread_nodes(graph, 9).tolist() == [4, 2, 1, 0]
    first = sample_tables(Subject.of(embeddings, split), (), 1, None)[0]
    assert first.title in EVIL  # which have most edges
