"""Figures of a result by kind."""

from xml.etree import ElementTree

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.view.figures import save_figure
from arcvec.view.plane import choose_kind
from arcvec.view.spaces import result_figure

GRAPH = Graph.from_edges([0, 1, 2], [1, 2, 0])


def draw_result(embeddings, paths, **chosen):
    """Write a figure of a result; return its measures."""
    figure, measures = result_figure(embeddings, **chosen)
    save_figure(figure, paths)
    return measures


def result(side=2, *, unit_norm=False, dtype=np.float32):
    vectors = np.random.default_rng(0).normal(size=(2, 3, side))
    if unit_norm:
        vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return EdgeEmbeddings(*vectors.astype(dtype), NodeNames.numbered(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_kind_follows_from_the_vectors(dtype):
    assert choose_kind(result(unit_norm=True, dtype=dtype)) == "circle"
    assert choose_kind(result(dtype=dtype)) == "colours"
    assert choose_kind(result(16, unit_norm=True, dtype=dtype)) == "spaces"


@pytest.mark.parametrize(
    ("side", "unit_norm", "weights", "kind"),
    [
        (2, True, [1, -1], "circle"),
        (2, True, [1, 2], "colours"),
        (2, False, [1, -1], "colours"),
        (4, False, [1, 1, 1, 1], "spaces"),
        (1, False, [-1], "spaces"),
    ],
)
def test_one_vector_for_both_sides(tmp_path, side, unit_norm, weights, kind):
    two = result(side, unit_norm=unit_norm)
    one = EdgeEmbeddings.one_vector(two.target, weights, two.nodes)
    assert choose_kind(one) == kind
    measures = draw_result(one, [tmp_path / "a.png"], graph=GRAPH)
    assert bool(measures) == (kind != "spaces")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_equal_figures_have_equal_bytes(tmp_path):
    for suffix in ("png", "svg", "pdf"):
        paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
        for path in paths:
            draw_result(result(), [path], graph=GRAPH)
        first, second = (path.read_bytes() for path in paths)
        assert first
        assert first == second


def test_measures_come_with_the_figures_of_two_numbers(tmp_path):
    assert draw_result(result(), [tmp_path / "a.png"], graph=GRAPH)
    assert not draw_result(result(16), [tmp_path / "b.png"], graph=GRAPH)


def test_no_figure_without_its_graph(tmp_path):
    with pytest.raises(ValueError, match="expected a graph, got none"):
        draw_result(result(), [tmp_path / "a.png"])
    with pytest.raises(KeyError, match="unknown node 'x'"):
        draw_result(result(), [tmp_path / "a.png"], graph=GRAPH, nodes=["x"])
    with pytest.raises(ValueError, match=r"expected a name ending in \.png, \.svg, \.pdf"):
        draw_result(result(), [tmp_path / "a.gif"], graph=GRAPH)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_figure_is_drawn(tmp_path, suffix):
    vectors = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abcdef"))
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes="abcdef")
    path = tmp_path / f"spaces{suffix}"
    draw_result(embeddings, [path], graph=graph, kind="spaces")
    start = b"\x89PNG" if suffix == ".png" else b"<?xml"
    assert path.read_bytes().startswith(start)
    with pytest.raises(FileExistsError, match="exists already"):
        draw_result(embeddings, [path], graph=graph, kind="spaces")


def test_names_are_plain_text_whatever_they_are(tmp_path):
    """A formula that is none would stop the drawing, a control character make it unreadable."""
    names = NodeNames.from_strings([r"$\foo$", "bell\x07", "<b>&", "d", "e", "--> f"])
    vectors = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    graph = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0], nodes=names)
    embeddings = EdgeEmbeddings(vectors, vectors, names)
    draw_result(embeddings, [tmp_path / "spaces.svg"], graph=graph, kind="spaces")
    text = (tmp_path / "spaces.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "bell\ufffd" in text
