"""One process: the verbs of `Workers`, each of them an identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Alone:
    """A process that shares its work with no other.

    `arcvec.parallel.workers.Workers` has the same verbs for many processes. Code that sums,
    exchanges or agrees works with either.

    Attributes:
        rank: number of this worker, from 0 on, of `count` workers.
    """

    rank = 0
    count = 1
    bytes_sent = 0.0

    @property
    def is_first(self) -> bool:
        """Whether this worker does what one alone must do: print, rename, clean up."""
        return self.rank == 0

    @property
    def beside(self) -> Alone:
        """The same workers over connections of their own, for a second thread of each."""
        return self

    def share(self, count: int) -> range:
        """Return which of `count` items are this worker's; shares differ by one at most."""
        return range(count)

    def sum(self, values: T) -> T:
        """Return the sum over all workers of an array or tensor."""
        return values

    def exchange(self, parts: Sequence[T], received: Sequence[int] | None = None) -> list[T]:
        """Return what all workers have for this one, given what this one has for each of them.

        Args:
            parts: an array or a tensor for each worker; all have the same type and columns.
            received: rows that come from each worker, where that is known.
        """
        return list(parts)

    def gather(self, part: T) -> list[T]:
        """Return the arrays of all workers, which may differ in length."""
        return [part]

    def agree(self, decide: Callable[[], Any]) -> Any:
        """Return what the first worker decides, any JSON value; the others do not call it."""
        return decide()

    def wait(self) -> None:
        """Return when all workers are here."""

    def after_first(self, act: Callable[[], T]) -> T:
        """Return what `act` returns; the first worker calls it before the others do."""
        return act()

    def in_step(self, items: Iterable[T]) -> Iterator[T]:
        """Yield this worker's items, no faster than the others get theirs.

        An error on one worker then stops all of them at the next item.
        """
        return iter(items)
