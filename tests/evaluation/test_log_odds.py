import numpy as np
import pytest
from scipy.optimize import minimize

from arcvec.evaluation.log_odds import fit_log_odds, sigmoid

DIM = 5


@pytest.fixture
def prior():
    spread = np.random.default_rng(1).normal(size=(DIM, 2 * DIM))
    return {"mean": np.arange(DIM) / DIM, "precision": spread @ spread.T / 10}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [1, 100])
def test_against_a_plain_minimiser(prior, seed, size):
    generator = np.random.default_rng(seed)
    inputs, weights = generator.normal(size=(size, DIM)) * 3, generator.uniform(0.1, 2, size=size)
    labels = generator.choice([0.2, 1.0], size=size)

    def slow_loss(vector):
        scores, far = inputs @ vector, vector - prior["mean"]
        loss = -weights @ (
            labels * np.log(sigmoid(scores)) + (1 - labels) * np.log(sigmoid(-scores))
        )
        return loss + far @ prior["precision"] @ far / 2

    plain = minimize(slow_loss, np.zeros(DIM))
    found = fit_log_odds(inputs, labels, weights, **prior)
    np.testing.assert_allclose(found, plain.x, atol=5e-3)
    assert slow_loss(found) <= plain.fun + 1e-9


def test_without_evidence_the_usual_is_likeliest(prior):
    found = fit_log_odds(np.empty((0, DIM)), np.empty(0), np.empty(0), **prior)
    np.testing.assert_allclose(found, prior["mean"], atol=1e-6)
