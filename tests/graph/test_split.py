import logging

import numba
import numpy as np
import pytest

from arcvec.graph import non_edges
from arcvec.graph.components import components
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.non_edges import reversed_one_way_blocks
from arcvec.graph.split import is_split, read_split, save_split, split_edges, write_split
from arcvec.storage import arrays as blocks

ARRAYS = ("test", "train_negatives", "test_negatives", "directed_negatives", "validation")


def random_graph(num_nodes=60, num_edges=400, *, directed=True, seed=0, **options) -> Graph:
    """Two parts without an edge between them, and self-loops."""
    generator = np.random.default_rng(seed)
    half = num_nodes // 2
    offsets = half * generator.integers(2, size=num_edges)
    sources = generator.integers(half, size=num_edges) + offsets
    targets = generator.integers(half, size=num_edges) + offsets
    loops = np.arange(0, num_nodes, 7)
    return Graph.from_edges(
        np.concatenate([sources, loops]),
        np.concatenate([targets, loops]),
        nodes=options.pop("nodes", num_nodes),
        directed=directed,
        **options,
    )


def as_set(edges) -> set[tuple[int, int]]:
    return set(map(tuple, edges.tolist()))


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    return as_set(np.stack(graph.edges(), axis=1))


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return random_graph(directed=request.param)


def test_parts_are_the_whole_graph(graph):
    split = split_edges(graph, test_fraction=0.4, validation_fraction=0.1, seed=1)
    train, test, validation = edge_set(split.train), as_set(split.test), as_set(split.validation)
    assert len(test) == round(0.4 * graph.num_edges)
    assert len(validation) == round(0.1 * graph.num_edges)
    assert train | test | validation == edge_set(graph)
    assert len(train) + len(test) + len(validation) == graph.num_edges
    assert edge_set(split.graph) == edge_set(graph)


@pytest.mark.parametrize("seed", range(5))
def test_train_stays_connected(graph, seed):
    split = split_edges(graph, test_fraction=0.7, seed=seed)
    assert components(split.train).max() == components(graph).max()
    assert split.train.num_nodes == graph.num_nodes


def test_negatives_are_non_edges_without_repeats(graph):
    split = split_edges(graph, validation_fraction=0.1, seed=2)
    parts = (split.train_negatives, split.test_negatives, split.validation_negatives)
    sizes = [split.train.num_edges, len(split.test), len(split.validation)]
    assert [len(part) for part in parts] == sizes
    negatives = np.concatenate(parts)
    assert len(as_set(negatives)) == len(negatives)
    assert not as_set(negatives) & edge_set(graph)
    assert (negatives[:, 0] != negatives[:, 1]).all()
    if graph.directed:
        assert 0.4 < (negatives[:, 0] < negatives[:, 1]).mean() < 0.6
    else:
        assert (negatives[:, 0] < negatives[:, 1]).all()


def test_every_free_edge_is_equally_likely_to_be_tested():
    # A triangle with a tail: the three edges of the triangle share the one test edge.
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    counts = {}
    for seed in range(300):
        (edge,) = as_set(split_edges(graph, test_fraction=0.25, seed=seed).test)
        counts[edge] = counts.get(edge, 0) + 1
    assert set(counts) == {(0, 1), (1, 2), (2, 0)}
    assert min(counts.values()) > 65  # mean 100, deviation 8


def test_directed_negatives_follow_the_rule():
    graph = random_graph()
    split = split_edges(graph, seed=0)
    edges = edge_set(graph)
    one_way = {(v, u) for u, v in edges if (v, u) not in edges}
    assert as_set(split.directed_negatives) == as_set(split.test_negatives) | one_way
    assert len(split.directed_negatives) == len(as_set(split.directed_negatives))
    negatives = split.directed_negatives
    assert as_set(negatives[split.are_reversed(negatives)]) == one_way


def test_undirected_split_has_no_directed_negatives():
    split = split_edges(random_graph(directed=False), seed=0)
    assert split.directed_negatives is None
    assert split.validation is None


def test_same_seed_same_split_on_any_number_of_threads(graph):
    first = split_edges(graph, seed=5)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        second = split_edges(graph, seed=5)
    finally:
        numba.set_num_threads(threads)
    assert first.train.fingerprint == second.train.fingerprint
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert as_set(split_edges(graph, seed=6).test) != as_set(first.test)


