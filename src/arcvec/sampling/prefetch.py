"""Prefetching: items made by a thread of their own while earlier ones are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numba

T = TypeVar("T")


def prefetch(items: Iterator[T], count: int, threads: int) -> Iterator[T]:
    """Yield endless items, of which up to `count` are made before they are requested.

    Deterministic: prefetching depends only on how many items were requested. Closing the iterator
    waits for all items that were started. `threads` limits compiled code.
    """
    # Numba's limit belongs to the thread that sets it.
    limit = min(threads, numba.get_num_threads())
    with ThreadPoolExecutor(1, "prefetch", numba.set_num_threads, (limit,)) as thread:
        coming: deque[Future[T]] = deque(thread.submit(next, items) for _ in range(count))
        while True:
            coming.append(thread.submit(next, items))
            yield coming.popleft().result()
