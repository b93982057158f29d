"""The order of targets within each source, learned by weighted least squares.

Eq. 8 with squared errors in the place of logarithms: a pair seen in the graph or on short walks
should score 1, every other pair 0, with less weight. The best vector of a node then is a ridge
regression on those of the other side, so that a sweep over all nodes needs no learning rate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from threadpoolctl import threadpool_limits

from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, strengths
from arcvec.kernels.least_squares import improve_rows
from arcvec.kernels.nearby import nearest_by_walks
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.training.average import Vectors
from arcvec.training.hooks import Hooks, Interrupted, Progress
from arcvec.training.settings import RankingSettings
from arcvec.training.validation import Validation

Tables: TypeAlias = tuple[Vectors, Vectors]  # source and target vectors of all nodes
Choice: TypeAlias = dict[str, float]  # one value for each of the settings in TUNED, and sweeps

TUNED = ("one_vector", "nearby_weight", "non_edge_weight", "penalty", "degree_exponent")
_CONTINUATION = 0.85
# Walks spread over so many neighbours that each gets less than this are not followed.
_TOLERANCE = 1e-3
# Conjugate gradients from the last vector: as good as exact solutions, in a tenth of the time.
_STEPS_PER_SOLUTION = 3
_REFERENCE_DEGREE = 10
_MOST_AUC_LOST = 0.02


@dataclass
class Course:
    """Sweeps done, of all that are planned: what is reported, and where a fit can be stopped."""

    hooks: Hooks
    workers: Alone
    planned: int
    done: int = 0

    def step(self, num_pairs: int, seconds: float) -> None:
        """Report a sweep; raise `Interrupted` if any worker was asked to stop."""
        self.done += 1
        if self.hooks.report:
            self.hooks.report(
                Progress(self.done, self.planned, None, num_pairs / seconds, None, None)
            )
        should_stop = self.hooks.should_stop
        stopping = np.array([float(bool(should_stop and should_stop()))])
        if self.workers.sum(stopping)[0]:
            raise Interrupted(self.done, self.hooks.checkpoint)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The least-squares problem of a graph.

    Every worker has the vectors of all nodes and improves those of its own.

    Attributes:
        columns: numbers of a vector, on each side.
    """

    graph: Graph
    settings: RankingSettings
    columns: int
    workers: Alone

    def shaped(self, choice: Choice) -> LeastSquares:
        """Return the problem of the graph without directions if one vector serves both sides."""
        return self._undirected if choice["one_vector"] and self.graph.directed else self

    @cached_property
    def _undirected(self) -> LeastSquares:
        return replace(self, graph=self.graph.undirected, columns=2 * self.columns)

    def start(self, seed: int) -> Tables:
        """Return small random target vectors, and source vectors of zeros."""
        shape = self.graph.num_nodes, self.columns
        target = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
        target *= 0.1 / (2 * self.columns) ** 0.5
        return np.zeros(shape, dtype=np.float32), target

    def improve(self, tables: Tables, choice: Choice, sweeps: int, course: Course) -> Tables:
        """Return better vectors: of each side in turn, given those of the other one."""
        source, target = (table.copy() for table in tables)
        matrix = self._matrix(choice["nearby_weight"])
        own = self.partition.nodes_of(self.workers.rank)
        sides = [
            (rows[own], own_vectors, others, self._penalties(rows, choice)[own])
            for rows, own_vectors, others in (
                (matrix, source, target),
                (matrix.T.tocsr(), target, source),
            )
        ]
        # Threads of the linear algebra library would take turns with those of the kernel.
        with threadpool_limits(1, "blas"):
            for _ in range(sweeps):
                started = time.perf_counter()
                for rows, vectors, others, penalties in sides:
                    gram = np.float32(choice["non_edge_weight"]) * (others.T @ others)
                    entries = rows.indptr.astype(np.int64), rows.indices, rows.data
                    mine = vectors[own]
                    improve_rows(*entries, others, gram, penalties, mine, _STEPS_PER_SOLUTION)
                    for peer, part in enumerate(self.workers.gather(mine)):
                        vectors[self.partition.nodes_of(peer)] = part
                course.step(matrix.nnz, time.perf_counter() - started)
        return source, target

    def sides(self, tables: Tables) -> Sides:
        """Return the sides of this worker's nodes; one vector for both where edges go both ways."""
        own = self.partition.nodes_of(self.workers.rank)
        source, target = (torch.from_numpy(table[own]) for table in tables)
        if self.graph.directed:
            return Sides(source, target)
        # x_u . y_v + y_u . x_v = ((x + y)_u . (x + y)_v - (x - y)_u . (x - y)_v) / 2.
        both = torch.cat([source + target, source - target], dim=1)
        signs = torch.ones(2 * self.columns)
        signs[self.columns :] = -1
        return Sides(both, both.clone(), scale=signs / 4)

    @cached_property
    def partition(self) -> Partition:
        """Which worker owns which node."""
        return Partition(self.graph.num_nodes, self.workers.count)

    def _matrix(self, nearby_weight: float) -> Any:
        """Return the weights of pairs that should score 1, float32 in rows of sources."""
        matrix = adjacency(self.graph).astype(np.float32)
        if nearby_weight:
            matrix = (matrix + np.float32(nearby_weight) * self._nearby).tocsr()
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def _nearby(self) -> Any:
        """The nodes that short walks reach, which all together weigh as much as the edges do."""
        walked, num_nodes = self.graph.undirected, self.graph.num_nodes
        own = self.partition.nodes_of(self.workers.rank).astype(np.int32)
        weights = np.empty(0, np.float32) if walked.weights is None else walked.weights
        found = nearest_by_walks(
            walked.indptr,
            walked.indices,
            weights,
            strengths(walked)[0][0],
            own,
            (self.settings.walk_steps, _CONTINUATION, _TOLERANCE, self.settings.neighbours),
        )
        sources, targets, shares = (
            np.concatenate(self.workers.gather(part)) for part in (own, *found)
        )
        kept = targets >= 0
        entries = np.repeat(sources, kept.sum(axis=1)), targets[kept]
        matrix = csr_array((shares[kept], entries), shape=(num_nodes, num_nodes))
        # A source without edges weighs as one with a single edge: walks know it by its own sources.
        (out, _), _ = strengths(self.graph)
        return (diags_array(np.maximum(out, 1).astype(np.float32)) @ matrix).tocsr()

    @staticmethod
    def _penalties(rows: Any, choice: Choice) -> Vectors:
        growth = (rows.sum(axis=1) / _REFERENCE_DEGREE) ** choice["degree_exponent"]
        penalties: Vectors = np.maximum(choice["penalty"] * growth, 1e-3).astype(np.float32)
        return penalties


