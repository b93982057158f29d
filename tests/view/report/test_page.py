"""Reports: complete, true to the one way everything is measured, and deaf to hostile names."""

import base64
from xml.etree import ElementTree

import numpy as np
import pytest

from arcvec.baselines.by_name import CHEAP_BASELINES
from arcvec.baselines.paths import DegreeProduct
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges
from arcvec.recommendation.calibration import Calibration, ReliabilityBin
from arcvec.view.report.page import write_report
from tests.view.report.conftest import EVIL, NAMES, make_embeddings, make_graph
from tests.view.report.reading import Page, without_pictures

SECTIONS = [
    *("graph", "settings", "training", "test"),
    *("probabilities", "degrees", "spaces", "samples"),
]


@pytest.fixture
def report(tmp_path):
    """Give a function that writes a report and returns what is in it."""

    def make(embeddings, graph, **changes):
        write_report(embeddings, graph, tmp_path / "report.html", overwrite=True, **changes)
        return Page((tmp_path / "report.html").read_text())

    return make


@pytest.fixture(scope="module")
def written(embeddings, split, tmp_path_factory):
    """The text of a full report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(embeddings, split, path, title=EVIL[0])
    return path.read_text()


def test_all_sections_and_what_readers_need(written):
    page = Page(written)
    assert list(page.sections) == SECTIONS
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == len(SECTIONS)
    assert all(table["caption"].strip() for table in page.tables)
    assert len(page.ids) == len(set(page.ids))
    assert len(page.pictures) == 3
    for picture in page.pictures:
        assert len(picture["alt"]) > 30
        drawn = base64.b64decode(picture["src"].removeprefix("data:image/svg+xml;base64,"))
        assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in written
    assert "@media print" in written


def test_names_are_text_and_never_markup(written):
    page = Page(written)
    assert "script" not in page.tags
    assert page.text.count(EVIL[0]) > 3
    shown = {name for name in EVIL if name in page.sections["samples"]}
    assert len(shown) > 1
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    assert "49" not in page.sections["samples"].split()  # {{ 7*7 }} is no template


def test_nothing_is_loaded(written):
    rest = without_pictures(written)
    assert "//" not in rest
    assert "@import" not in rest
    assert "url(" not in rest
    assert "default-src 'none'" in rest


def test_equal_results_give_equal_bytes(embeddings, split, tmp_path, written):
    write_report(embeddings, split, tmp_path / "again.html", title=EVIL[0])
    assert (tmp_path / "again.html").read_text() == written


def test_numbers_are_those_of_link_prediction(written, embeddings, split):
    page = Page(written)
    (table,) = page.tables_in("test").values()
    ours = link_prediction(embeddings, split)
    degrees = link_prediction(DegreeProduct().fit(split.train), split)
    names = ["arcvec, dim 8", *CHEAP_BASELINES]
    assert [row[0] for row in table[1:]] == names
    for row, expected in zip(table[1:], (ours, degrees), strict=False):
        numbers = dict(zip(table[0], row, strict=True))
        assert numbers["AUC"] == f"{expected.auc:.3f}"
        assert numbers["MRR"] == f"{expected.mrr:.3f}"
        assert numbers["nDCG@10"] == f"{expected.by_source['ndcg@10']:.3f}"
    assert "Careful" not in page.said("test")
    best = max(table[2:], key=lambda row: float(row[1]))
    assert f"best baseline {best[1]}, {best[0]}" in page.text


def test_facts_and_settings(written, split):
    page = Page(written)
    facts = {row[0]: row[1:] for row in page.tables_in("graph")["The graph"]}
    assert facts["nodes"] == ["120", "120"]
    assert facts["edges"] == [f"{split.train.num_edges:,}", f"{split.graph.num_edges:,}"]
    whole = f"{100 * split.graph.reciprocity:.1f} %"
    assert facts["reciprocity"][1] == f"{whole} of the edges are returned"
    assert f"highest {split.train.in_degrees.max()} (" in facts["in-degree"][0]
    assert "2 of 55 settings differ from the preset auc, the nearest one" in page.said("settings")
    assert written.count('<tr class="marked">') == 4  # among those that differ, and among all


def test_what_a_result_does_not_remember_is_told(report, vectors, split):
    """Vectors by hand: no settings, no curve, and nobody knows what edges they have seen."""
    given = Calibration(1.0, 0.0, 0.1, 0.5, 0.123, 77, (ReliabilityBin(0.4, 0.5, 0.45, 0.25, 9),))
    by_hand = EdgeEmbeddings(*vectors, NAMES)
    page = report(by_hand, split, baselines=(), calibration=given)
    assert "does not remember settings" in page.said("settings")
    assert "There is no curve: expected a result that remembers" in page.said("training")
    assert "Careful. The result was fitted on another graph" in page.said("test")
    assert "best baseline" not in page.text
    assert "77 others of these edges" in page.said("probabilities")
    assert "off by 0.123" in page.said("probabilities")


def test_without_a_test_part_there_are_no_test_numbers(report, embeddings, split):
    page = report(embeddings, split.train)
    assert "which the training has not seen" not in page.text
    assert page.said("test").startswith("Test edges There is no test part")
    assert "arcvec split" in page.said("test")
    assert page.tables_in("test") == {}
    assert "test AUC" not in page.text
    assert "come out too high" in page.said("probabilities")
    assert all("test edge" not in rows[0] for rows in page.tables_in("samples").values())


def test_too_few_edges_to_calibrate_with(report):
    vectors = np.random.default_rng(0).normal(size=(2, 6, 2)).astype(np.float32)
    ring = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0])
    page = report(make_embeddings(vectors, ring), ring)
    assert "expected at least 10 edges" in page.said("probabilities")
    assert "probability" not in next(iter(page.tables_in("samples").values()))[0]


def test_undirected_results_and_one_vector_for_both_sides(report, vectors):
    graph = make_graph(vectors, directed=False)
    parts = split_edges(graph, test_fraction=0.2, validation_fraction=0.1, seed=0)
    plane = vectors[1, :, :2].copy()
    embeddings = EdgeEmbeddings.one_vector(
        plane,
        np.ones(2),
        NAMES,
        directed=False,
        settings={"graph_fingerprint": parts.train.fingerprint},
    )
    page = report(embeddings, parts, baselines=())
    facts = dict(row[:2] for row in page.tables_in("graph")["The graph"])
    assert "in-degree" not in facts
    assert "reversed" not in page.tables_in("test").popitem()[1][0]
    assert "validation edges, which the training has not seen" in page.said("probabilities")
    assert "within 90 degrees" in page.said("spaces")
    assert "One vector per node serves both sides" in page.said("spaces")


def test_what_does_not_fit_together_leaves_no_file(tmp_path, embeddings, split, vectors):
    path = tmp_path / "report.html"
    undirected = make_graph(vectors, directed=False)
    with pytest.raises(ValueError, match="which is directed, got one that is undirected"):
        write_report(embeddings, undirected, path)
    with pytest.raises(ValueError, match="none of which is among the 120"):
        write_report(embeddings, Graph.from_edges([0], [1], nodes=["x", "y"]), path)
    with pytest.raises(ValueError, match="expected a graph with edges"):
        write_report(embeddings, Graph.from_edges([], [], nodes=NAMES), path)
    with pytest.raises(KeyError, match="unknown node 'node7x'"):
        write_report(embeddings, split, path, nodes=["node7x"])
    with pytest.raises(ValueError, match=r'setting "baselines.0"'):
        write_report(embeddings, split, path, baselines=["guessing"])
    assert list(tmp_path.iterdir()) == []
