"""Values in a notebook: well-formed tables, everything escaped, no colours of our own."""

from html.parser import HTMLParser

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import split_edges
from arcvec.notebook import html_table

EVIL = "<script>alert('&')</script>"


class Cells(HTMLParser):
    """Collects the texts of cells, and fails where a tag is not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.rows, self.title = [], set(), [], ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "caption":
            self.title += data


def cells(value):
    """Give title and rows of what a notebook shows."""
    html = value._repr_html_()
    found = Cells(html)
    assert found.tags <= {"table", "caption", "tr", "th", "td"}
    assert "color" not in html  # light or dark is up to the notebook
    assert "background" not in html
    return found.title, dict(found.rows)


def ring(directed=True, weights=None):
    sources = np.arange(3000) % 1500
    targets = (sources + np.repeat([1, 2], 1500)) % 1500
    nodes = [EVIL, "b", *range(2, 1500)]
    return Graph.from_edges(sources, targets, nodes=nodes, directed=directed, weights=weights)


def test_graph():
    title, rows = cells(ring())
    assert title == "Graph"
    assert rows == {
        "nodes": "1,500",
        "edges": "3,000",
        "direction": "directed",
        "weights": "none",
        "first nodes": f"{EVIL}, b, 2",
    }
    rows = cells(ring(directed=False, weights=np.ones(3000)))[1]
    assert (rows["direction"], rows["weights"]) == ("undirected", "one per edge")


def test_empty_graph(empty_graph):
    assert cells(empty_graph)[1]["nodes"] == "0"


@pytest.mark.parametrize("directed", [True, False])
def test_split(directed):
    split = split_edges(ring(directed), test_fraction=0.2, validation_fraction=0.1, seed=12345)
    title, rows = cells(split)
    assert title == "Split"
    expected = {"train edges": "2,100", "validation edges": "300", "test edges": "600"}
    assert expected.items() <= rows.items()
    assert rows["seed"] == "12345"
    assert ("test negatives with reversed edges" in rows) == directed


def test_embeddings():
    vectors = np.zeros((1500, 3), dtype=np.float16)
    settings = {"method": EVIL, "seed": 7, "validation_auc": 0.98765}
    embeddings = EdgeEmbeddings(vectors, vectors, ring().nodes, settings=settings)
    title, rows = cells(embeddings)
    assert title == "EdgeEmbeddings"
    assert rows == {
        "nodes": "1,500",
        "dim": "6: 3 as source, 3 as target",
        "numbers": "float16",
        "direction": "directed",
        "method": EVIL,
        "seed": "7",
        "validation AUC": "0.9877",
        "first nodes": f"{EVIL}, b, 2",
    }
    shared = EdgeEmbeddings.one_vector(vectors, np.ones(3), ring().nodes)
    rows = cells(shared)[1]
    assert (rows["dim"], rows["numbers"]) == ("3: one vector for both sides", "float16")
    by_hand = EdgeEmbeddings(vectors[:2], vectors[:2], NodeNames.from_strings("ab"))
    assert "method" not in cells(by_hand)[1]


def test_link_prediction_report():
    split = split_edges(ring(), test_fraction=0.2, seed=0)
    source, target = np.random.default_rng(0).normal(size=(2, 1500, 3)).astype(np.float32)
    report = link_prediction(EdgeEmbeddings(source, target, split.train.nodes), split)
    title, rows = cells(report)
    assert title == "Link prediction"
    assert rows["auc"] == f"{report.auc:.4f}"
    assert rows["hits@10"] == f"{report.hits_at_10:.4f}"
    assert rows["num test edges"] == "600"
    assert "mrr standard error" not in rows  # all were ranked


def test_titles_and_names_are_escaped():
    html = html_table(EVIL, {EVIL: EVIL, "left out": None})
    assert "<script>" not in html
    assert Cells(html).title == EVIL
    assert Cells(html).rows == [[EVIL, EVIL]]
