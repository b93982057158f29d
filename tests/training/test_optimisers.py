import pytest
import torch

from arcvec.training.optimisers import Adam, PercentDelta


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_adam_is_torchs_adam():
    ours, theirs = random(6, 3), torch.nn.Parameter(random(6, 3))
    optimiser = Adam(ours, l2=0.1)
    reference = torch.optim.Adam([theirs], lr=0.05, weight_decay=0.1)
    for step in range(20):
        theirs.grad = random(6, 3, seed=step)
        optimiser.step(theirs.grad.clone(), 0.05)
        reference.step()
    torch.testing.assert_close(ours, theirs.data)


def test_adam_by_rows_is_torchs_sparse_adam():
    ours, theirs = random(6, 3), torch.nn.Parameter(random(6, 3))
    optimiser, reference = Adam(ours), torch.optim.SparseAdam([theirs], lr=0.05)
    for step in range(20):
        rows = torch.randperm(6, generator=torch.Generator().manual_seed(step))[:2]
        gradient = random(2, 3, seed=step)
        theirs.grad = torch.sparse_coo_tensor(rows[None], gradient, (6, 3), check_invariants=True)
        optimiser.step(gradient, 0.05, rows)
        reference.step()
    torch.testing.assert_close(ours, theirs.data)


@pytest.mark.parametrize("rule", [Adam, PercentDelta])
def test_rows_outside_the_batch_stay_as_they_are(rule):
    values = random(8, 3)
    before = values.clone()
    rule(values, l2=0.1).step(random(2, 3, seed=1), 0.05, torch.tensor([5, 2]))
    touched = (values != before).any(dim=1)
    assert touched.nonzero().ravel().tolist() == [2, 5]


@pytest.mark.parametrize("rule", [Adam, PercentDelta])
def test_all_rows_in_any_order_is_the_whole(rule):
    whole, by_rows = random(5, 3), random(5, 3)
    gradient, order = random(5, 3, seed=1), torch.tensor([3, 0, 4, 1, 2])
    rule(whole).step(gradient, 0.05)
    rule(by_rows).step(gradient[order], 0.05, order)
    torch.testing.assert_close(whole, by_rows)


def test_percent_delta_changes_by_the_learning_rate_on_average():
    values = random(100, 4)
    values += 0.1 * values.sign()  # nothing near 0, which would count as the smallest value
    before = values.clone()
    gradient = 1e6 * random(100, 4, seed=1)
    PercentDelta(values).step(gradient, 0.03)
    relative = ((values - before) / before).abs().mean().item()
    assert relative == pytest.approx(0.03, rel=1e-3)
    assert ((before - values).sign() == gradient.sign()).all()


def test_percent_delta_leaves_zero():
    values = torch.zeros(3, 2)
    optimiser = PercentDelta(values)
    for _ in range(100):
        optimiser.step(torch.ones(3, 2), 0.1)
    assert (values < -0.01).all()
    assert torch.isfinite(values).all()


def test_percent_delta_moves_no_value_farther_than_the_mean_is_large():
    """One value with nearly all of the gradient would else change by lr * 100 times itself."""
    values = torch.ones(100)
    gradient = torch.full((100,), 1e-9)
    gradient[7] = 1.0
    PercentDelta(values).step(gradient, 0.3)
    assert values[7].item() == pytest.approx(0.0, abs=1e-6)
    assert (values[:7] > 0.99).all()
