"""The mean of scores in fewer numbers: against the decomposition of the whole matrix of scores."""

import numpy as np
import pytest
import torch

from arcvec.model.sides import Sides
from arcvec.training import average as mean_score


def members(seed, num_nodes=60, widths=(5, 7, 3)):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(num_nodes, width)).astype(np.float32) for width in widths]


def thirds(tables, weight=1 / 3):
    return [np.full(table.shape[1], weight) for table in tables]


def truncated(scores, rank):
    left, sizes, right = np.linalg.svd(scores)
    return left[:, :rank] * sizes[:rank] @ right[:rank]


@pytest.mark.parametrize("columns", [1, 4, 15])
def test_two_sides_are_the_nearest_of_their_rank(columns):
    sources, targets = members(0), members(1)
    mean = sum(s @ t.T for s, t in zip(sources, targets, strict=True)) / 3
    source, target = mean_score.two_sides(sources, targets, thirds(sources), columns)
    assert source.shape == target.shape == (60, columns)
    assert source.dtype == target.dtype == np.float32
    np.testing.assert_allclose(source @ target.T, truncated(mean, columns), atol=1e-4)


@pytest.mark.parametrize("columns", [1, 4, 15])
def test_one_side_is_the_nearest_of_its_rank(columns):
    vectors = members(2)
    weights = [np.random.default_rng(3).normal(size=v.shape[1]).astype(np.float32) for v in vectors]
    mean = sum(v * w @ v.T for v, w in zip(vectors, weights, strict=True)) / 3
    shared, signs = mean_score.one_side(vectors, [w / 3 for w in weights], columns)
    assert shared.shape == (60, columns)
    assert set(signs) <= {-1.0, 1.0}
    np.testing.assert_allclose(shared * signs @ shared.T, truncated(mean, columns), atol=1e-4)


def test_first_numbers_count_most():
    source, target = mean_score.two_sides(members(0), members(1), thirds(members(0)), 15)
    sizes = np.linalg.norm(source, axis=0) * np.linalg.norm(target, axis=0)
    assert (np.diff(sizes) <= 1e-4).all()


def test_members_that_say_the_same_lose_nothing():
    (vectors,) = members(4, widths=(6,))
    source, target = mean_score.two_sides(
        [vectors] * 4, [vectors] * 4, thirds([vectors] * 4, 1 / 4), 6
    )
    np.testing.assert_allclose(source @ target.T, vectors @ vectors.T, rtol=1e-4, atol=1e-4)


def test_fewer_nodes_than_numbers():
    vectors = members(5, num_nodes=3)
    source, target = mean_score.two_sides(vectors, vectors, thirds(vectors), 8)
    mean = sum(v @ v.T for v in vectors) / 3
    np.testing.assert_allclose(source @ target.T, mean, rtol=1e-4, atol=1e-4)
    shared, signs = mean_score.one_side(vectors, thirds(vectors), 8)
    np.testing.assert_allclose(shared * signs @ shared.T, mean, rtol=1e-4, atol=1e-4)


def test_vectors_of_zeros():
    nothing = [np.zeros((4, 2), dtype=np.float32)] * 2
    source, target = mean_score.two_sides(nothing, nothing, thirds(nothing), 2)
    assert not source.any()
    assert not target.any()


@pytest.mark.parametrize("scaled", [False, True])
def test_a_shared_part_stays_beside_a_two_sided_one(scaled):
    """Sums and differences of sides that are alike but for signs, as the order learns them."""
    generator = torch.Generator().manual_seed(0)
    one = torch.randn(40, 6, generator=generator)
    other = one * torch.tensor([1, -1, 1, 1, -1, 1])
    both = torch.cat([one + other, one - other], dim=1)
    shared = Sides(both, both, scale=torch.tensor([0.25] * 6 + [-0.25] * 6))
    source, target = torch.randn(2, 40, 3, generator=generator)
    scale = torch.tensor([2.0, -1.0, 0.5]) if scaled else None
    level = Sides.of_source_terms(torch.randn(40, generator=generator))
    parts, shares = [shared, Sides(source, target, scale=scale), level], [1.0, 0.7, 1.0]
    arrays, weights, columns = mean_score.average(parts, shares, 14)
    assert arrays["vectors"].shape == (40, 14)
    found = (arrays["vectors"][:, columns] * weights) @ arrays["vectors"].T
    expected = sum(
        share * part.scaled_source @ part.target.T
        for share, part in zip(shares, parts, strict=True)
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)