def test_names_change_no_number(graph):
    renamed = Graph(
        graph.indptr,
        graph.indices,
        NodeNames.from_strings(f"node {i}" for i in range(graph.num_nodes)),
        graph.directed,
    )
    for name in ARRAYS:
        np.testing.assert_array_equal(
            getattr(split_edges(graph, seed=3), name), getattr(split_edges(renamed, seed=3), name)
        )


def test_weights_stay_with_their_edges():
    graph = random_graph(directed=False)
    sources, targets = graph.edges()
    weights = 1.0 + sources + 100 * targets
    weighted = Graph.from_edges(
        sources, targets, nodes=graph.nodes, directed=False, weights=weights
    )
    train = split_edges(weighted, seed=0).train
    sources, targets = train.edges()
    np.testing.assert_array_equal(train.edge_weights(), 1.0 + sources + 100 * targets)


def test_forest_limits_the_test_part(caplog):
    cycle = Graph.from_edges(np.arange(10), np.roll(np.arange(10), -1))
    with caplog.at_level(logging.WARNING):
        split = split_edges(cycle, test_fraction=0.5, seed=0)
    assert len(split.test) == 1
    assert "asked for 5 edges outside a spanning forest, the graph has 1" in caplog.text


def test_dense_graph_gives_all_its_non_edges(caplog):
    sources, targets = np.nonzero(~np.eye(8, dtype=bool))
    kept = np.arange(sources.size) % 9 > 0
    graph = Graph.from_edges(sources[kept], targets[kept], nodes=8)
    with caplog.at_level(logging.WARNING):
        split = split_edges(graph, seed=0)
    assert "non-edges" in caplog.text
    missing = set(zip(sources[~kept].tolist(), targets[~kept].tolist(), strict=True))
    assert as_set(split.train_negatives) | as_set(split.test_negatives) == missing
    assert len(split.train_negatives) + len(split.test_negatives) == len(missing)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph.from_edges([], []), "large enough to hold out"),
        (Graph.from_edges([0, 1], [1, 2]), "large enough to hold out"),
        (Graph.from_edges(*np.nonzero(~np.eye(5, dtype=bool))), "with non-edges"),
    ],
    ids=["empty", "tree", "complete"],
)
def test_graphs_that_cannot_be_split(graph, message):
    with pytest.raises(ValueError, match=message):
        split_edges(graph, seed=0)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_fractions_are_checked(graph, fraction):
    with pytest.raises(ValueError, match=r"expected test_fraction in \(0, 1\), got"):
        split_edges(graph, test_fraction=fraction, seed=0)
    with pytest.raises(ValueError, match="expected validation_fraction"):
        split_edges(graph, validation_fraction=fraction or 0.5, seed=0)


@pytest.mark.parametrize("directed", [True, False])
def test_saved_split_comes_back(tmp_path, directed):
    nodes = [f'näme "{i}"\n' for i in range(60)]
    generator = np.random.default_rng(0)
    graph = random_graph(
        directed=directed, nodes=nodes, num_edges=300, weights=generator.random(309) + 0.5
    )
    split = split_edges(graph, validation_fraction=0.1, seed=4)
    save_split(split, tmp_path / "split")
    assert is_split(tmp_path / "split")
    back = read_split(tmp_path / "split")
    assert back.train.fingerprint == split.train.fingerprint
    assert back.settings == split.settings
    assert back.settings["graph_fingerprint"] == graph.fingerprint
    for name in (*ARRAYS, "validation_negatives"):
        np.testing.assert_array_equal(getattr(back, name), getattr(split, name))


