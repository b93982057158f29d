import numpy as np
import pytest
from matplotlib.patches import Wedge

from arcvec.graph.graph import Graph
from arcvec.plot.colour_plane import colours_by_place, to_rgb
from arcvec.plot.colours import colours_figure, mean_of_targets
from arcvec.plot.plane import Plane
from tests.plot.test_circle import segments

# What someone without green cones sees, in linear RGB (Machado and others, 2009).
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])


def test_four_panels_with_axes_and_diagonals(free_plane):
    panels = colours_figure(free_plane).axes
    assert [axes.get_title()[:9] for axes in panels] == [
        *("(a) sourc", "(b) targe", "(c) both ", "(d) selec")
    ]
    for axes in panels:
        assert axes.get_aspect() == 1
        lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
        slopes = [np.subtract(*line.get_xydata()) for line in lines]
        directions = sorted(round(np.degrees(np.arctan2(y, x))) % 180 for x, y in slopes)
        assert directions == [0, 45, 90, 135]
        colours = {line.get_color() for line in lines}
        assert colours == {"black", "0.8"}


def test_sources_have_the_mean_colour_of_their_targets():
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2], nodes=4)
    values = np.arange(12.0).reshape(4, 3)
    means = mean_of_targets(graph, values)
    np.testing.assert_allclose(means[0], (values[1] + values[2]) / 2)
    np.testing.assert_allclose(means[1], values[2])
    assert means[2] == pytest.approx([0.75, 0, 0])  # grey: it has no targets


def test_weights_count():
    graph = Graph.from_edges([0, 0], [1, 2], nodes=3, weights=[3.0, 1.0])
    means = mean_of_targets(graph, np.array([[0.0] * 3, [0.0] * 3, [4.0] * 3]))
    np.testing.assert_allclose(means[0], 1.0)


def test_panels_are_coloured_so(free_plane):
    panels = colours_figure(free_plane).axes
    places = colours_by_place(free_plane.target)
    sources, targets = panels[0].collections[0], panels[1].collections[0]
    np.testing.assert_allclose(targets.get_facecolor()[:, :3], to_rgb(places))
    means = mean_of_targets(free_plane.graph, places)
    np.testing.assert_allclose(sources.get_facecolor()[:, :3], to_rgb(means))


def test_near_places_have_similar_colours():
    x, y = np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    colours = colours_by_place(places)
    steps = np.linalg.norm(np.diff(colours.reshape(30, 30, 3), axis=1), axis=-1)
    assert steps.max() < 0.02
    rgb = to_rgb(colours)
    assert rgb.min() >= 0
    assert rgb.max() <= 1


def test_corners_differ_also_for_the_colour_blind():
    corners = to_rgb(colours_by_place(np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])))
    seen = np.clip(corners**2.2 @ DEUTERANOPIA.T, 0, 1) ** (1 / 2.2)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    assert apart[~np.eye(4, dtype=bool)].min() > 0.3


def test_edges_and_cones_of_the_selected_targets(free_plane):
    selected = np.array([3, 20])
    axes = colours_figure(free_plane, selected).axes[3]
    assert len(segments(axes)) == free_plane.graph.in_degrees[selected].sum()
    cones = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    assert len(cones) == 2
    for cone, target in zip(cones, selected, strict=True):
        turns = np.radians(np.linspace(cone.theta1 + 1, cone.theta2 - 1, 50))
        inside = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        assert (inside @ free_plane.target[target] > 0).all()
        assert cone.theta2 - cone.theta1 == pytest.approx(180)


def test_a_node_far_out_does_not_shrink_the_others(free_plane):
    source = np.concatenate([np.tile(free_plane.source, (40, 1)), [[1e3, 0]]])
    graph = Graph.from_edges([0], [1], nodes=len(source))
    axes = colours_figure(Plane(source, source, graph)).axes[0]
    assert axes.get_xlim()[1] < 10
    assert "1 node beyond the rim" in [text.get_text() for text in axes.texts]
    panels = colours_figure(free_plane).axes
    assert not any("beyond" in text.get_text() for axes in panels for text in axes.texts)
