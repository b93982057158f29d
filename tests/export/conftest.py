"""Embeddings with names of all kinds, and with names that are words."""

import pytest

from tests.export.samples import NAMES, WORDS, random_embeddings


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def embeddings(request):
    return random_embeddings(NAMES, request.param)


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def words(request):
    return random_embeddings(WORDS, request.param)
