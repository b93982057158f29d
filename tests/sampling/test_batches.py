from itertools import islice

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.sampling.batches import BatchStream, Place
from arcvec.sampling.settings import NegativeSettings, WalkSettings


@pytest.fixture
def graph():
    sources, targets = np.random.default_rng(0).integers(60, size=(2, 300))
    return Graph.from_edges(sources, targets)


def stream_of(graph, batch_pairs=50, shuffle_pairs=400, **negatives):
    walks = WalkSettings(shuffle_pairs=shuffle_pairs)
    return BatchStream(graph, walks, NegativeSettings(**negatives), batch_pairs=batch_pairs, seed=3)


def assert_same(one, other):
    assert one.next == other.next
    for name in ("nodes", "sources", "targets", "reversed_sources", "reversed_targets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    if one.negatives is not None:
        np.testing.assert_array_equal(one.negatives, other.negatives)
    else:
        np.testing.assert_array_equal(one.block.targets, other.block.targets)


@pytest.mark.parametrize("kind", ["block", "fixed"])
@pytest.mark.parametrize("block_targets", [20, 100])
def test_a_batch_is_decided_by_its_place(graph, kind, block_targets):
    settings = {"kind": kind, "block_targets": block_targets, "block_sources": 5}
    batches = list(islice(stream_of(graph, **settings).start_at(Place()), 20))
    assert batches[-1].next.round_number > 0
    resumed = stream_of(graph, **settings).start_at(batches[7].next)
    for one, other in zip(batches[8:], resumed, strict=False):
        assert_same(one, other)


def test_batches_hold_all_pairs_of_a_round(graph):
    stream = stream_of(graph)
    expected = np.stack(stream.pairs.pairs(0, stream.pairs.walks_per_round), axis=1)
    batches = []
    for batch in stream.start_at(Place()):
        batches.append(batch)
        if batch.next.round_number == 1:
            break
    assert all(0 < batch.sources.size <= 50 for batch in batches)
    ends = [batch.nodes[[batch.sources, batch.targets]].T for batch in batches]
    seen = np.concatenate(ends)
    assert not np.array_equal(seen, expected)  # shuffled
    np.testing.assert_array_equal(seen[np.lexsort(seen.T)], expected[np.lexsort(expected.T)])


def test_nodes_of_a_batch_are_distinct(graph):
    batch = next(stream_of(graph, block_sources=5, block_targets=10).start_at(Place()))
    assert np.unique(batch.nodes).size == batch.nodes.size
    assert batch.nodes.size < 60


def test_fixed_negatives_are_non_edges_of_their_source(graph):
    batch = next(stream_of(graph, kind="fixed", per_pair=7).start_at(Place()))
    assert batch.negatives.shape == (batch.sources.size, 7)
    sources = np.repeat(batch.nodes[batch.sources], 7)
    negatives = batch.nodes[batch.negatives.ravel()]
    assert not graph.has_edges(sources, negatives).any()
    assert (sources != negatives).all()


@pytest.mark.parametrize(("num_sources", "num_targets"), [(10, 20), (60, 60), (3, 4)])
def test_block_cells_are_non_edges_but_the_skipped(graph, num_sources, num_targets):
    settings = {"block_sources": num_sources, "block_targets": num_targets}
    batch = next(stream_of(graph, **settings).start_at(Place()))
    sources, targets = batch.nodes[batch.block.sources], batch.nodes[batch.block.targets]
    assert np.unique(sources).size == sources.size <= num_sources
    assert np.unique(targets).size == targets.size <= num_targets
    skipped = np.zeros((sources.size, targets.size), dtype=bool)
    skipped[batch.block.skipped_rows, batch.block.skipped_columns] = True
    rows, columns = np.indices(skipped.shape)
    is_edge = graph.has_edges(sources[rows.ravel()], targets[columns.ravel()])
    is_self = sources[rows.ravel()] == targets[columns.ravel()]
    np.testing.assert_array_equal(skipped.ravel(), is_edge | is_self)


def test_reversed_edges_are_one_way_edges_turned_round(graph):
    batch = next(stream_of(graph, batch_pairs=200).start_at(Place()))
    tails, heads = batch.nodes[batch.reversed_sources], batch.nodes[batch.reversed_targets]
    assert 10 < tails.size <= -(-batch.sources.size // 4)
    assert graph.has_edges(heads, tails).all()
    assert not graph.has_edges(tails, heads).any()


def test_undirected_graphs_have_no_reversed_edges(two_cliques):
    batch = next(stream_of(two_cliques).start_at(Place()))
    assert batch.reversed_sources.size == 0


def test_a_graph_without_pairs_says_so():
    graph = Graph.from_edges([0], [0], nodes=2)
    with pytest.raises(ValueError, match="no edge between two nodes"):
        next(stream_of(graph).start_at(Place()))
