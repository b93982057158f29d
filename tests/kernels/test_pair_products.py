import numpy as np
import pytest

from arcvec.kernels.rows import pair_product_gradients, pair_products


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((2, 30, 7)).astype(np.float32)


@pytest.fixture
def places():
    return np.random.default_rng(1).integers(30, size=(2, 200))


def test_products_against_numpy(rows, places):
    expected = (rows[0][places[0]] * rows[1][places[1]]).sum(axis=1)
    products = pair_products(*rows, *places)
    assert products.dtype == np.float32
    np.testing.assert_allclose(products, expected, rtol=1e-5, atol=1e-5)


def test_gradients_against_numpy(rows, places):
    gradient = np.random.default_rng(2).standard_normal(200).astype(np.float32)
    table = np.zeros((30, 30))
    np.add.at(table, tuple(places), gradient)
    by_source, by_target = pair_product_gradients(gradient, *rows, *places)
    np.testing.assert_allclose(by_source, table @ rows[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_target, table.T @ rows[0], rtol=1e-4, atol=1e-5)


def test_no_pairs(rows):
    nobody = np.empty(0, dtype=np.int64)
    assert pair_products(*rows, nobody, nobody).shape == (0,)
    gradients = pair_product_gradients(np.empty(0, dtype=np.float32), *rows, nobody, nobody)
    assert all(not gradient.any() for gradient in gradients)
