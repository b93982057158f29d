"""Embeddings with names of all kinds, and with names that are words."""

import pytest

from tests.export.samples import NAMES, WORDS, random_embeddings, random_one_vector

MAKERS = {
    "directed": random_embeddings,
    "undirected": lambda names: random_embeddings(names, directed=False),
    "one vector": random_one_vector,
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def embeddings(request):
    return request.param(NAMES)


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def words(request):
    return request.param(WORDS)
