import numpy as np
import pytest

from arcvec.graph.components import components, largest_component
from arcvec.graph.graph import Graph


def test_components_ignore_direction():
    graph = Graph.from_edges([0, 2, 3], [1, 1, 4], nodes=6)
    labels = components(graph)
    assert labels[0] == labels[1] == labels[2]
    assert labels[3] == labels[4]
    assert len(set(labels.tolist())) == 3


@pytest.mark.parametrize("directed", [True, False])
def test_largest_component_keeps_order_names_and_weights(directed):
    graph = Graph.from_edges(
        [5, 3, 0], [3, 1, 2], nodes="abcdef", directed=directed, weights=[5.0, 3.0, 9.0]
    )
    largest = largest_component(graph)
    assert list(largest.nodes) == ["b", "d", "f"]
    assert largest.has_edges(np.array([2, 1]), np.array([1, 0])).all()
    assert largest.edge_weights().tolist() == [3.0, 5.0]
    assert largest.directed == directed


def test_tie_goes_to_the_smallest_node():
    graph = Graph.from_edges([4, 0, 1], [5, 3, 2], nodes="abcdef")
    assert list(largest_component(graph).nodes) == ["a", "d"]


def test_connected_graph_is_returned_itself():
    graph = Graph.from_edges([0, 2], [1, 1])
    assert largest_component(graph) is graph


def test_odd_ends():
    empty = Graph.from_edges([], [])
    assert largest_component(empty) is empty
    assert components(empty).size == 0
    assert list(largest_component(Graph.from_edges([], [], nodes=3)).nodes) == ["0"]
