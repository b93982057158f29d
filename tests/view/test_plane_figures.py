"""The paper's figures of two numbers per side."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb as colour_to_rgb
from matplotlib.patches import Wedge

from arcvec.graph.graph import Graph
from arcvec.view.figures import COLOURS, colours_by_place, mean_of_targets
from arcvec.view.plane import Plane
from arcvec.view.spaces import (
    LONGEST_TICK,
    circle_figure,
    colours_figure,
)

# What someone without green cones sees, in linear RGB (Machado and others, 2009).
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])


def segments(axes):
    """Return the ends of all lines in a panel that were drawn as a collection, (n, 2, 2)."""
    lines = [c for c in axes.collections if isinstance(c, LineCollection)]
    return np.concatenate([c.get_segments() for c in lines])


def test_four_panels_of_circles(circle_plane):
    panels = circle_figure(circle_plane).axes
    assert [axes.get_title() for axes in panels] == [
        "(a) source space, ticks: out-degree",
        "(b) target space, ticks: in-degree",
        "(c) both spaces, bands: number of nodes",
        "(d) selected targets and their edges (how many)",
    ]
    assert all(axes.get_aspect() == 1 for axes in panels)


def test_a_tick_for_every_node_as_long_as_its_degree(circle_plane):
    panels = circle_figure(circle_plane).axes
    graph = circle_plane.graph
    highest = max(graph.out_degrees.max(), graph.in_degrees.max())
    for axes, points, degrees in (
        (panels[0], circle_plane.source, graph.out_degrees),
        (panels[1], circle_plane.target, graph.in_degrees),
    ):
        ticks = segments(axes)
        assert len(ticks) == graph.num_nodes
        np.testing.assert_allclose(ticks[:, 0], points)
        along = ticks[:, 1] - ticks[:, 0]
        np.testing.assert_allclose(
            np.linalg.norm(along, axis=1), degrees / highest * LONGEST_TICK, atol=1e-6
        )
        outwards = np.einsum("ij,ij->i", along, points)
        np.testing.assert_allclose(outwards, np.linalg.norm(along, axis=1), rtol=1e-6)


def test_both_spaces_in_two_colours(circle_plane):
    axes = circle_figure(circle_plane).axes[2]
    dots = [c for c in axes.collections if len(c.get_offsets()) == circle_plane.graph.num_nodes]
    assert [tuple(c.get_facecolor()[0][:3]) for c in dots] == [
        colour_to_rgb(COLOURS[0]),
        colour_to_rgb(COLOURS[1]),
    ]
    assert all(c.get_rasterized() for c in dots)


def test_all_edges_of_the_selected_targets(circle_plane):
    selected = np.array([3, 20])
    drawn = segments(circle_figure(circle_plane, selected).axes[3])
    sources, targets = circle_plane.graph.edges()
    chosen = np.isin(targets, selected)
    expected = np.stack(
        [circle_plane.target[targets[chosen]], circle_plane.source[sources[chosen]]], axis=1
    )
    order = [np.lexsort(ends.reshape(-1, 4).round(6).T) for ends in (drawn, expected)]
    np.testing.assert_allclose(drawn[order[0]], expected[order[1]])


def test_other_norms_are_refused(free_plane):
    with pytest.raises(ValueError, match=r"norm 1.*--dim 4 --model.unit-norm"):
        circle_figure(free_plane)


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
    assert means[2] == pytest.approx([0.68] * 3)  # grey: it has no targets


def test_weights_count():
    graph = Graph.from_edges([0, 0], [1, 2], nodes=3, weights=[3.0, 1.0])
    means = mean_of_targets(graph, np.array([[0.0] * 3, [0.0] * 3, [4.0] * 3]))
    np.testing.assert_allclose(means[0], 1.0)


def test_panels_are_coloured_so(free_plane):
    panels = colours_figure(free_plane).axes
    places = colours_by_place(free_plane.target)
    sources, targets = panels[0].collections[0], panels[1].collections[0]
    np.testing.assert_allclose(targets.get_facecolor()[:, :3], places)
    means = mean_of_targets(free_plane.graph, places)
    np.testing.assert_allclose(sources.get_facecolor()[:, :3], means)


def test_near_places_have_similar_colours():
    x, y = np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    colours = colours_by_place(places)
    steps = np.linalg.norm(np.diff(colours.reshape(30, 30, 3), axis=1), axis=-1)
    assert steps.max() < 0.04
    assert colours.min() >= 0
    assert colours.max() <= 1


def test_corners_differ_also_for_the_colour_blind():
    corners = colours_by_place(np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]))
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
