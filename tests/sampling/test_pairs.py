from collections import Counter

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.sampling.pairs import WalkPairs, derive_seed
from arcvec.sampling.settings import WalkSettings


def pairs_of(graph, rounds=1, **settings):
    stream = WalkPairs(graph, WalkSettings(**settings), seed=1)
    per_round = stream.walks_per_round
    drawn = [stream.pairs(number * per_round, per_round) for number in range(rounds)]
    return Counter(
        pair
        for sources, targets in drawn
        for pair in zip(sources.tolist(), targets.tolist(), strict=True)
    )


def test_directed_pairs_point_forward(path_graph):
    pairs = pairs_of(path_graph, kind="forward", starts="nodes", window=2)
    assert set(pairs) == {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)}


def test_undirected_pairs_point_both_ways(two_cliques):
    pairs = pairs_of(two_cliques, window=2)
    assert set(pairs) == {(v, u) for u, v in pairs}
    assert all((u < 4) == (v < 4) for u, v in pairs)


def test_alternating_pairs_join_sources_to_targets():
    """0 and 1 share the target 10; so 0 meets 11, which only 1 links to."""
    graph = Graph.from_edges([0, 1, 1, 5], [10, 10, 11, 12])
    pairs = pairs_of(graph, kind="auto", window=3)
    assert set(pairs) == {(0, 10), (1, 10), (1, 11), (0, 11), (5, 12)}


def test_every_node_starts_equally_often(star_graph):
    stream = WalkPairs(star_graph, WalkSettings(starts="nodes", walks_per_node=4), seed=0)
    walks = stream.walks(0, 24)
    assert np.bincount(walks[:, 0]).tolist() == [4] * 6
    assert (np.sort(walks[:6, 0]) == np.arange(6)).all()


def test_edge_starts_follow_weights():
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], weights=[1, 3, 6])
    stream = WalkPairs(graph, WalkSettings(walks_per_node=10_000), seed=0)
    shares = np.bincount(stream.walks(0, 40_000)[:, 0], minlength=4) / 40_000
    np.testing.assert_allclose(shares, [0.1, 0.3, 0.6, 0.0], atol=0.015)


def test_walks_repeat_after_the_last_one(directed_cycle):
    stream = WalkPairs(directed_cycle, WalkSettings(walks_per_node=3), seed=0)
    first = stream.walks(0, 24)
    np.testing.assert_array_equal(stream.walks(24, 24), first)
    np.testing.assert_array_equal(stream.walks(20, 8), np.concatenate([first[20:], first[:4]]))


def test_rounds_are_bounded_and_repeatable(two_cliques):
    settings = WalkSettings(shuffle_pairs=1000)
    stream = WalkPairs(two_cliques, settings, seed=0)
    count = stream.walks_per_round
    sources, targets = stream.pairs(3 * count, count)
    assert 0 < sources.size <= 1000
    again = WalkPairs(two_cliques, settings, seed=0).pairs(3 * count, count)
    np.testing.assert_array_equal(sources, again[0])
    np.testing.assert_array_equal(targets, again[1])
    other = stream.pairs(4 * count, count)
    assert sources.tolist() != other[0].tolist()


@pytest.mark.parametrize("kind", ["forward", "alternating"])
def test_new_names_change_no_pair(kind):
    edges = ([0, 1, 2, 3, 0], [1, 2, 3, 0, 2])
    graphs = [Graph.from_edges(*edges, nodes=names) for names in ("abcd", ["x", "yy", "7", "é"])]
    streams = [WalkPairs(graph, WalkSettings(kind=kind), seed=5).pairs(0, 50) for graph in graphs]
    np.testing.assert_array_equal(streams[0], streams[1])


def test_p_and_q_ask_for_forward_walks(directed_cycle):
    assert WalkPairs(directed_cycle, WalkSettings(), seed=0).alternating
    assert not WalkPairs(directed_cycle, WalkSettings(p=0.5), seed=0).alternating
    with pytest.raises(ValueError, match="p and q belong to forward walks"):
        WalkSettings(kind="alternating", q=2.0)


def test_seeds_of_purposes_differ():
    seeds = {derive_seed(s, p, k) for s in range(20) for p in ("walk", "start") for k in range(20)}
    assert len(seeds) == 800
    assert all(0 <= seed < 2**63 for seed in seeds)
