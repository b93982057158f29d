import json

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, SymmetricEmbeddings
from arcvec.graph.names import NodeNames


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def embeddings(request):
    source, target = np.random.default_rng(0).normal(size=(2, 12, 4)).astype(np.float32)
    names = NodeNames.from_strings(f"node\n{i}" for i in range(12))
    settings = {"method": "by hand", "seed": 3}
    return EdgeEmbeddings(source, target, names, directed=request.param, settings=settings)


def products(embeddings):
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


def test_dim_counts_both_sides(embeddings):
    assert embeddings.dim == 8


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
    assert isinstance(back.source, np.memmap) == mmap


def test_half_precision_is_half_the_size_and_scores_in_float32(tmp_path, embeddings):
    embeddings.save(tmp_path / "result", float16=True)
    back = EdgeEmbeddings.load(tmp_path / "result")
    assert back.source.dtype == np.float16
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
    with pytest.raises(ValueError, match="format version 1, got 99"):
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


def test_symmetric_embeddings_are_a_weighted_product():
    vectors = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    weights = np.array([1, -2, 0.5], dtype=np.float32)
    scorer = SymmetricEmbeddings(vectors, weights, NodeNames.numbered(7))
    table = scorer.score_all_targets(np.arange(7))
    np.testing.assert_allclose(table, vectors @ np.diag(weights) @ vectors.T, rtol=1e-5)
    sources, targets = np.indices((7, 7)).reshape(2, -1)
    np.testing.assert_allclose(scorer.score(sources, targets), table.ravel(), rtol=1e-5)
    assert scorer.dim == 3
