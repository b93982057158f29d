import networkx as nx
import numpy as np
import pytest
import scipy.linalg

from arcvec.baselines.factorisations import LaplacianEigenMaps
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split


def graph_of(theirs, **options):
    edges = np.array(theirs.edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], nodes=len(theirs), **options)


@pytest.mark.parametrize("num_nodes", [60, 400], ids=["dense solver", "ARPACK"])
def test_distances_against_the_generalised_eigenproblem(num_nodes):
    theirs = nx.connected_watts_strogatz_graph(num_nodes, 6, 0.3, seed=2)
    laplacian = nx.laplacian_matrix(theirs).toarray().astype(float)
    _, vectors = scipy.linalg.eigh(laplacian, np.diag(np.diag(laplacian)))
    expected = vectors[:, 1:6]
    pairs = np.random.default_rng(0).integers(num_nodes, size=(2, 100))
    scores = LaplacianEigenMaps(dim=5).fit(graph_of(theirs, directed=False)).score(*pairs)
    distances = np.linalg.norm(expected[pairs[0]] - expected[pairs[1]], axis=1)
    np.testing.assert_allclose(scores, -distances, rtol=1e-3, atol=1e-6)


def test_direction_is_ignored():
    theirs = nx.gnm_random_graph(40, 100, seed=1)
    pairs = np.indices((40, 40)).reshape(2, -1)
    method = LaplacianEigenMaps(dim=4)
    directed, undirected = (
        method.fit(graph_of(theirs, directed=directed)).score(*pairs) for directed in (True, False)
    )
    np.testing.assert_array_equal(directed, undirected)


def test_first_dimensions_tell_components_apart(two_cliques):
    positions = LaplacianEigenMaps(dim=1).fit(two_cliques).positions[:, 0]
    # y is constant in a component, y^T D 1 = 0 and y^T D y = 1; the degrees are 3.
    np.testing.assert_allclose(np.abs(positions), 1 / np.sqrt(24), rtol=1e-6)
    assert np.unique(np.sign(positions[:4])).size == np.unique(np.sign(positions[4:])).size == 1
    assert positions[0] == pytest.approx(-positions[7])


def test_vectors_of_many_components_are_orthonormal():
    """Cliques of 3, 4, 5 and 6 nodes: three vectors of eigenvalue 0, the others below."""
    theirs = nx.disjoint_union_all([nx.complete_graph(n) for n in (3, 4, 5, 6)])
    graph = graph_of(theirs, directed=False)
    positions = LaplacianEigenMaps(dim=5).fit(graph).positions.astype(float)
    products = positions.T @ (graph.out_degrees[:, None] * positions)
    np.testing.assert_allclose(products, np.eye(5), atol=1e-5)
    laplacian = nx.laplacian_matrix(theirs).toarray()
    np.testing.assert_allclose(laplacian @ positions[:, :3], 0, atol=1e-5)


def test_isolated_nodes_lie_at_the_origin(isolated_node):
    positions = LaplacianEigenMaps(dim=2).fit(isolated_node).positions
    assert positions[2].tolist() == [0, 0]
    assert np.abs(positions[:2]).sum() > 0


def test_more_dimensions_than_nodes_are_zero(path_graph):
    assert LaplacianEigenMaps(dim=9).fit(path_graph).positions[:, 5:].any() == np.False_


@pytest.mark.parametrize(
    ("name", "auc"), [("wiki-vote", 0.600), ("ca-HepTh", 0.795), ("ppi", 0.709)]
)
def test_table_1_of_the_paper(shared_data, name, auc):
    split = read_split(shared_data(f"splits/{name}"))
    scorer = LaplacianEigenMaps(dim=32).fit(split.train)
    assert link_prediction(scorer, split, ranking=False).auc == pytest.approx(auc, abs=0.01)
