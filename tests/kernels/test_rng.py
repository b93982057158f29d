import numpy as np
import pytest
from numba import njit, prange

from arcvec.kernels.rng import bits_at, draw_below, item_state, unit_at
from tests.kernels.twins import slow_bits


@njit(parallel=True)
def table_of_bits(seed, items, steps):
    bits = np.empty((items, steps), dtype=np.uint64)
    for item in prange(items):
        for step in range(steps):
            bits[item, step] = bits_at(item_state(seed, item), step)
    return bits


@njit
def many_below(seed, count, bound):
    drawn = np.empty(count, dtype=np.int64)
    for item in range(count):
        drawn[item] = draw_below(seed, item, 3, bound)
    return drawn


@njit
def many_units(seed, count):
    drawn = np.empty(count)
    for step in range(count):
        drawn[step] = unit_at(item_state(seed, 7), step)
    return drawn


@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_bits_against_plain_python(seed):
    bits = table_of_bits(seed, 20, 10)
    expected = [[slow_bits(seed, item, step) for step in range(10)] for item in range(20)]
    assert bits.tolist() == expected


def test_counters_do_not_collide():
    bits = table_of_bits(0, 1000, 100)
    assert np.unique(bits).size == bits.size
    assert not np.isin(table_of_bits(1, 1000, 100), bits).any()


def test_below_is_uniform_and_in_range():
    counts = np.bincount(many_below(5, 70_000, 7), minlength=7)
    assert counts.size == 7
    assert np.abs(counts - 10_000).max() < 400  # a deviation is 93
    assert (many_below(5, 100, 1) == 0).all()


def test_units_are_uniform():
    units = many_units(3, 100_000)
    assert units.min() >= 0
    assert units.max() < 1
    assert abs(units.mean() - 0.5) < 0.005
    # Successive steps of one item are independent.
    assert abs(np.corrcoef(units[:-1], units[1:])[0, 1]) < 0.02
