import threading
from itertools import count, islice

import numba
import pytest

from arcvec.sampling.prefetch import prefetch


def test_items_come_in_order_from_another_thread_with_its_own_limit():
    def items():
        for i in count():
            yield i, threading.current_thread().name, numba.get_num_threads()

    found = list(islice(prefetch(items(), 3, threads=1), 50))
    assert [item[0] for item in found] == list(range(50))
    assert {item[1] for item in found} == {"prefetch_0"}
    assert {item[2] for item in found} == {1}


def test_what_was_asked_for_decides_how_many_are_made():
    made = []

    def items():
        for i in count():
            made.append(i)
            yield i

    coming = prefetch(items(), 3, threads=1)
    for _ in range(4):
        next(coming)
    coming.close()
    assert len(made) == 4 + 3
    assert not [t for t in threading.enumerate() if t.name.startswith("ahead")]


def test_what_goes_wrong_is_raised_where_the_item_is_asked_for():
    def items():
        yield 1
        raise ValueError("no more")

    coming = prefetch(items(), 3, threads=1)
    assert next(coming) == 1
    with pytest.raises(ValueError, match="no more"):
        next(coming)
