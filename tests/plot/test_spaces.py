from xml.etree import ElementTree

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.plot.spaces import draw_spaces, project


@pytest.mark.parametrize("directed", [True, False])
def test_projection_is_the_best_of_rank_two(directed):
    source, target = np.random.default_rng(0).normal(size=(2, 30, 5)).astype(np.float32)
    embeddings = EdgeEmbeddings(source, target, NodeNames.numbered(30), directed=directed)
    left, right = project(embeddings)
    scores = embeddings.score_all_targets(np.arange(30))
    values = np.linalg.svd(scores, compute_uv=False)
    error = np.linalg.norm(scores - left @ right.T)
    assert error == pytest.approx(np.linalg.norm(values[2:]), rel=1e-5)


def test_one_number_a_side_lies_on_a_line():
    vectors = np.random.default_rng(0).normal(size=(6, 1)).astype(np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors[::-1], NodeNames.numbered(6))
    left, right = project(embeddings)
    assert left.shape == right.shape == (6, 2)
    np.testing.assert_allclose(
        left @ right.T, embeddings.score_all_targets(np.arange(6)), atol=1e-6
    )


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_figure_is_drawn(tmp_path, suffix):
    vectors = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.from_strings("abcdef"))
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes="abcdef")
    path = tmp_path / f"spaces{suffix}"
    draw_spaces(embeddings, graph, path)
    start = b"\x89PNG" if suffix == ".png" else b"<?xml"
    assert path.read_bytes().startswith(start)
    with pytest.raises(FileExistsError, match="exists already"):
        draw_spaces(embeddings, graph, path)


def test_names_are_plain_text_whatever_they_are(tmp_path):
    """A formula that is none would stop the drawing, a control character make it unreadable."""
    names = NodeNames.from_strings([r"$\foo$", "bell\x07", "<b>&", "d", "e", "--> f"])
    vectors = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    graph = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0], nodes=names)
    draw_spaces(EdgeEmbeddings(vectors, vectors, names), graph, tmp_path / "spaces.svg")
    text = (tmp_path / "spaces.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "bell\ufffd" in text
