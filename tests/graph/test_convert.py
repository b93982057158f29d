"""Graphs of other libraries."""

import subprocess
import sys

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from arcvec.graph.convert import graph_from


def named_edges(graph):
    sources, targets = graph.edges()
    return {(graph.nodes[s], graph.nodes[t]) for s, t in zip(sources, targets, strict=True)}


AB_BC = {("a", "b"), ("b", "c")}


def test_networkx_keeps_its_order_and_direction():
    data = nx.DiGraph([("b", "c"), ("a", "b")])
    data.add_node("alone")
    graph = graph_from(data)
    assert list(graph.nodes) == ["b", "c", "a", "alone"]
    assert named_edges(graph) == AB_BC
    assert graph.directed
    assert graph.weights is None
    assert not graph_from(nx.Graph(data)).directed


def test_networkx_with_another_direction():
    undirected = nx.Graph([("a", "b")])
    assert named_edges(graph_from(undirected, directed=True)) == {("a", "b"), ("b", "a")}
    directed = nx.DiGraph([("a", "b"), ("b", "a")])
    graph = graph_from(directed, directed=False)
    assert (graph.num_edges, graph.directed) == (1, False)


def test_networkx_weights_and_multigraphs():
    data = nx.MultiDiGraph()
    data.add_edge(1, 2, cost=2.0)
    data.add_edge(1, 2, cost=0.5)
    graph = graph_from(data, weight="cost")
    assert (graph.num_edges, graph.weights.tolist()) == (1, [2.5])
    assert graph_from(data).weights is None
    data.add_edge(2, 1)
    with pytest.raises(ValueError, match='"cost" on every edge, got 1 edges without'):
        graph_from(data, weight="cost")


def test_networkx_subclasses_and_empty_graphs():
    class Network(nx.Graph):
        pass

    assert graph_from(Network([("a", "b")])).num_edges == 1
    assert graph_from(nx.DiGraph()).num_nodes == 0


def test_nodes_must_have_different_names():
    with pytest.raises(ValueError, match='got "1" 2 times'):
        graph_from(nx.Graph([(1, "1")]))


def test_igraph():
    data = igraph.Graph([(0, 1), (1, 2)], directed=True)
    assert named_edges(graph_from(data)) == {("0", "1"), ("1", "2")}
    data.vs["name"] = ["a", "b", "c"]
    data.es["strength"] = [1.5, 2]
    graph = graph_from(data, weight="strength")
    assert named_edges(graph) == AB_BC
    assert graph.weights.tolist() == [1.5, 2]
    assert not graph_from(igraph.Graph.Ring(4)).directed
    with pytest.raises(ValueError, match='"cost" on every edge'):
        graph_from(data, weight="cost")


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "lil_matrix"])
def test_scipy(kind):
    dense = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    graph = graph_from(getattr(scipy.sparse, kind)(dense))
    assert named_edges(graph) == {("0", "1"), ("1", "2")}
    assert graph.weights is None
    weighted = graph_from(getattr(scipy.sparse, kind)(dense * 2.5))
    assert weighted.weights.tolist() == [2.5, 2.5]


@pytest.mark.parametrize("dense", [[[0, 2], [2, 0]], [[0, 2], [0, 0]], [[0, 0], [2, 0]]])
def test_undirected_scipy_counts_an_edge_once(dense):
    graph = graph_from(scipy.sparse.csr_array(np.array(dense)), directed=False)
    assert (graph.num_edges, graph.weights.tolist()) == (1, [2, 2])


def test_scipy_faults():
    with pytest.raises(ValueError, match="square"):
        graph_from(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match=r"positive, finite weights, got -1"):
        graph_from(scipy.sparse.csr_array(np.array([[0, -1], [0, 0]])))
    stored_zero = scipy.sparse.csr_array(([0, 1], ([0, 1], [1, 0])), shape=(2, 2))
    assert named_edges(graph_from(stored_zero)) == {("1", "0")}


