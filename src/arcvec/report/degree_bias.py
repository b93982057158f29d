"""Whether recommendations go to those who have many edges already, more than edges do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.table_text import Entry, Table
from arcvec.recommendation.exact import top_k
from arcvec.report.subject import Subject

K = 10
"""New edges of each node that are counted."""

MAX_NODES = 5000
"""Nodes recommended for; a sample of so many where there are more."""

GROUPS = 10

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class DegreeGroup:
    """A tenth of the nodes, by the number of known edges that end in them.

    Attributes:
        low, high: the degrees in it.
        edges, recommended, test: the part of all known edges, of all recommended edges, and of all
            test edges (None without any) that end in it.
    """

    low: int
    high: int
    edges: float
    recommended: float
    test: float | None


@dataclass(frozen=True)
class DegreeBias:
    """How recommendations are spread over nodes.

    Attributes:
        groups: from few edges to many.
        edges_gini, recommended_gini: 0 if all nodes are targets equally often, near 1 if one is
            all the time.
        coverage: part of the nodes that are recommended to anybody.
        num_asked: nodes that were recommended for.
    """

    groups: tuple[DegreeGroup, ...]
    edges_gini: float
    recommended_gini: float
    coverage: float
    num_asked: int

    def table(self, degree_word: str) -> Table:
        """Return the groups as a table."""
        with_test = self.groups[0].test is not None
        header = ("tenth of the nodes", degree_word, "known edges", "recommended")
        rows = tuple(
            tuple(Entry(text) for text in _row(number + 1, group, with_test))
            for number, group in enumerate(self.groups)
        )
        last = ("test edges",) if with_test else ()
        return Table(f"Where edges end, by {degree_word}", (*header, *last), rows)


def measure_degree_bias(subject: Subject, seed: int = 0) -> DegreeBias:
    """Return how the best new edges of all nodes, or of a sample, spread over their targets."""
    num_nodes, degrees = subject.known.num_nodes, subject.known.in_degrees
    asked = np.arange(num_nodes)
    if num_nodes > MAX_NODES:
        asked = np.random.default_rng(seed).choice(num_nodes, MAX_NODES, replace=False)
    best, _ = top_k(subject.embeddings, asked, min(K, num_nodes), exclude=subject.known)
    recommended = np.bincount(best[best >= 0], minlength=num_nodes)
    test = _ends_of_test(subject)
    order = np.argsort(degrees, kind="stable")
    groups = tuple(
        DegreeGroup(
            low=int(degrees[group].min()),
            high=int(degrees[group].max()),
            edges=_part(degrees, group),
            recommended=_part(recommended, group),
            test=None if test is None else _part(test, group),
        )
        for group in np.array_split(order, min(GROUPS, num_nodes))
    )
    return DegreeBias(
        groups,
        edges_gini=gini(degrees),
        recommended_gini=gini(recommended),
        coverage=float((recommended > 0).mean()),
        num_asked=asked.size,
    )


def gini(counts: Counts) -> float:
    """Return how unequal counts are: 0 if all are equal, near 1 if one has everything.

    >>> gini(np.array([3, 3, 3])), gini(np.array([0, 0, 0, 8]))
    (0.0, 0.75)
    """
    total = counts.sum()
    if total == 0:
        return 0.0
    # Each count times how many are smaller, less how many are larger: whole numbers, so exact.
    places = 2 * np.arange(counts.size) - counts.size + 1
    return float((places @ np.sort(counts)) / (counts.size * total))


def _ends_of_test(subject: Subject) -> Counts | None:
    """Return how many test edges end in each node; of undirected ones, at either end."""
    if subject.test is None:
        return None
    ends = subject.test[:, 1] if subject.given.directed else subject.test.ravel()
    return np.bincount(ends, minlength=subject.known.num_nodes)


def _part(counts: Counts, group: NDArray[np.intp]) -> float:
    return float(counts[group].sum() / max(1, counts.sum()))


def _row(number: int, group: DegreeGroup, with_test: bool) -> list[str]:
    degrees = f"{group.low:,}" if group.low == group.high else f"{group.low:,} to {group.high:,}"
    parts = [group.edges, group.recommended, *([group.test or 0.0] if with_test else [])]
    return [str(number), degrees, *(f"{100 * part:.1f} %" for part in parts)]
