"""Projections, directions and measures of points in the plane."""

import math

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.lab.demo import read_demo_graph
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import WalkSettings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings
from arcvec.view.plane import (
    Plane,
    angles_from_mean,
    choose_targets,
    graph_over,
    measure_plane,
    part_in_cone,
    project,
)


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
    message = r"got dim 4 in one vector for both sides; fit with --dim 4 --goal pairs"
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


def plane_of(source_angles, target_angles, graph):
    sides = [
        np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
        for turns in map(np.radians, (source_angles, target_angles))
    ]
    return Plane.of(EdgeEmbeddings(*sides, NodeNames.numbered(len(source_angles))), graph)


def test_known_answers():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2], nodes=3)
    # 0 -> 1 is 30 degrees apart, 0 -> 2 is 150, 1 -> 2 is 60.
    measures = list(measure_plane(plane_of([0, 90, 0], [0, 30, 150], graph)).values())
    assert measures[:3] == pytest.approx([2 / 3, 6 / 9, 1 / 3])
    # Out-degrees 2, 1, 0; the mean of the targets points to 47 degrees, where 1 is nearest.
    assert measures[3] == pytest.approx(0, abs=1e-9)


def test_disjoint_and_equal_spaces():
    graph = Graph.from_edges([0, 1], [1, 0])
    apart = list(measure_plane(plane_of([0, 10], [180, 190], graph)).values())
    assert apart[:3] == [0, 0, 0]
    same = list(measure_plane(plane_of([1, 10], [1, 10], graph)).values())
    assert same[:3] == [1, 1, 1]
    assert math.isnan(same[3])  # all degrees are equal


@pytest.mark.parametrize("unit_norm", [True, False])
def test_a_fit_shows_what_the_paper_describes(unit_norm):
    """Almost disjoint spaces, high degrees nearest to the other, edges within 90 degrees."""
    graph = read_demo_graph()
    method = EdgeProjection(
        goal="pairs",
        dim=4,
        seed=0,
        walks=WalkSettings(window=5),
        model=ModelSettings(unit_norm=unit_norm),
        # As in the paper, degrees add nothing of their own to the two numbers of a side.
        training=TrainSettings(steps=300, batch_pairs=4000, degree_discount=0),
    )
    measures = measure_plane(Plane.of(method.fit(graph), graph)).values()
    edges_in_cone, pairs_in_cone, shared_directions, *degree_nearness = measures
    assert edges_in_cone > 0.8
    assert pairs_in_cone < 0.2
    assert shared_directions < 0.15
    assert min(degree_nearness) > 0.6
