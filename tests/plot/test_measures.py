import math

import numpy as np
import pytest

from arcvec.demo import read_demo_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.model.settings import ModelSettings
from arcvec.plot.measures import measure_plane
from arcvec.plot.plane import Plane
from arcvec.sampling.settings import WalkSettings
from arcvec.training.settings import TrainSettings


def plane_of(source_angles, target_angles, graph):
    sides = [
        np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
        for turns in map(np.radians, (source_angles, target_angles))
    ]
    return Plane.of(EdgeEmbeddings(*sides, NodeNames.numbered(len(source_angles))), graph)


def test_known_answers():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2], nodes=3)
    # 0 -> 1 is 30 degrees apart, 0 -> 2 is 150, 1 -> 2 is 60.
    measures = measure_plane(plane_of([0, 90, 0], [0, 30, 150], graph))
    assert measures.edges_in_cone == pytest.approx(2 / 3)
    assert measures.pairs_in_cone == pytest.approx(6 / 9)
    assert measures.shared_directions == pytest.approx(1 / 3)
    # Out-degrees 2, 1, 0; the mean of the targets points to 47 degrees, where 1 is nearest.
    assert measures.source_degree_nearness == pytest.approx(0, abs=1e-9)


def test_disjoint_and_equal_spaces():
    graph = Graph.from_edges([0, 1], [1, 0])
    apart = measure_plane(plane_of([0, 10], [180, 190], graph))
    assert apart.shared_directions == apart.edges_in_cone == apart.pairs_in_cone == 0
    same = measure_plane(plane_of([1, 10], [1, 10], graph))
    assert same.shared_directions == same.edges_in_cone == same.pairs_in_cone == 1
    assert math.isnan(same.source_degree_nearness)  # all degrees are equal
    assert "100.0% of the edges" in str(same)


@pytest.mark.parametrize("unit_norm", [True, False])
def test_a_fit_shows_what_the_paper_describes(unit_norm):
    """Almost disjoint spaces, high degrees nearest to the other, edges within 90 degrees."""
    graph = read_demo_graph()
    method = EdgeProjection(
        dim=4,
        seed=0,
        walks=WalkSettings(window=5),
        model=ModelSettings(unit_norm=unit_norm),
        training=TrainSettings(steps=300, batch_pairs=4000, stronger_l2=()),
    )
    measures = measure_plane(Plane.of(method.fit(graph), graph))
    assert measures.edges_in_cone > 0.8
    assert measures.pairs_in_cone < 0.2
    assert measures.shared_directions < 0.15
    assert min(measures.source_degree_nearness, measures.target_degree_nearness) > 0.6
