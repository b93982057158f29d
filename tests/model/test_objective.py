import math

import numpy as np
import pytest
import torch

from arcvec.graph.graph import Graph
from arcvec.model.objective import (
    Objective,
    block_loss,
    mixture_block_loss,
    sampled_likelihood_loss,
    soft_label_loss,
)
from arcvec.model.sides import Sides
from arcvec.sampling.batches import BatchStream, Place
from arcvec.sampling.settings import NegativeSettings, WalkSettings


def test_sampled_loss_by_hand():
    """Two pairs, of which the second has one negative only."""
    positive = torch.tensor([0.0, 2.0])
    negative = torch.tensor([[0.0, 1.0], [-1.0, 123.0]])
    exists = torch.tensor([[True, True], [True, False]])
    first = math.log(2) + math.log(2) + math.log(1 + math.e)
    second = math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))
    loss = sampled_likelihood_loss(positive, negative, exists)
    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-6)


def test_losses_stay_finite_at_extreme_scores():
    scores = torch.tensor([1e9, -1e9], requires_grad=True)
    exists = torch.ones(2, 1, dtype=torch.bool)
    sampled = sampled_likelihood_loss(scores, scores[:, None], exists)
    soft = soft_label_loss(scores, 0.3)
    (sampled + soft).backward()
    assert sampled.item() == pytest.approx(1e9)
    assert soft.item() == pytest.approx(0.5 * (0.7e9 + 0.3e9))
    assert torch.isfinite(scores.grad).all()
    large = torch.full((2, 1), 3e4, requires_grad=True)
    block = block_loss(large, large, *empty_cells())
    block.backward()
    assert block.item() == pytest.approx(9e8)
    assert torch.isfinite(large.grad).all()


def empty_cells():
    return torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)


def test_block_gradient_is_that_of_the_written_out_loss():
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(7, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    target = torch.randn(9, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.tensor([0, 4, 6]), torch.tensor([3, 4, 0])
    block_loss(source, target, rows, columns).backward()
    fast = source.grad.clone(), target.grad.clone()
    source.grad = target.grad = None
    weights = torch.ones(7, 9, dtype=torch.float64)
    weights[rows, columns] = 0
    losses = torch.nn.functional.softplus(source @ target.T)
    ((losses * weights).sum() / weights.sum()).backward()
    torch.testing.assert_close(fast[0], source.grad)
    torch.testing.assert_close(fast[1], target.grad)


def test_block_value_without_skipped_cells_is_the_mean_softplus():
    source, target = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.5], [-1.0], [0.0]])
    scores = np.array([[0.5, -1, 0], [1, -2, 0]])
    loss = block_loss(source, target, *empty_cells())
    assert loss.item() == pytest.approx(np.log1p(np.exp(scores)).mean(), rel=1e-6)


def test_soft_label_by_hand():
    loss = soft_label_loss(torch.tensor([1.0]), 0.25)
    expected = 0.25 * math.log(1 + math.exp(-1)) + 0.75 * math.log(1 + math.e)
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    assert soft_label_loss(torch.empty(0), 0.5).item() == 0


def test_mixture_block_by_hand():
    """Two projections of one number; one cell is skipped."""
    source = torch.tensor([[[1.0], [2.0]], [[-1.0], [1.0]]])  # (h, m, b)
    target = torch.tensor([[[1.0]], [[2.0]]])  # (h, n, b)
    loss = mixture_block_loss(
        source, target, torch.tensor([1.0, 3.0]), torch.tensor([0]), torch.tensor([0])
    )
    assert loss.item() == pytest.approx(math.log1p(math.exp(2 + 3 * 2)), rel=1e-6)


@pytest.mark.parametrize("kind", ["block", "fixed"])
def test_objective_of_a_batch_against_a_slow_sum(kind):
    """The whole likelihood of one batch, cell by cell, on a graph small enough to write it out."""
    graph = Graph.from_edges([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 0])
    settings = NegativeSettings(kind=kind, weight=2.0, per_pair=1, reversed_weight=0.5)
    stream = BatchStream(graph, WalkSettings(), settings, batch_pairs=8, seed=0)
    batch = next(stream.start_at(Place()))
    vectors = np.random.default_rng(0).normal(size=(2, len(batch.nodes), 2))
    source, target = torch.from_numpy(vectors)
    objective = Objective(settings, reversed_label=0.25)
    scores = vectors[0] @ vectors[1].T

    def softplus(x):
        return np.log1p(np.exp(x))

    expected = softplus(-scores[batch.sources, batch.targets]).mean()
    if kind == "fixed":
        expected += softplus(scores[batch.sources, batch.negatives[:, 0]]).mean()
    else:
        cells = np.ix_(batch.block.sources, batch.block.targets)
        counts = np.ones(scores[cells].shape)
        counts[batch.block.skipped_rows, batch.block.skipped_columns] = 0
        expected += 2.0 * (softplus(scores[cells]) * counts).sum() / counts.sum()
        turned = scores[batch.reversed_sources, batch.reversed_targets]
        expected += 0.5 * (0.25 * softplus(-turned) + 0.75 * softplus(turned)).mean()
    expected += 0.1 * (vectors**2).sum(axis=2).mean(axis=1).sum()
    loss = objective.loss(Sides(source, target), batch, output_l2=0.1)
    assert loss.item() == pytest.approx(expected, rel=1e-9)
