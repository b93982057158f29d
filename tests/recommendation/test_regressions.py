import numpy as np
import pytest
from scipy.optimize import minimize

from arcvec.recommendation.regressions import Regressions, likeliest, sigmoid

DIM = 5


@pytest.fixture
def prior():
    spread = np.random.default_rng(1).normal(size=(DIM, 2 * DIM))
    return {"mean": np.arange(DIM) / DIM, "precision": spread @ spread.T / 10}


@pytest.fixture
def regressions(prior):
    """Six regressions with up to forty inputs of their own; one has none."""
    generator = np.random.default_rng(0)
    owners = np.sort(generator.integers(5, size=100))
    return Regressions(
        inputs=generator.normal(size=(100, DIM)) * 3,
        owners=owners,
        weights=generator.uniform(0.1, 2, size=100),
        labels=generator.choice([0.2, 1.0], size=100),
        **prior,
        negatives=generator.normal(size=(50, DIM)).astype(np.float32),
        shared_weights=generator.choice([0.0, 0.3], size=(6, 50)).astype(np.float32),
    )


def slow_loss(regressions, node, vector):
    mine = regressions.owners == node
    scores, labels = regressions.inputs[mine] @ vector, regressions.labels[mine]
    loss = -regressions.weights[mine] @ (
        labels * np.log(sigmoid(scores)) + (1 - labels) * np.log(sigmoid(-scores))
    )
    loss -= regressions.shared_weights[node] @ np.log(sigmoid(-(regressions.negatives @ vector)))
    far = vector - regressions.mean
    return loss + far @ regressions.precision @ far / 2


def test_against_a_plain_minimiser(regressions):
    start = np.random.default_rng(2).normal(size=(6, DIM)) * 4
    found = likeliest(regressions, start)
    for node in range(6):
        plain = minimize(lambda v, node=node: slow_loss(regressions, node, v), np.zeros(DIM))
        np.testing.assert_allclose(found[node], plain.x, atol=5e-3)


def test_without_evidence_the_usual_is_likeliest(prior):
    nothing = Regressions(
        inputs=np.empty((0, DIM)),
        owners=np.empty(0, dtype=np.int64),
        weights=np.empty(0),
        labels=np.empty(0),
        **prior,
        negatives=np.empty((0, DIM), dtype=np.float32),
        shared_weights=np.empty((2, 0), dtype=np.float32),
    )
    found = likeliest(nothing, np.zeros((2, DIM)))
    np.testing.assert_allclose(found, [prior["mean"]] * 2, atol=1e-6)
