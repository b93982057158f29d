import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from arcvec.plot.circle import LONGEST_TICK, SOURCE_COLOUR, TARGET_COLOUR, circle_figure


def segments(axes):
    """Return the ends of all lines in a panel that were drawn as a collection, (n, 2, 2)."""
    lines = [c for c in axes.collections if isinstance(c, LineCollection)]
    return np.concatenate([c.get_segments() for c in lines])


def test_four_panels(circle_plane):
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
        to_rgb(SOURCE_COLOUR),
        to_rgb(TARGET_COLOUR),
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
