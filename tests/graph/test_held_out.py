import numpy as np
import pytest

from arcvec.graph.components import shuffled_positions
from arcvec.graph.graph import Graph
from arcvec.graph.split import draw_held_out
from arcvec.storage import arrays as blocks
from tests.kernels.twins import slow_forest


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("rows_per_block", [4, 1000])
def test_positions_come_in_the_order_of_numpy(monkeypatch, tmp_path, rows_per_block, on_disk):
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", rows_per_block)
    mask = np.random.default_rng(0).random(300) < 0.4
    folder = tmp_path if on_disk else None
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    positions = shuffled_positions(mask, one, folder)
    assert positions.dtype == np.uint32
    assert positions.tolist() == other.permutation(np.flatnonzero(mask)).tolist()
    assert one.random() == other.random()
    assert shuffled_positions(~mask & mask, one, folder).size == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("directed", [True, False])
def test_held_out_edges_against_plain_python(monkeypatch, directed):
    """Trainings hold edges out too: what a seed gives must never change."""
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 9)
    ends = np.random.default_rng(1).integers(50, size=(2, 200))
    graph = Graph.from_edges(*ends, nodes=52, directed=directed)
    generator = np.random.default_rng([3, 0])
    order = generator.permutation(graph.num_edges)
    in_forest = slow_forest(*graph.edges(), order, graph.num_nodes)
    free = generator.permutation(np.flatnonzero(~np.array(in_forest)))
    num_test, num_validation = round(0.3 * graph.num_edges), round(0.2 * graph.num_edges)
    test, validation = draw_held_out(graph, 0.3, 0.2, seed=3)
    assert test.tolist() == free[:num_test].tolist()
    assert validation.tolist() == free[num_test : num_test + num_validation].tolist()
