import json

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, WeightedRows
from arcvec.graph.names import NodeNames

NAMES = NodeNames.from_strings(f"node\n{i}" for i in range(12))
SETTINGS = {"method": "by hand", "seed": 3}
WEIGHTS = np.array([1, -2, 0.1, 0, 3.7, -0.3, 1e-9, 5], dtype=np.float32)


def two_vectors(directed):
    source, target = np.random.default_rng(0).normal(size=(2, 12, 4)).astype(np.float32)
    return EdgeEmbeddings(source, target, NAMES, directed=directed, settings=SETTINGS)


def one_vector(directed):
    vectors = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    return EdgeEmbeddings.one_vector(vectors, WEIGHTS, NAMES, directed=directed, settings=SETTINGS)


@pytest.fixture(params=[two_vectors, one_vector])
def make(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def embeddings(request, make):
    return make(request.param)


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def shared(request):
    """Embeddings in which one vector serves both sides."""
    return one_vector(request.param)


def products(embeddings):
    if embeddings.weights is not None:
        return embeddings.target @ np.diag(embeddings.weights) @ embeddings.target.T
    forward = embeddings.source @ embeddings.target.T
    return forward if embeddings.directed else (forward + forward.T) / 2


def test_score_is_the_inner_product(embeddings):
    sources, targets = np.indices((12, 12)).reshape(2, -1)
    scores = embeddings.score(sources, targets)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores.reshape(12, 12), products(embeddings), rtol=1e-4, atol=1e-6)


def test_vectors_give_the_score_as_inner_product(embeddings):
    ids = np.array([3, 3, 11])
    everyone = embeddings.vectors("source", ids) @ embeddings.vectors("target").T
    np.testing.assert_allclose(everyone, products(embeddings)[ids], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(embeddings.score_all_targets(ids), everyone)


def test_dim_counts_all_numbers_of_a_node(embeddings):
    assert embeddings.dim == 8
    sides = 1 if isinstance(embeddings.source, WeightedRows) else 2
    assert embeddings.target.shape == embeddings.source.shape == (12, 8 // sides)


def test_many_pairs_go_in_blocks():
    # More pairs than one block of the gather, against the plain product.
    vectors = np.array([[1, 2], [3, 4]], dtype=np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.numbered(2))
    sources = np.arange(600_001) % 2
    scores = embeddings.score(sources, np.zeros_like(sources))
    np.testing.assert_array_equal(scores, np.where(sources == 0, 5, 11))


@pytest.mark.parametrize("mmap", [True, False])
def test_saved_result_comes_back(tmp_path, embeddings, mmap):
    embeddings.save(tmp_path / "result")
    back = EdgeEmbeddings.load(tmp_path / "result", mmap=mmap)
    np.testing.assert_array_equal(back.source, embeddings.source)
    np.testing.assert_array_equal(back.target, embeddings.target)
    assert list(back.nodes) == list(embeddings.nodes)
    assert back.directed == embeddings.directed
    assert back.settings == embeddings.settings
    assert isinstance(back.target, np.memmap) == mmap
    pairs = np.indices((12, 12)).reshape(2, -1)
    np.testing.assert_array_equal(back.score(*pairs), embeddings.score(*pairs))


def test_half_precision_is_half_the_size_and_scores_in_float32(tmp_path, embeddings):
    embeddings.save(tmp_path / "result", float16=True)
    back = EdgeEmbeddings.load(tmp_path / "result")
    assert back.target.dtype == np.float16
    scores = back.score(np.arange(12), np.arange(12)[::-1])
    assert scores.dtype == np.float32
    expected = embeddings.score(np.arange(12), np.arange(12)[::-1])
    np.testing.assert_allclose(scores, expected, atol=0.02)


def test_result_is_not_overwritten_unasked(tmp_path, embeddings):
    embeddings.save(tmp_path / "result")
    with pytest.raises(FileExistsError, match="result"):
        embeddings.save(tmp_path / "result")
    embeddings.save(tmp_path / "result", overwrite=True)


def test_what_is_no_result_is_refused(tmp_path, embeddings):
    with pytest.raises(FileNotFoundError, match="expected a result folder"):
        EdgeEmbeddings.load(tmp_path)
    embeddings.save(tmp_path / "result")
    path = tmp_path / "result" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99}))
    (tmp_path / "result/checksums.txt").unlink()
    with pytest.raises(ValueError, match="format version 1 or 2 or 3, got 99"):
        EdgeEmbeddings.load(tmp_path / "result")


def test_shapes_must_agree():
    vectors = np.zeros((3, 2), dtype=np.float32)
    with pytest.raises(ValueError, match=r"got \(3, 2\) and \(3, 2\) for 2 nodes"):
        EdgeEmbeddings(vectors, vectors, NodeNames.numbered(2))
    with pytest.raises(ValueError, match="of one shape"):
        EdgeEmbeddings(vectors, vectors[:, :1], NodeNames.numbered(3))


