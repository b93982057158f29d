"""Runs of different seeds taken together, and what has to be said about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.results import Result

KeyT = TypeVar("KeyT")


@dataclass(frozen=True)
class Summary:
    """One number of a method on a dataset at a dim, over seeds.

    Attributes:
        mean: None if no run has the number.
        spread: standard deviation over seeds (n - 1); None with fewer than two.
        one_seed: whether this is a single run of a method that other seeds would change.
        problems: reasons why runs are not among the finished ones.
    """

    mean: float | None
    spread: float | None
    one_seed: bool
    problems: tuple[str, ...]


def summarise(
    results: Sequence[Result], dataset: str, method: str, dim: int | None, number: str
) -> Summary:
    """Return a number over the seeds; a method without a dim counts at every dim."""
    runs = [
        result
        for result in results
        if (result.dataset, result.method) == (dataset, method) and result.dim in (dim, None)
    ]
    done = [(run, value) for run in runs if (value := run.number(number)) is not None]
    values = np.array([value for _, value in done])
    return Summary(
        mean=float(values.mean()) if values.size else None,
        spread=float(values.std(ddof=1)) if values.size > 1 else None,
        one_seed=len(done) == 1 and done[0][0].seed is not None,
        problems=tuple(
            in_order(
                f"{run.status}: {run.error}"
                for run in runs
                if run.status in ("failed", "refused", "missing")
            )
        ),
    )


def values_of(
    results: Sequence[Result], dataset: str, method: str, number: str
) -> NDArray[np.float64]:
    """Return a number of all finished runs of a method on a dataset, at all dims and seeds."""
    values = (r.number(number) for r in results if (r.dataset, r.method) == (dataset, method))
    return np.array([value for value in values if value is not None], dtype=np.float64)


def row_keys(results: Sequence[Result]) -> list[tuple[str, int | None]]:
    """Return dataset and dim of every row of a table; the dim is None if no method has one."""
    keys: list[tuple[str, int | None]] = []
    for dataset in in_order(result.dataset for result in results):
        dims = {r.dim for r in results if r.dataset == dataset and r.dim is not None}
        keys += [(dataset, dim) for dim in sorted(dims)] or [(dataset, None)]
    return keys


def in_order(items: Iterable[KeyT]) -> list[KeyT]:
    """Return the different items in the order in which they first come."""
    return list(dict.fromkeys(items))


@dataclass
class Notes:
    """Notes below a table, collected while its entries are written."""

    spread: bool = False
    one_seed: bool = False
    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, summary: Summary) -> str:
        """Return the marks of an entry, and remember what they stand for."""
        self.spread |= summary.spread is not None
        self.one_seed |= summary.one_seed
        for problem in summary.problems:
            self.letters.setdefault(problem, _letter(len(self.letters)))
        letters = ",".join(self.letters[problem] for problem in summary.problems)
        return ("¹" if summary.one_seed else "") + (f" ({letters})" if letters else "")

    def lines(self) -> list[str]:
        """Return what the marks stand for."""
        lines = ["± standard deviation over seeds"] if self.spread else []
        lines += ["¹ one seed"] if self.one_seed else []
        return [*lines, *(f"({letter}) {problem}" for problem, letter in self.letters.items())]


def show_summary(summary: Summary, form: Callable[[float], str], notes: Notes) -> str:
    """Return the text of an entry, its marks included."""
    text = "-" if summary.mean is None else form(summary.mean)
    if summary.spread is not None:
        text += f" ± {form(summary.spread)}"
    return text + notes.mark(summary)


def _letter(index: int) -> str:
    more, last = divmod(index, 26)
    return ("" if more == 0 else _letter(more - 1)) + "abcdefghijklmnopqrstuvwxyz"[last]
