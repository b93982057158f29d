import numpy as np
import pytest
from scipy.optimize import minimize

from arcvec.recommendation.regressions import Evidence, Prior, likeliest, sigmoid

DIM = 5


@pytest.fixture
def evidence():
    """Six regressions with up to forty inputs of their own; one has none."""
    generator = np.random.default_rng(0)
    owners = np.sort(generator.integers(5, size=100))
    return Evidence(
        inputs=generator.normal(size=(100, DIM)) * 3,
        owners=owners,
        weights=generator.uniform(0.1, 2, size=100),
        labels=generator.choice([0.2, 1.0], size=100),
        num_nodes=6,
        non_edges=generator.normal(size=(50, DIM)).astype(np.float32),
        share=generator.choice([0.0, 0.3], size=(6, 50)).astype(np.float32),
    )


@pytest.fixture
def prior():
    spread = np.random.default_rng(1).normal(size=(DIM, 2 * DIM))
    return Prior(np.arange(DIM) / DIM, spread @ spread.T / 10)


def slow_loss(evidence, prior, node, vector):
    mine = evidence.owners == node
    scores, labels = evidence.inputs[mine] @ vector, evidence.labels[mine]
    loss = -evidence.weights[mine] @ (
        labels * np.log(sigmoid(scores)) + (1 - labels) * np.log(sigmoid(-scores))
    )
    loss -= evidence.share[node] @ np.log(sigmoid(-(evidence.non_edges @ vector)))
    far = vector - prior.mean
    return loss + far @ prior.precision @ far / 2


def test_against_a_plain_minimiser(evidence, prior):
    start = np.random.default_rng(2).normal(size=(6, DIM)) * 4
    found = likeliest(evidence, prior, start)
    for node in range(6):
        plain = minimize(lambda v, node=node: slow_loss(evidence, prior, node, v), prior.mean)
        np.testing.assert_allclose(found[node], plain.x, atol=5e-3)


def test_without_evidence_the_usual_is_likeliest(prior):
    nothing = Evidence(
        inputs=np.empty((0, DIM)),
        owners=np.empty(0, dtype=np.int64),
        weights=np.empty(0),
        labels=np.empty(0),
        num_nodes=2,
        non_edges=np.empty((0, DIM), dtype=np.float32),
        share=np.empty((2, 0), dtype=np.float32),
    )
    found = likeliest(nothing, prior, np.zeros((2, DIM)))
    np.testing.assert_allclose(found, [prior.mean] * 2, atol=1e-6)