def test_any_scorer_can_score_all_targets():
    class Difference(EdgeScorer):
        nodes = NodeNames.numbered(3)

        def score(self, sources, targets):
            return (targets - 10.0 * sources).astype(np.float32)

    scores = Difference().score_all_targets(np.array([0, 2]))
    assert scores.tolist() == [[0, 1, 2], [-20, -19, -18]]


def test_one_vector_scores_both_directions_alike_to_the_last_bit(shared):
    sources, targets = np.indices((12, 12)).reshape(2, -1)
    there, back = shared.score(sources, targets), shared.score(targets, sources)
    np.testing.assert_array_equal(there, back)
    by_hand = (WEIGHTS * shared.target[sources] * shared.target[targets]).sum(axis=1)
    np.testing.assert_allclose(there, by_hand, rtol=1e-4, atol=1e-6)


def test_vectors_of_one_vector_are_not_put_side_by_side(shared):
    ids = np.array([2, 2, 7])
    np.testing.assert_array_equal(shared.vectors("target", ids), shared.target[ids])
    np.testing.assert_array_equal(shared.vectors("source", ids), shared.target[ids] * WEIGHTS)
    np.testing.assert_array_equal(shared.vectors("source"), shared.target * WEIGHTS)


def test_two_vectors_have_no_weights():
    assert two_vectors(directed=False).weights is None
    assert one_vector(directed=False).weights.dtype == np.float32


def test_one_vector_folder_is_half_as_large(tmp_path, shared):
    vectors = np.random.default_rng(0).normal(size=(2, 5000, 8)).astype(np.float32)
    nodes = NodeNames.numbered(5000)
    folders = {
        "two": EdgeEmbeddings(*vectors, nodes, directed=shared.directed),
        "one": EdgeEmbeddings.one_vector(vectors[0], WEIGHTS, nodes, directed=shared.directed),
    }
    sizes = {}
    for name, embeddings in folders.items():
        embeddings.save(tmp_path / name)
        sizes[name] = sum(file.stat().st_size for file in (tmp_path / name).glob("*.npy"))
    assert sizes["one"] == pytest.approx(sizes["two"] / 2, rel=0.01)
    files = {file.name for file in (tmp_path / "one").iterdir()}
    assert files == {"vectors.npy", "nodes.txt", "settings.json", "checksums.txt"}


def test_versions_tell_the_two_folders_apart(tmp_path, make):
    """A reader that knows version 1 alone refuses what it would not find its way in."""
    make(True).save(tmp_path / "result")
    header = json.loads((tmp_path / "result/settings.json").read_text())
    assert header["format_version"] == (1 if make is two_vectors else 2)
    assert ("weights" in header) == (make is one_vector)


def test_settings_of_two_vectors_may_be_called_weights(tmp_path):
    vectors = np.ones((2, 2), dtype=np.float32)
    nodes, settings = NodeNames.numbered(2), {"weights": "of the edges"}
    EdgeEmbeddings(vectors, vectors, nodes, settings=settings).save(tmp_path / "result")
    back = EdgeEmbeddings.load(tmp_path / "result")
    assert (back.settings, back.weights) == (settings, None)


BAD_WEIGHTS = {
    "too few": ([1.0, 2.0], r"got \[1\.0, 2\.0\] of shape \(2,\)"),
    "none": (None, r"got None of shape \(\)"),
    "words": (["a"] * 8, r"got \['a', .+\] of shape \(8,\)"),
    "numbers as words": (["1"] * 8, r"got \['1', .+\] of shape \(8,\)"),
    "a number": (3, r"got 3 of shape \(\)"),
    "not a number": ([*range(7), float("nan")], "got nan at offset 7"),
    "infinite": ([float("-inf"), *range(7)], "got -inf at offset 0"),
    "too large": ([1e300] * 8, "got inf at offset 0"),
}


@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights_are_refused(tmp_path, weights, message):
    expected = f"expected a finite weight for each of the 8 columns of the vectors, {message}"
    vectors = np.ones((12, 8), dtype=np.float32)
    with pytest.raises(ValueError, match=expected):
        EdgeEmbeddings.one_vector(vectors, weights, NAMES)
    one_vector(directed=True).save(tmp_path / "result")
    path = tmp_path / "result/settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "weights": weights}))
    (tmp_path / "result/checksums.txt").unlink()
    with pytest.raises(ValueError, match=rf"result: {expected}; .+ settings\.json .+ again"):
        EdgeEmbeddings.load(tmp_path / "result")