def fit_order(problem: LeastSquares, seed: int, choice: Choice, course: Course) -> Tables:
    """Return the vectors for given settings."""
    problem = problem.shaped(choice)
    return problem.improve(problem.start(seed), choice, int(choice["sweeps"]), course)


def choose_order(
    problem: LeastSquares, seed: int, validation: Validation, course: Course
) -> tuple[Choice, Sides]:
    """Return the settings that rank held-out edges best, one tried after the other, and the sides.

    Fewer sweeps than it takes to converge rank better on sparse graphs: how many is chosen last,
    and what is learned from all edges must not begin where these vectors end.

    Args:
        problem: of the graph without these edges.
    """

    def measure(choice: Choice, tables: Tables) -> tuple[float, Choice, Tables]:
        return validation.mean_gain(problem.shaped(choice).sides(tables)), choice, tables

    def auc(measured: tuple[float, Choice, Tables]) -> float:
        _, choice, tables = measured
        return validation.auc(problem.shaped(choice).sides(tables))

    choice = first_choice(problem.settings)
    best = measure(choice, fit_order(problem, seed, choice, course))
    for name in TUNED:
        for value in _values(problem, name)[1:]:
            choice = {**best[1], name: float(value)}
            tried = measure(choice, fit_order(problem, seed, choice, course))
            if name == "one_vector" and auc(tried) < auc(best) - _MOST_AUC_LOST:
                continue  # directions tell too much about pairs to be given up for ranks
            best = max(best, tried, key=lambda one: one[0])
    for sweeps in problem.settings.sweeps[1:]:
        _, choice, tables = best
        more = sweeps - int(choice["sweeps"])
        tables = problem.shaped(choice).improve(tables, choice, more, course)
        longer = measure({**choice, "sweeps": sweeps}, tables)
        if longer[0] <= best[0]:
            break
        best = longer
    _, choice, tables = best
    return choice, problem.shaped(choice).sides(tables)


def _values(problem: LeastSquares, name: str) -> tuple[float, ...]:
    """Return the values of a setting to try; there is one shape of an undirected graph."""
    values: tuple[float, ...] = getattr(problem.settings, name)
    return values if problem.graph.directed or name != "one_vector" else values[:1]


def first_choice(settings: RankingSettings) -> Choice:
    """Return the first value of each setting, which counts where nothing is held out."""
    return {name: float(getattr(settings, name)[0]) for name in (*TUNED, "sweeps")}


def num_sweeps(problem: LeastSquares, *, with_trials: bool) -> int:
    """Return how many sweeps a fit of the order takes at most, those of all trials included."""
    first, last = problem.settings.sweeps[0], problem.settings.sweeps[-1]
    if not with_trials:
        return first
    trials = 1 + sum(len(_values(problem, name)) - 1 for name in TUNED)
    return trials * first + (last - first) + last
