"""Counter-based random numbers: a draw is a hash of (seed, item, step), the same on any thread."""

import numpy as np
from numba import njit

# Odd 64-bit constants: the golden ratio for the counters, the finaliser of splitmix64 for mixing.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ITEM = np.uint64(0xD1B54A32D192ED03)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, inline="always")
def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, inline="always")
def item_state(seed, item):
    """Return the state from which all draws of an item are computed."""
    return _mix(np.uint64(seed) * _GOLDEN + np.uint64(item) * _ITEM)


@njit(cache=True, inline="always")
def bits_at(state, step):
    """Return 64 random bits decided by the state of an item and a step."""
    # The item is mixed before the step is added, so that (item, step) and (item + 1, step - k)
    # never fall on the same counter.
    return _mix(state + np.uint64(step) * _GOLDEN + _GOLDEN)


@njit(cache=True, inline="always")
def below_at(state, step, bound):
    """Return a random integer in 0..bound - 1; the bias is below bound / 2^32."""
    high = bits_at(state, step) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, inline="always")
def unit_at(state, step):
    """Return a random float64 in [0, 1)."""
    return np.float64(bits_at(state, step) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, inline="always")
def draw_below(seed, item, step, bound):
    """Return a random integer in 0..bound - 1, as `below_at`."""
    return below_at(item_state(seed, item), step, bound)


@njit(cache=True, nogil=True)
def draw_units(seed, items):
    """Return one random float64 in [0, 1) per item."""
    units = np.empty(items.size, dtype=np.float64)
    for i in range(items.size):
        units[i] = unit_at(item_state(seed, items[i]), 0)
    return units
