import numpy as np
import pytest

from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.training.sketch import SpectralSketch
from tests.training.test_edge_projection import planted_graph


def normalised(graph):
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    matrix[graph.row_of_entry, graph.indices] = 1.0
    more = matrix.sum() / graph.num_nodes
    rows, columns = matrix.sum(axis=1) + more, matrix.sum(axis=0) + more
    return matrix / np.sqrt(np.outer(rows, columns))


@pytest.mark.parametrize("directed", [True, False])
def test_scores_are_those_of_the_singular_vectors(directed):
    generator = np.random.default_rng(0)
    graph = Graph.from_edges(*generator.integers(30, size=(2, 150)), directed=directed)
    left, values, right = np.linalg.svd(normalised(graph))
    everyone = np.arange(graph.num_nodes)
    sketch = SpectralSketch(dim=2 * graph.num_nodes, seed=1).fit(graph)
    lengths = [np.linalg.norm(side * values**2, axis=1) for side in (left, right.T)]
    lengths = [np.where(length > 1e-9, length, 1.0) for length in lengths]
    expected = left * values**4 @ right / np.sqrt(np.outer(*lengths))
    np.testing.assert_allclose(sketch.score_all_targets(everyone), expected, atol=1e-4)


def test_short_vectors_find_communities():
    graph = planted_graph(60)
    fitted = SpectralSketch(dim=8).fit(graph)
    edges = np.stack(graph.edges(), axis=1)
    random = np.random.default_rng(0).integers(graph.num_nodes, size=edges.shape)
    assert roc_auc(*(fitted.score(*pairs.T) for pairs in (edges, random))) > 0.8


def test_more_numbers_than_nodes():
    path = Graph.from_edges([0, 1], [1, 2], directed=False)
    fitted = SpectralSketch(dim=8).fit(path)
    assert fitted.dim == 8
    assert np.isfinite(fitted.score(np.arange(3), np.arange(3))).all()
