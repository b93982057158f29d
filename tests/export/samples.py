"""Embeddings to export, and the scores they must have afterwards."""

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames

NAMES = ["alice", "a b", "two\nlines", "back\\slash", "naïve 🦆", 'q"uo,te', "", "NULL"]
WORDS = ["alice", "#", "7", "naïve🦆", "back\\slash", 'q"uo,te', "</s>", "NULL"]
NUM_NODES = 50


def random_embeddings(names, directed=True, side_dim=16):
    names = [*names, *(f"n{i}" for i in range(NUM_NODES - len(names)))]
    source, target = np.random.default_rng(0).normal(size=(2, NUM_NODES, side_dim))
    target *= np.random.default_rng(1).uniform(0.1, 3, size=(NUM_NODES, 1))  # hubs, and others
    return EdgeEmbeddings(
        source.astype(np.float32),
        target.astype(np.float32),
        NodeNames.from_strings(names),
        directed,
        {"method": "by hand"},
    )


def random_one_vector(names, directed=False):
    sides = random_embeddings(names, directed)
    weights = np.random.default_rng(2).normal(size=16)
    return EdgeEmbeddings.one_vector(
        sides.target, weights, sides.nodes, directed=directed, settings=sides.settings
    )


def all_scores(embeddings):
    sources, targets = np.indices((NUM_NODES, NUM_NODES)).reshape(2, -1)
    return embeddings.score(sources, targets).reshape(NUM_NODES, NUM_NODES)
