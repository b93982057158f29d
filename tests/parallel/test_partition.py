"""Every node has one owner, whatever the number of workers, and hubs are spread."""

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.parallel.partition import Partition


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 64, 1000, 75_877])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_every_node_has_one_row(num_nodes, workers):
    partition = Partition(num_nodes, workers)
    parts = [partition.nodes_of(worker) for worker in range(workers)]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(num_nodes))
    for worker, nodes in enumerate(parts):
        assert (partition.owners(nodes) == worker).all()
        np.testing.assert_array_equal(partition.rows(nodes), np.arange(nodes.size))
        assert nodes.size == partition.num_rows(worker)


def test_slots_do_not_depend_on_the_workers():
    nodes = np.arange(1000)
    few, many = Partition(1000, 2), Partition(1000, 7)
    np.testing.assert_array_equal(few._slots(nodes), many._slots(nodes))


def test_hubs_with_the_first_ids_are_spread():
    """A cut by ids would give one worker nearly all edges."""
    sources = np.repeat(np.arange(1000), np.maximum(1, 2000 // (1 + np.arange(1000))))
    graph = Graph.from_edges(sources, np.arange(sources.size) % 1000, nodes=1000)
    partition = Partition(1000, 4)
    edges = [graph.out_degrees[partition.nodes_of(worker)].sum() for worker in range(4)]
    by_ids = [part.sum() for part in np.array_split(graph.out_degrees, 4)]
    assert max(edges) / np.mean(edges) < 1.4 < 2 < max(by_ids) / np.mean(by_ids)
