"""Pairs streamed from walks: made round by round, shuffled, never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.kernels import walks as kernels
from arcvec.kernels.rng import draw_units
from arcvec.sampling.settings import WalkSettings

_NO_WEIGHTS = np.empty(0, dtype=np.float64)


def derive_seed(seed: int, purpose: str, *numbers: int) -> int:
    """Return a seed of its own for one purpose, so that no two of them share random numbers."""
    words = np.random.SeedSequence([seed, *purpose.encode(), *numbers]).generate_state(2, np.uint32)
    return int(words[0]) << 31 | int(words[1]) >> 1


@dataclass(frozen=True, eq=False)
class WalkPairs:
    """The pairs of a graph's walks, in rounds of bounded size.

    Walks are numbered, and a walk is decided by the seed and its number alone; number
    `walks_per_node * num_nodes` is number 0 again.
    """

    graph: Graph
    settings: WalkSettings
    seed: int

    @property
    def alternating(self) -> bool:
        """Whether walks alternate between out-edges and in-edges."""
        if self.settings.kind == "auto":
            return self.graph.directed and self.settings.first_order
        return self.settings.kind == "alternating"

    @property
    def window(self) -> int:
        """The window of the settings."""
        window = self.settings.window
        # Alternating walks are at targets at odd distances only.
        return window | 1 if self.alternating else window

    @property
    def walks_per_round(self) -> int:
        """Walks whose pairs are shuffled together."""
        pairs_per_walk = 2 * self.window * self.settings.walk_length
        return int(min(max(1, self.settings.shuffle_pairs // pairs_per_walk), self._num_walks))

    def pairs(self, first: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the pairs (sources, targets) of walks number first, first + 1, ..."""
        # Eq. 9: in a directed graph only what comes after a node in the walk is its context.
        # Alternating walks read the same in both directions.
        left = 0 if self.graph.directed and not self.alternating else self.window
        kept = self.alternating, self.settings.self_pairs
        pairs: tuple[NDArray[np.int32], NDArray[np.int32]] = kernels.window_pairs(
            self.walks(first, count), left, self.window, *kept
        )
        return pairs

    def walks(self, first: int, count: int) -> NDArray[np.int32]:
        """Return walks number first, first + 1, ...: (count, walk_length), -1 after an end."""
        first %= self._num_walks
        if first + count > self._num_walks:
            tail = self._num_walks - first
            return np.concatenate([self.walks(first, tail), self.walks(0, count - tail)])
        starts = self._starts(first, count)
        length, seed = self.settings.walk_length, derive_seed(self.seed, "walk")
        graph = self.graph
        out = (graph.indptr, graph.indices, self._cumulative(graph))
        walks: NDArray[np.int32]
        if self.alternating:
            back = graph.transposed
            into = (back.indptr, back.indices, self._cumulative(back))
            walks = kernels.alternating_walks(*out, *into, starts, length, seed, first)
        elif self.settings.first_order:
            walks = kernels.first_order_walks(*out, starts, length, seed, first)  # type: ignore[no-untyped-call]
        else:
            p, q = self.settings.p, self.settings.q
            walks = kernels.second_order_walks(*out, starts, length, p, q, seed, first)
        return walks

    @property
    def _num_walks(self) -> int:
        return self.settings.walks_per_node * self.graph.num_nodes

    def _starts(self, first: int, count: int) -> NDArray[np.int32]:
        num_nodes = self.graph.num_nodes
        if self.settings.starts == "nodes":
            passes = range(first // num_nodes, -(-(first + count) // num_nodes))
            seeds = (derive_seed(self.seed, "start", number) for number in passes)
            orders = [np.random.default_rng(seed).permutation(num_nodes) for seed in seeds]
            skipped = first % num_nodes
            return np.concatenate(orders)[skipped : skipped + count].astype(np.int32)
        cumulative = self._cumulative_strengths
        units = draw_units(derive_seed(self.seed, "start"), np.arange(first, first + count))
        found = np.searchsorted(cumulative, units * cumulative[-1], side="right")
        # Rounding may carry a draw up to the total itself.
        return np.where(found < num_nodes, found, num_nodes - 1).astype(np.int32)

    @cached_property
    def _cumulative_strengths(self) -> NDArray[np.float64]:
        graph = self.graph
        if graph.weights is None:
            return graph.indptr[1:].astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(graph.weights, dtype=np.float64)])
        strengths: NDArray[np.float64] = sums[graph.indptr[1:]]
        return strengths

    def _cumulative(self, graph: Graph) -> NDArray[np.float64]:
        """Return the running weights of a graph's rows, computed once a graph."""
        if graph.weights is None:
            return _NO_WEIGHTS
        known = self._cumulative_of
        if id(graph) not in known:
            known[id(graph)] = kernels.cumulative_weights(graph.indptr, graph.weights)
        return known[id(graph)]

    @cached_property
    def _cumulative_of(self) -> dict[int, NDArray[np.float64]]:
        return {}
