import numpy as np
import pytest

from arcvec.graph import non_edges
from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import draw_non_edges, reversed_one_way_blocks
from arcvec.storage import arrays as blocks


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("count", [1, 50, 10_000])
def test_count_or_all_there_are(directed, count):
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 3, 2], nodes=30, directed=directed)
    drawn = draw_non_edges(graph, count, np.random.default_rng(0))
    num_pairs = 30 * 29 - 3 if directed else 30 * 29 // 2 - 3
    assert drawn.shape == (min(count, num_pairs), 2)
    assert drawn.dtype == np.int32
    assert np.unique(drawn, axis=0).shape == drawn.shape
    assert not graph.has_edges(drawn[:, 0], drawn[:, 1]).any()


@pytest.mark.parametrize("count", [200, 700], ids=["rejection", "enumeration"])
def test_every_non_edge_is_equally_likely(count):
    cycle = Graph.from_edges(np.arange(50), np.roll(np.arange(50), -1))
    counts = np.zeros((50, 50))
    for seed in range(24_000 // count):
        drawn = draw_non_edges(cycle, count, np.random.default_rng(seed))
        counts[drawn[:, 0], drawn[:, 1]] += 1
    free = ~np.eye(50, dtype=bool)
    free[cycle.edges()] = False
    expected = counts.sum() / free.sum()
    chi_squared = ((counts[free] - expected) ** 2 / expected).sum()
    assert chi_squared < 2399 + 4 * 69  # 2399 degrees of freedom, deviation 69
    assert counts[~free].sum() == 0


def drawn_at_once(graph, count, generator):
    """Return directed non-edges by rejection, all of a round at once, repeats found by a set."""
    drawn = {}
    while len(drawn) < count:
        size = (count - len(drawn)) * 5 // 4 + 16
        sources = generator.integers(graph.num_nodes, size=size)
        targets = generator.integers(graph.num_nodes - 1, size=size)
        targets += targets >= sources
        free = ~graph.has_edges(sources, targets)
        drawn |= dict.fromkeys(zip(sources[free].tolist(), targets[free].tolist(), strict=True))
    return list(drawn)[:count]


@pytest.mark.parametrize("folder", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("rows_per_block", [3, 50, 10**6])
def test_blocks_change_no_draw(monkeypatch, tmp_path, rows_per_block, folder):
    graph = Graph.from_edges(*np.random.default_rng(0).integers(60, size=(2, 300)), nodes=60)
    expected = drawn_at_once(graph, 500, np.random.default_rng(1))
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", rows_per_block)
    monkeypatch.setattr(non_edges, "_PAIRS_PER_PART", rows_per_block)
    generator = np.random.default_rng(1)
    folder = tmp_path if folder else None
    with non_edges.put_aside_non_edges(graph, 500, generator, folder) as drawn:
        assert list(map(tuple, drawn.read().tolist())) == expected
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("num_nodes", [0, 1])
def test_no_pairs_no_non_edges(num_nodes):
    graph = Graph.from_edges([], [], nodes=num_nodes)
    assert draw_non_edges(graph, 5, np.random.default_rng(0)).shape == (0, 2)


def test_reversed_one_way_edges():
    graph = Graph.from_edges([0, 1, 1, 3], [1, 0, 2, 3])
    assert [block.tolist() for block in reversed_one_way_blocks(graph)] == [[[2, 1]]]