def test_damaged_folder_of_one_vector_is_refused(tmp_path, shared):
    shared.save(tmp_path / "result")
    path = tmp_path / "result/settings.json"
    header = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in header.items() if k != "weights"}))
    (tmp_path / "result/checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"each of the 8 columns .+ got None"):
        EdgeEmbeddings.load(tmp_path / "result")
    np.save(tmp_path / "result/vectors.npy", np.ones(12))
    with pytest.raises(ValueError, match=r"result: expected vectors of shape .+, got \(12,\)"):
        EdgeEmbeddings.load(tmp_path / "result")
    (tmp_path / "result/vectors.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"vectors\.npy: missing from the folder"):
        EdgeEmbeddings.load(tmp_path / "result")


def test_one_vector_needs_a_row_per_node():
    vectors = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(ValueError, match=r"got \(3, 2\) and \(3, 2\) for 2 nodes"):
        EdgeEmbeddings.one_vector(vectors, [1, 1], NodeNames.numbered(2))


@pytest.mark.parametrize(
    "chosen",
    [
        *(2, slice(1, 3), np.array([0, 0, 2]), np.array([True, False, True])),
        *((slice(None), 1), (np.array([1, 2]), np.array([0, 1])), np.eye(3) > 0),
    ],
    ids=["row", "slice", "ids", "mask", "column", "entries", "mask of entries"],
)
def test_weighted_rows_read_like_their_product(chosen):
    rows = np.arange(9, dtype=np.float16).reshape(3, 3)
    weights = np.array([1, -2, 0.5], dtype=np.float32)
    weighted, whole = WeightedRows(rows, weights), rows * weights
    np.testing.assert_array_equal(weighted[chosen], whole[chosen])
    assert weighted[chosen].dtype == weighted.dtype == np.float32


def test_weighted_rows_become_an_array():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    weighted, whole = WeightedRows(rows, [1, 2, 3]), rows * np.array([1, 2, 3])
    assert (len(weighted), weighted.shape) == (2, (2, 3))
    np.testing.assert_array_equal(np.asarray(weighted), whole)
    assert np.asarray(weighted, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(weighted @ rows.T, whole @ rows.T)


def test_rows_of_a_folder_are_read_only_when_asked_for(tmp_path, shared):
    shared.save(tmp_path / "result")
    back = EdgeEmbeddings.load(tmp_path / "result")
    assert isinstance(back.source, WeightedRows)
    assert isinstance(back.source.rows, np.memmap)
    assert back.source.rows is back.target


def test_fingerprint_tells_vectors_apart():
    vectors = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    nodes = NodeNames.numbered(5)
    first = EdgeEmbeddings(vectors, vectors[::-1], nodes)
    same = EdgeEmbeddings(vectors.copy(), vectors[::-1].copy(), nodes)
    assert first.fingerprint("source") == same.fingerprint("source")
    assert first.fingerprint("source") != first.fingerprint("target")


def paired_embeddings():
    """Two shared columns, and a source column paired with a target column."""
    vectors = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    names = NodeNames.from_strings("abcde")
    return EdgeEmbeddings.one_vector(vectors, [1, -1, 0, 2], names, columns=[0, 1, 3, 2])


def test_paired_columns_tell_directions_apart(tmp_path):
    embeddings = paired_embeddings()
    rows = embeddings.target
    u, v = np.indices((5, 5)).reshape(2, -1)
    expected = rows[u, 0] * rows[v, 0] - rows[u, 1] * rows[v, 1] + 2 * rows[u, 2] * rows[v, 3]
    np.testing.assert_allclose(embeddings.score(u, v), expected, rtol=1e-5)
    np.testing.assert_allclose(embeddings.score_all_targets(np.arange(5)).ravel(), expected, 1e-5)
    assert not embeddings.is_symmetric
    assert embeddings.dim == 4
    embeddings.save(tmp_path / "result")
    loaded = EdgeEmbeddings.load(tmp_path / "result")
    assert loaded.score(u, v).tobytes() == embeddings.score(u, v).tobytes()
    np.testing.assert_array_equal(loaded.columns, [0, 1, 3, 2])
    np.testing.assert_array_equal(loaded.source[2:4, 3], embeddings.source[:][2:4, 3])


def test_columns_that_are_missing_are_refused():
    with pytest.raises(ValueError, match="each of the 2 columns of the vectors once"):
        EdgeEmbeddings.one_vector(np.ones((1, 2)), [1, 1], NodeNames.from_strings("a"), columns=[0])


def test_paired_columns_of_an_undirected_graph_score_both_ways_alike():
    paired = paired_embeddings()
    columns, weights = paired.columns, paired.weights
    embeddings = EdgeEmbeddings.one_vector(
        paired.target, weights, paired.nodes, columns=columns, directed=False
    )
    u, v = np.indices((5, 5)).reshape(2, -1)
    expected = (paired.score(u, v) + paired.score(v, u)) / 2
    np.testing.assert_allclose(embeddings.score(u, v), expected, rtol=1e-5)
    np.testing.assert_allclose(
        embeddings.score_all_targets(np.arange(5)).ravel(), expected, rtol=1e-4, atol=1e-6
    )
