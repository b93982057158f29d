"""iALS and BPR: known answers, and settings chosen on held-out edges."""

import sys

import numba
import numpy as np
import pytest

from arcvec.baselines.recommenders import BPR, IALS
from arcvec.evaluation.ranks import rank_edges
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency
from arcvec.graph.split import cut_edges
from arcvec.kernels.least_squares import improve_rows

ONE = {"non_edge_weight": (0.1,), "penalty": (2.0,), "degree_exponent": (0.5,)}


def communities(directed, seed=0):
    """Sixty nodes in three groups; seven edges of eight stay inside a group."""
    sources, targets = np.random.default_rng(seed).integers(60, size=(2, 2400))
    inside = sources % 3 == targets % 3
    kept = inside | (np.arange(2400) % 14 == 0)
    return Graph.from_edges(sources[kept], targets[kept], nodes=60, directed=directed)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_rows_reach_the_best_by_as_many_steps_as_numbers(weighted):
    generator = np.random.default_rng(1)
    graph = communities(directed=True)
    weights = generator.uniform(0.5, 2, graph.num_edges).astype(np.float32)
    others = generator.normal(size=(60, 4)).astype(np.float32)
    rows = generator.normal(size=(60, 4)).astype(np.float32)
    penalties = np.linspace(0.5, 3, 60, dtype=np.float32)
    given = weights if weighted else weights[:0]
    gram = 0.1 * others.T @ others
    improve_rows(graph.indptr, graph.indices, given, others, gram, penalties, rows, 4)
    for node in range(60):
        own = slice(*graph.indptr[node : node + 2])
        known, weight = others[graph.indices[own]], weights[own] if weighted else 1
        left = gram + (known.T * weight) @ known + penalties[node] * np.eye(4)
        best = np.linalg.solve(left, (known.T * weight) @ np.ones(len(known)))
        np.testing.assert_allclose(rows[node], best, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("directed", [True, False])
def test_ials_against_dense_solutions(directed):
    """With two numbers a side, three steps of conjugate gradients are exact."""
    graph = communities(directed)
    method = IALS(dim=4, seed=3, iterations=4, **ONE)
    embeddings = method.fit(graph)
    matrix = adjacency(graph).toarray()
    np.fill_diagonal(matrix, 0)
    target = np.random.default_rng(3).normal(scale=0.05, size=(60, 2)).astype(np.float32)
    for _ in range(4):
        source = solve_all(matrix, target)
        target = solve_all(matrix.T, source)
    np.testing.assert_allclose(embeddings.source, source, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(embeddings.target, target, rtol=1e-2, atol=1e-3)


def solve_all(matrix, others):
    solutions = []
    for row in matrix:
        pair_weights = np.where(row > 0, 1 + 0.1, 0.1)
        left = (others.T * pair_weights) @ others
        left += 2 * np.sqrt(row.sum() / 10) * np.eye(others.shape[1])
        solutions.append(np.linalg.solve(left, others.T @ row))
    return np.array(solutions)


def test_same_vectors_on_one_thread_and_more():
    graph = communities(directed=True)
    expected = IALS(dim=16, **ONE).fit(graph).source
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        np.testing.assert_array_equal(IALS(dim=16, **ONE).fit(graph).source, expected)
    finally:
        numba.set_num_threads(threads)


def test_source_without_edges_has_no_preference():
    graph = Graph.from_edges([0, 1], [2, 2], nodes=4)
    assert not IALS(dim=4, **ONE).fit(graph).score_all_targets(np.array([3])).any()


@pytest.mark.parametrize("method", [IALS(dim=8), BPR(dim=8)], ids=["ials", "bpr"])
@pytest.mark.parametrize("directed", [True, False])
def test_communities_are_found(method, directed):
    if isinstance(method, BPR):
        pytest.importorskip("implicit")
    graph, held_out, _ = cut_edges(communities(directed), 0.1, 0.0, seed=1)
    inside = held_out[held_out[:, 0] % 3 == held_out[:, 1] % 3]
    ranks = rank_edges(method.fit(graph), inside, graph)
    assert np.median(ranks) < 15


def test_setting_that_ranks_best_is_chosen():
    """A penalty that leaves nothing of the vectors ranks all nodes alike."""
    graph = communities(directed=True)
    choices = {**ONE, "penalty": (1e9, 2.0)}
    settings = IALS(dim=8, **choices).fit(graph).settings
    assert settings["settings"]["penalty"] == [2.0]
    assert settings["settings"]["non_edge_weight"] == [0.1]
    chosen = IALS(dim=8, **ONE).fit(graph)
    np.testing.assert_array_equal(IALS(dim=8, **choices).fit(graph).source, chosen.source)


def test_first_values_without_edges_to_spare():
    path = Graph.from_edges([0, 1, 2], [1, 2, 3])
    settings = IALS(dim=4).fit(path).settings["settings"]
    assert settings["penalty"] == [IALS().penalty[0]]


def test_bpr_without_implicit_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "implicit.cpu.bpr", None)
    with pytest.raises(ImportError, match=r"pip install 'arcvec\[baselines\]'"):
        BPR().fit(communities(directed=True))