@pytest.mark.parametrize("library", [pd, pl])
def test_frames(library):
    frame = library.DataFrame(
        {"who": ["b", "a", "a"], "whom": ["c", "b", "b"], "amount": [1.0, 2.0, 3.0]}
    )
    graph = graph_from(frame)
    assert named_edges(graph) == AB_BC
    assert list(graph.nodes) == ["a", "b", "c"]
    assert graph_from(frame, weight="amount").weights.tolist() == [5, 1]
    turned = graph_from(frame, source="whom", target="who", directed=False)
    assert (turned.num_edges, turned.directed) == (2, False)
    numbers = graph_from(library.DataFrame({"u": [100, 9], "v": [20, 100]}))
    assert list(numbers.nodes) == ["9", "20", "100"]


@pytest.mark.parametrize("library", [pd, pl])
def test_frame_faults(library):
    frame = library.DataFrame({"who": ["a", None], "whom": ["b", "c"]})
    with pytest.raises(ValueError, match='column "who": expected names, got 1 empty'):
        graph_from(frame)
    with pytest.raises(ValueError, match='no column "amount"; the columns are who, whom'):
        graph_from(frame, weight="amount")
    with pytest.raises(ValueError, match='both the column "whom"'):
        graph_from(frame, source="whom")
    with pytest.raises(ValueError, match="two columns or more, got 1"):
        graph_from(library.DataFrame({"who": ["a"]}))


def test_frames_agree_with_files(tmp_path):
    from arcvec.ingest.ingest import read_edges

    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.integers(0, 300, size=(2000, 2)), columns=["source", "target"])
    frame.to_parquet(tmp_path / "edges.parquet")
    from_file = read_edges(tmp_path / "edges.parquet", self_loops="keep")
    assert graph_from(frame).fingerprint == from_file.fingerprint


def test_arrays():
    edge_index = np.array([[0, 1, 3], [1, 2, 0]])
    expected = {("0", "1"), ("1", "2"), ("3", "0")}
    assert named_edges(graph_from(edge_index)) == expected
    assert named_edges(graph_from(edge_index.T)) == expected
    assert named_edges(graph_from((edge_index[0], edge_index[1]))) == expected
    assert graph_from(edge_index, directed=False).directed is False
    assert named_edges(graph_from((np.array(["b", "a"]), ["c", "b"]))) == AB_BC
    assert named_edges(graph_from(np.array([["a", "b"], ["b", "c"], ["a", "b"]]))) == AB_BC


def test_torch_edge_index():
    import torch

    edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    assert graph_from(edge_index).num_edges == 3
    assert graph_from(tuple(edge_index)).num_edges == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([[0, 1], [1, 2]]), "may be an edge_index or pairs"),
        (np.zeros((3, 3), dtype=int), r"shape \(2, m\) or \(m, 2\), got \(3, 3\)"),
        (np.arange(4), r"got \(4,\)"),
        ({"a": ["b"]}, "expected a networkx or igraph graph, .* got dict"),
        ("edges.txt", "expected a networkx or igraph graph, .* got str"),
        (([0, 1], [1]), "as many sources as targets"),
        ((["a", "b"], ["a"]), "as many sources as targets"),
        (pd.Series([1, 2]), "got Series"),
    ],
)
def test_what_is_not_a_graph(data, message):
    with pytest.raises(ValueError, match=message):
        graph_from(data)


def test_names_that_do_not_apply_are_refused():
    with pytest.raises(ValueError, match="columns of a frame, got Graph"):
        graph_from(nx.Graph([(0, 1)]), source="a", target="b")
    with pytest.raises(ValueError, match="weight names an attribute or a column"):
        graph_from(np.zeros((2, 3), dtype=int), weight="w")


def test_no_library_is_imported_that_is_not_needed():
    code = (
        "import sys\n"
        "from arcvec.graph.convert import graph_from\n"
        "graph_from((['a'], ['b']))\n"
        "heavy = {'networkx', 'igraph', 'pandas', 'polars', 'torch', 'duckdb', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
