import numpy as np
import pytest

from arcvec.kernels.rows import adam_rows

BETAS, EPSILON = (0.9, 0.999), 1e-8


def slow_adam(values, mean, square, gradient, rows, l2, rate, step):
    for i, row in enumerate(rows):
        for k in range(values.shape[1]):
            slope = gradient[i, k] + l2 * values[row, k]
            mean[row, k] = BETAS[0] * mean[row, k] + (1 - BETAS[0]) * slope
            square[row, k] = BETAS[1] * square[row, k] + (1 - BETAS[1]) * slope**2
            unbiased = mean[row, k] / (1 - BETAS[0] ** step)
            scale = np.sqrt(square[row, k] / (1 - BETAS[1] ** step)) + EPSILON
            values[row, k] -= rate * unbiased / scale


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("step", [1, 40])
def test_adam_rows(l2, step):
    rng = np.random.default_rng(0)
    values, mean = rng.normal(size=(2, 9, 4)).astype(np.float32)
    square = rng.random((9, 4), dtype=np.float32)
    gradient, rows = rng.normal(size=(3, 4)).astype(np.float32), np.array([7, 0, 4])
    ours = [part.copy() for part in (values, mean, square)]
    expected = [part.astype(np.float64) for part in (values, mean, square)]
    adam_rows(*ours, gradient, rows, l2, 0.05, BETAS, step, EPSILON)
    slow_adam(*expected, gradient, rows, l2, 0.05, step)
    for part, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-5, atol=1e-6)