def bytes_by_file(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("rows_per_block", [7, 10**6])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("num_nodes", [60, 200], ids=["dense", "sparse"])
@pytest.mark.parametrize("directed", [True, False])
def test_written_block_by_block_it_has_the_same_bytes(
    monkeypatch, tmp_path, directed, num_nodes, weighted, rows_per_block
):
    weights = np.random.default_rng(0).random(400 + -(-num_nodes // 7)) if weighted else None
    graph = random_graph(num_nodes, directed=directed, weights=weights)
    fractions = {"test_fraction": 0.4, "validation_fraction": 0.1 * weighted}
    split = split_edges(graph, **fractions, seed=4)
    save_split(split, tmp_path / "saved")
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", rows_per_block)
    monkeypatch.setattr(non_edges, "_PAIRS_PER_PART", rows_per_block)
    rows = write_split(graph, tmp_path / "written", **fractions, seed=4)
    assert bytes_by_file(tmp_path / "written") == bytes_by_file(tmp_path / "saved")
    assert rows["train.txt.npy"] == split.train.num_edges
    assert rows.get("validation.txt.npy") == (len(split.validation) if weighted else None)
    save_split(split, tmp_path / "again")
    assert bytes_by_file(tmp_path / "again") == bytes_by_file(tmp_path / "saved")


def test_a_split_that_fails_leaves_nothing(tmp_path):
    complete = Graph.from_edges(*np.nonzero(~np.eye(5, dtype=bool)))
    with pytest.raises(ValueError, match="with non-edges"):
        write_split(complete, tmp_path / "split", seed=0)
    assert not list(tmp_path.iterdir())


def test_saving_does_not_overwrite_unasked(tmp_path, graph):
    split = split_edges(graph, seed=0)
    save_split(split, tmp_path / "split")
    with pytest.raises(FileExistsError, match="split"):
        save_split(split, tmp_path / "split")
    save_split(split, tmp_path / "split", overwrite=True)


@pytest.mark.parametrize("name", ["wiki-vote", "ca-HepTh", "ppi"])
def test_authors_folder_read_and_written_again(shared_data, tmp_path, name):
    folder = shared_data(f"splits/{name}")
    split = read_split(folder)
    save_split(split, tmp_path / "again")
    for path in sorted(folder.glob("*.npy")):
        ours, theirs = np.load(tmp_path / "again" / path.name), np.load(path)
        assert ours.dtype == theirs.dtype
        if path.name == "train.txt.npy":  # a graph has no order of edges
            if not split.train.directed:
                theirs = np.sort(theirs, axis=1)
            theirs = theirs[np.lexsort(theirs.T[::-1])]
        np.testing.assert_array_equal(ours, theirs)
    again = read_split(tmp_path / "again")
    assert again.train.fingerprint == split.train.fingerprint


def test_authors_facts(shared_data):
    hepth = read_split(shared_data("splits/ca-HepTh"))
    assert hepth.train.num_nodes == 8638
    assert not hepth.train.directed
    ppi = read_split(shared_data("splits/ppi"))
    assert ppi.train.num_self_loops == 404
    assert (ppi.test[:, 0] == ppi.test[:, 1]).sum() == 460
    wiki = read_split(shared_data("splits/wiki-vote"))
    assert wiki.train.directed
    assert wiki.train.nodes[4853] == "5988"
    assert len(wiki.directed_negatives) == 149_560
    ours = np.concatenate([wiki.test_negatives, *reversed_one_way_blocks(wiki.graph)])
    assert as_set(ours) == as_set(wiki.directed_negatives)


@pytest.fixture
def folder(tmp_path):
    save_split(split_edges(random_graph(), seed=0), tmp_path / "split")
    return tmp_path / "split"


@pytest.mark.parametrize(
    "name", ["train.txt.npy", "test.neg.txt.npy", "test.directed.neg.txt.npy", "index.json"]
)
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_split(folder)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 3), dtype=np.int32), r"test\.txt\.npy: expected integer pairs.*\(3, 3\)"),
        (np.zeros((3, 2)), r"test\.txt\.npy: expected integer pairs.*float64"),
        (np.array([[0, 60]]), r"test\.txt\.npy: expected node ids from 0 to 59.*got 60"),
        (np.array([[-1, 6]]), r"test\.txt\.npy: expected node ids from 0 to 59.*got -1"),
        (np.array([[{}, {}]]), r"test\.txt\.npy: expected a numpy array"),
    ],
)
def test_bad_arrays_are_named(folder, array, message):
    np.save(folder / "test.txt.npy", array, allow_pickle=True)
    (folder / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=message):
        read_split(folder)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"index": {"a": 0, "b": 0}}', '{"index": {"a": "0"}}', "nonsense"]
)
def test_bad_index_is_named(folder, text):
    (folder / "index.json").write_text(text)
    (folder / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"index\.json: expected"):
        read_split(folder)


def test_other_format_version_is_refused(folder):
    text = (folder / "split.json").read_text()
    (folder / "split.json").write_text(text.replace('"format_version": 1', '"format_version": 9'))
    (folder / "checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"split\.json: expected .* version 1, got 9"):
        read_split(folder)
