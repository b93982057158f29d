"""Things made by a thread of their own while earlier ones are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numba

T = TypeVar("T")


def ahead(items: Iterator[T], count: int, threads: int) -> Iterator[T]:
    """Yield endless items; as many as `count` are made before they are asked for.

    Which are made is decided by which are asked for, never by the clock. Whoever leaves early waits
    for all that were ordered.

    Args:
        threads: for compiled code.
    """
    # Numba keeps a number of threads for each thread that asks for some.
    limit = min(threads, numba.get_num_threads())
    with ThreadPoolExecutor(1, "ahead", numba.set_num_threads, (limit,)) as thread:
        coming: deque[Future[T]] = deque(thread.submit(next, items) for _ in range(count))
        while True:
            coming.append(thread.submit(next, items))
            yield coming.popleft().result()
