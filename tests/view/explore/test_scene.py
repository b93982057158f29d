"""What the explorer draws: places that keep scores, colours that tell what they say."""

import duckdb
import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.view.explore.scene import Scene, by_category, by_number, read_colourings

NAMES = NodeNames.from_strings(["a", "b", "c", "d", "e"])


def make_embeddings(width, one_vector=False):
    source, target = np.random.default_rng(0).normal(size=(2, 5, width)).astype(np.float32)
    if one_vector:
        weights = np.linspace(2, -1, width)
        return EdgeEmbeddings.one_vector(target, weights, NAMES, directed=False)
    return EdgeEmbeddings(source, target, NAMES)


def test_two_numbers_a_side_are_drawn_as_they_are():
    embeddings = make_embeddings(2)
    scene = Scene.of(embeddings)
    assert scene.exact
    np.testing.assert_array_equal(scene.source, embeddings.source)
    np.testing.assert_array_equal(scene.target, embeddings.target)


@pytest.mark.parametrize("one_vector", [False, True])
def test_a_projection_keeps_scores_as_well_as_two_numbers_can(one_vector):
    embeddings = make_embeddings(4, one_vector)
    scene = Scene.of(embeddings)
    assert not scene.exact
    assert scene.describe("x")["one_space"] == one_vector
    scores = embeddings.score_all_targets(np.arange(5))
    left, values, right = np.linalg.svd(scores)
    best = left[:, :2] * values[:2] @ right[:2]
    np.testing.assert_allclose(scene.source @ scene.target.T, best, atol=1e-5)


def test_places_are_told_in_one_block():
    graph = Graph.from_edges([0, 0, 0, 1, 4], [1, 2, 3, 2, 2], nodes=NAMES)
    scene = Scene.of(make_embeddings(2), graph)
    block = scene.places()
    assert len(block) == 5 * (8 + 8 + 4 + 4 + 1 + 1)
    places = np.frombuffer(block, "<f4", 20).reshape(2, 5, 2)
    np.testing.assert_allclose(places, [scene.source, scene.target], rtol=1e-6)
    order = np.frombuffer(block, "<u4", 10, offset=80).reshape(2, 5)
    assert order.tolist() == [[2, 3, 1, 4, 0], [0, 4, 1, 3, 2]]  # most edges last, on top
    sizes = np.frombuffer(block, "u1", 10, offset=120).reshape(2, 5)
    assert sizes[0].argmax() == 0
    assert sizes[1].argmax() == 2


def test_colours_of_a_graph():
    graph = Graph.from_edges([0, 0, 1, 4], [1, 2, 2, 2], nodes=NAMES)
    scene = Scene.of(make_embeddings(2), graph)
    assert [one.name for one in scene.colourings] == ["degree", "neighbours"]
    degree, neighbours = scene.colourings
    assert (degree.source[2] == degree.target[0]).all()  # both of degree 0
    assert degree.ends == ("0", "3 edges")
    assert (neighbours.source[1] == neighbours.target[2]).all()  # its only target
    assert len(scene.colours("neighbours")) == 2 * 5 * 3
    with pytest.raises(KeyError, match="unknown colouring 'x': expected one of degree, neighbours"):
        scene.colours("x")
    assert [one.name for one in Scene.of(make_embeddings(2)).colourings] == ["place"]


def make_zeros(names):
    vectors = np.zeros((len(names), 3), dtype=np.float32)
    return EdgeEmbeddings(vectors, vectors, NodeNames.from_strings(names))


def test_a_single_node_and_none():
    scene = Scene.of(make_zeros(["only"]))
    assert len(scene.places()) == 26
    assert np.isfinite(scene.describe("x")["boxes"]["source"]).all()
    with pytest.raises(ValueError, match="expected a result with nodes"):
        Scene.of(make_zeros([]))


def test_numbers_and_categories():
    numbers = by_number("year", np.array([1.0, 2, 3, np.nan]))
    assert len({tuple(colour) for colour in numbers.source.tolist()}) == 4
    assert "1 without a value" in numbers.note
    words = by_category("kind", ["x", "y", "x", None])
    assert words.source[0].tolist() == words.source[2].tolist() != words.source[1].tolist()
    assert [text for _, text in words.swatches] == ["x (2)", "y (1)"]
    many = by_category("kind", [str(i % 12) for i in range(100)])
    assert many.swatches[-1][1].startswith("others (")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_nodes(tmp_path, suffix):
    path = tmp_path / f"nodes{suffix}"
    rows = "VALUES ('b', 3.5, true, 'x'), ('a', NULL, false, NULL), ('stranger', 9, true, 'y')"
    duckdb.sql(f"COPY (SELECT * FROM ({rows}) t(node, degree, flag, kind)) TO '{path}'")
    degree, flag, kind = read_colourings(path, NAMES)
    assert [degree.name, flag.name, kind.name] == ["degree", "flag", "kind"]
    assert degree.ramp
    assert sorted(text for _, text in flag.swatches) == ["False (1)", "True (1)"]
    assert [text for _, text in kind.swatches] == ["x (1)"]
    graph = Graph.from_edges([0], [1], nodes=NAMES)
    scene = Scene.of(make_embeddings(2), graph, path)
    names = [one.name for one in scene.colourings]
    assert names == ["degree", "neighbours", "degree, of the table", "flag", "kind"]


def test_tables_that_are_none(tmp_path):
    def failure(name, text, kind=ValueError):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(kind) as caught:
            read_colourings(tmp_path / name, NAMES)
        return str(caught.value)

    assert "none of which is among the 5 nodes" in failure("a.csv", "node,x\nq,1\n")
    assert "ends in .csv, .tsv or .parquet" in failure("a.xlsx", "")
    assert "expected a column of names and at least one more" in failure("b.csv", "node\na\n")
    assert "expected a table with a header" in failure("c.parquet", "no parquet")
    assert "no such file" in failure("d.csv", None, FileNotFoundError)
