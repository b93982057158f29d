"""word2vec text in gensim: what agrees there with scores and recommendations, and what not."""

import os
import re

import numpy as np
import pytest

from arcvec.export.vectors import export_vectors
from arcvec.recommendation.exact import recommend
from tests.export.samples import NUM_NODES, all_scores, random_embeddings

KeyedVectors = pytest.importorskip(
    "gensim.models", reason="needs gensim, of the extra baselines"
).KeyedVectors


def load(embeddings, folder, **settings):
    loaded = []
    for side in ("source", "target"):
        export_vectors(embeddings, folder / f"{side}.txt", side=side, **settings)
        loaded.append(KeyedVectors.load_word2vec_format(str(folder / f"{side}.txt")))
    return loaded


def test_gensim_loads_the_same_numbers(words, tmp_path):
    for side, found in zip(("source", "target"), load(words, tmp_path), strict=True):
        assert found.index_to_key == list(words.nodes)
        np.testing.assert_array_equal(found.vectors, words.vectors(side))


@pytest.mark.parametrize("equal_norms", [False, True])
def test_dot_products_are_scores_and_rank_as_recommend(words, tmp_path, equal_norms):
    sources, targets = load(words, tmp_path, equal_norms=equal_norms)
    products = sources.vectors @ targets.vectors.T
    np.testing.assert_allclose(products, all_scores(words), rtol=1e-4, atol=1e-5)
    for name in words.nodes:
        order = np.argsort(-(targets.vectors @ sources[name]))
        ranked = [targets.index_to_key[i] for i in order if targets.index_to_key[i] != name]
        assert ranked == recommend(words, [name], k=NUM_NODES - 1)[0][0].tolist()


def test_gensims_cosine_ranks_as_recommend_with_equal_norms_only(words, tmp_path):
    def ranked(equal_norms):
        folder = tmp_path / str(equal_norms)
        sources, targets = load(words, folder, equal_norms=equal_norms)
        found = targets.similar_by_vector(sources["alice"], topn=NUM_NODES)
        return [name for name, _ in found if name != "alice"]

    expected = recommend(words, ["alice"], k=NUM_NODES - 1)[0][0].tolist()
    assert ranked(equal_norms=True) == expected
    assert ranked(equal_norms=False) != expected


def test_both_sides_in_one_row(words, tmp_path):
    export_vectors(words, tmp_path / "both.vec")
    found = KeyedVectors.load_word2vec_format(str(tmp_path / "both.vec"))
    both = np.concatenate([words.vectors("source"), words.vectors("target")], axis=1)
    np.testing.assert_array_equal(found.vectors, both)


@pytest.mark.parametrize("name", ["a b", "tab\there", "two\nlines", "", "no\u00a0break", " a"])
def test_names_that_would_not_survive_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=re.escape(repr(name)) + r"; parquet, .+ keep"):
        export_vectors(random_embeddings([name]), tmp_path / "vectors.txt")
    assert os.listdir(tmp_path) == []
