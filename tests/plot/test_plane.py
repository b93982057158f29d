import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.plot.directions import angles_from_mean, part_in_cone
from arcvec.plot.plane import Plane, choose_targets, graph_over


def embeddings(num_nodes=4, side=2):
    vectors = np.random.default_rng(0).normal(size=(2, num_nodes, side)).astype(np.float32)
    return EdgeEmbeddings(*vectors, NodeNames.numbered(num_nodes), directed=False)


def test_undirected_results_are_shown_as_stored():
    result = embeddings()
    plane = Plane.of(result, Graph.from_edges([0], [1], nodes=4, directed=False))
    np.testing.assert_array_equal(plane.source, result.source)
    np.testing.assert_array_equal(plane.target, result.target)
    assert plane.sources_of(0).tolist() == [1]
    assert plane.sources_of(1).tolist() == [0]


def test_one_vector_of_two_numbers_is_shown_weighed_and_as_stored():
    vectors = embeddings().target
    result = EdgeEmbeddings.one_vector(vectors, [2, -1], NodeNames.numbered(4), directed=False)
    assert result.dim == 2
    plane = Plane.of(result, Graph.from_edges([0], [1], nodes=4, directed=False))
    np.testing.assert_array_equal(plane.target, vectors)
    scores = result.score_all_targets(np.arange(4))
    np.testing.assert_allclose(plane.source @ plane.target.T, scores, rtol=1e-5)


def test_one_vector_of_more_numbers_is_refused():
    vectors = np.ones((4, 4), dtype=np.float32)
    result = EdgeEmbeddings.one_vector(vectors, np.ones(4), NodeNames.numbered(4))
    message = r"got dim 4 in one vector for both sides; fit with --dim 4 --model\.kind asymmetric"
    with pytest.raises(ValueError, match=message):
        Plane.of(result, Graph.from_edges([0], [1], nodes=4))


def test_edges_onto_a_target_of_a_directed_graph():
    plane = Plane.of(embeddings(), Graph.from_edges([0, 2, 1], [1, 1, 3], nodes=4))
    assert plane.sources_of(1).tolist() == [0, 2]
    assert plane.sources_of(0).tolist() == []


def test_nodes_are_matched_by_name():
    graph = Graph.from_edges([0, 1], [1, 2], nodes=["c", "a", "stranger"])
    over = graph_over(graph, NodeNames.from_strings("abc"))
    assert np.stack(over.edges(), axis=1).tolist() == [[2, 0]]
    with pytest.raises(ValueError, match="none of which is among the 2 of the result"):
        graph_over(graph, NodeNames.from_strings("xy"))


@pytest.mark.parametrize("side", [1, 3])
def test_other_dims_are_refused(side):
    with pytest.raises(ValueError, match=rf"dim 4.* got dim {2 * side}; fit with --dim 4"):
        Plane.of(embeddings(side=side), Graph.from_edges([0], [1], nodes=4))


def test_a_graph_without_edges_is_refused():
    with pytest.raises(ValueError, match="expected a graph with edges"):
        Plane.of(embeddings(), Graph.from_edges([], [], nodes=4))


def test_chosen_targets_are_spread_well_connected_and_no_hubs(circle_plane):
    chosen = choose_targets(circle_plane, 4)
    assert len(set(chosen.tolist())) == 4
    assert chosen.tolist() == choose_targets(circle_plane, 4).tolist()
    degrees = circle_plane.graph.in_degrees
    assert (degrees[chosen] >= np.median(degrees)).all()
    assert (degrees[chosen] < degrees.max()).all()
    angles = np.sort(angles_from_mean(circle_plane.target)[chosen])
    assert np.ptp(angles) > 1.0  # of 2.4


def test_few_nodes_give_what_there_is():
    plane = Plane.of(embeddings(2), Graph.from_edges([0], [1], nodes=2))
    assert set(choose_targets(plane, 4).tolist()) <= {1}


def test_part_in_cone_against_all_pairs():
    middles = np.array([[[1, 0]], [[-1, 1]]])
    source, target = np.random.default_rng(1).normal(size=(2, 80, 2)) + middles
    assert part_in_cone(source, target) == pytest.approx((source @ target.T > 0).mean())
