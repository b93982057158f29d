"""Graph folders: saved, loaded, checked; and what a path may be."""

import json
import os

import numpy as np
import pytest

from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph
from arcvec.ingest.ingest import EdgeFileSettings, open_graph

GRAPHS = ("path_graph", "star_graph", "directed_cycle", "two_cliques", "isolated_node")


@pytest.mark.parametrize("name", [*GRAPHS, "empty_graph"])
@pytest.mark.parametrize("mmap", [True, False])
def test_saved_graphs_come_back(request, tmp_path, name, mmap):
    graph = request.getfixturevalue(name)
    save_graph(graph, tmp_path / "graph")
    loaded = load_graph(tmp_path / "graph", mmap=mmap)
    assert loaded.fingerprint == graph.fingerprint
    assert loaded.directed == graph.directed
    assert isinstance(loaded.indices, np.memmap) == mmap
    assert isinstance(loaded.nodes.text, np.memmap) == (mmap and len(graph.nodes) > 0)


def test_weights_and_names_come_back(tmp_path):
    nodes = ["two\nlines", "back\\slash", "🦆"]
    graph = Graph.from_edges([0, 1], [1, 2], nodes=nodes, weights=[0.5, 3], directed=False)
    save_graph(graph, tmp_path / "graph")
    loaded = load_graph(tmp_path / "graph")
    assert list(loaded.nodes) == nodes
    assert loaded.weights.tolist() == graph.weights.tolist()
    assert loaded.fingerprint == graph.fingerprint


def test_meta_holds_the_counts(tmp_path, two_cliques):
    save_graph(two_cliques, tmp_path / "graph")
    assert json.loads((tmp_path / "graph" / "meta.json").read_text()) == {
        "format": "arcvec-graph",
        "format_version": 1,
        "directed": False,
        "weighted": False,
        "num_nodes": 8,
        "num_edges": 12,
        "num_self_loops": 0,
    }


def test_existing_folders_are_kept(tmp_path, path_graph, star_graph):
    save_graph(path_graph, tmp_path / "graph")
    with pytest.raises(FileExistsError):
        save_graph(star_graph, tmp_path / "graph")
    save_graph(star_graph, tmp_path / "graph", overwrite=True)
    assert load_graph(tmp_path / "graph").fingerprint == star_graph.fingerprint
    assert os.listdir(tmp_path) == ["graph"]


def test_not_a_graph_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="arcvec ingest EDGES -o GRAPH"):
        load_graph(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "arcvec-result"}, 'meta.json: expected the format "arcvec-graph"'),
        ({"format_version": 2}, "meta.json: expected format version 1, got 2"),
        ({"num_nodes": 7}, "indptr.npy: expected 8 numbers of int64"),
    ],
)
def test_wrong_meta(tmp_path, path_graph, change, message):
    save_graph(path_graph, tmp_path / "graph")
    file = tmp_path / "graph" / "meta.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    (tmp_path / "graph" / "checksums.txt").unlink()  # as if changed on purpose
    with pytest.raises(ValueError, match=message):
        load_graph(tmp_path / "graph")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("indptr.npy", np.array([0, 1, 2, 3, 4, 4], dtype=np.int32), "expected 6 numbers of int64"),
        ("indptr.npy", np.array([0, 2, 1, 3, 4, 4]), "never fall"),
        ("indptr.npy", np.array([1, 1, 2, 3, 4, 4]), "begin at 0"),
        ("indices.npy", np.array([1, 2, 3], dtype=np.int32), "expected 4 numbers of int32"),
        ("indices.npy", np.array([1, 2, 3, 5], dtype=np.int32), "node ids from 0 to 4"),
        ("indices.npy", np.array([1, 2, 3, -1], dtype=np.int32), "node ids from 0 to 4"),
        ("weights.npy", np.array([1, 2, 3, 0], dtype=np.float32), "positive, finite weights"),
        ("weights.npy", np.array([1, 2, np.nan, 1], dtype=np.float32), "positive, finite weights"),
        ("indices.npy", np.array([{}] * 4), "cut short or damaged"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, name, values, message):
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], weights=[1, 1, 1, 1])
    save_graph(graph, tmp_path / "graph")
    np.save(tmp_path / "graph" / name, values, allow_pickle=True)
    (tmp_path / "graph" / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=f"{name}: .*{message}"):
        load_graph(tmp_path / "graph")


@pytest.mark.parametrize("targets", [[2, 1, 3], [1, 1, 3]])
def test_rows_must_ascend(tmp_path, star_graph, targets):
    save_graph(star_graph, tmp_path / "graph")
    values = np.array([*targets, 4, 5], dtype=np.int32)
    np.save(tmp_path / "graph" / "indices.npy", values)
    (tmp_path / "graph" / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"indices.npy: expected ascending targets"):
        load_graph(tmp_path / "graph")


@pytest.mark.parametrize("name", ["indptr.npy", "indices.npy", "nodes.txt"])
def test_missing_files_are_named(tmp_path, path_graph, name):
    save_graph(path_graph, tmp_path / "graph")
    (tmp_path / "graph" / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load_graph(tmp_path / "graph")


@pytest.mark.parametrize("name", ["indptr.npy", "indices.npy", "nodes.txt"])
@pytest.mark.parametrize("mmap", [True, False])
def test_files_cut_short_are_named(tmp_path, path_graph, name, mmap):
    save_graph(path_graph, tmp_path / "graph")
    (tmp_path / "graph" / "checksums.txt").unlink()
    file = tmp_path / "graph" / name
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(ValueError, match=name):
        load_graph(tmp_path / "graph", mmap=mmap)


def test_a_name_too_few(tmp_path, path_graph):
    save_graph(path_graph, tmp_path / "graph")
    (tmp_path / "graph" / "nodes.txt").write_text("0\n1\n2\n3\n")
    (tmp_path / "graph" / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"nodes.txt: expected 5 names, one a line, got 4"):
        load_graph(tmp_path / "graph")


def test_open_graph_takes_folders_and_raw_files(tmp_path, path_graph):
    save_graph(path_graph, tmp_path / "graph")
    assert open_graph(tmp_path / "graph").fingerprint == path_graph.fingerprint
    assert open_graph(tmp_path / "graph", EdgeFileSettings()).num_edges == 4
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n2 3\n3 4\n")
    assert open_graph(str(tmp_path / "edges.txt")).fingerprint == path_graph.fingerprint
    undirected = open_graph(tmp_path / "edges.txt", EdgeFileSettings(directed=False))
    assert not undirected.directed


def test_open_graph_refuses_flags_that_would_do_nothing(tmp_path, path_graph):
    save_graph(path_graph, tmp_path / "graph")
    settings = EdgeFileSettings(directed=False, self_loops="keep")
    with pytest.raises(ValueError, match="none of --self-loops, --undirected"):
        open_graph(tmp_path / "graph", settings)


def test_open_graph_sees_the_train_part_of_a_split(shared_data):
    path = shared_data("splits/wiki-vote")
    graph = open_graph(path)
    assert (graph.num_nodes, graph.num_edges, graph.directed) == (7_066, 51_832, True)
    with pytest.raises(ValueError, match=r"split folder.*--comment"):
        open_graph(path, EdgeFileSettings(comment="%"))
