"""What degrees add to scores, as much as held-out edges say it should be.

What a source adds to all of its pairs alike changes no order within it.

A node is in the graph because it has an edge. The edges trained on do not tell whether a single
edge promises another one as much as each of many edges does; held-out edges do. Where edges are
random but for degrees, they also tell that degrees alone are the better score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.log_odds import fit_log_odds
from arcvec.graph.graph import Graph
from arcvec.training.validation import Validation


@dataclass(frozen=True)
class DegreeTerms:
    """What is added to the score of a pair for each of its ends.

    Attributes:
        discount: what an end with one edge takes off; with k edges, a k-th.
        gain: what an end adds for each e-fold of its edges.
    """

    discount: float = 0.0
    gain: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.discount or self.gain)

    def of_nodes(self, graph: Graph) -> NDArray[np.float32]:
        """Return what each node adds, negative where it takes off."""
        shares, logarithms = _by_degree(graph)
        return (self.gain * logarithms - self.discount * shares).astype(np.float32)


@dataclass(frozen=True)
class SourceLevel:
    """What is added to all pairs of a source, by polynomials of its degrees.

    Sources with many edges have more to come; popular nodes that link to few link back to few.
    """

    coefficients: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def of_nodes(self, graph: Graph) -> NDArray[np.float32]:
        """Return what each node adds as a source."""
        return (_level_columns(graph) @ self.coefficients).astype(np.float32)


def fit_level(
    scores: NDArray[np.float32], seen: Graph, validation: Validation
) -> tuple[SourceLevel, float]:
    """Return the level that says most about held-out pairs, and the AUC with it."""
    levels = _level_columns(seen)[validation.pairs[:, 0]]
    columns = np.column_stack([scores, levels, np.ones(len(levels))])
    multiple, *coefficients, _ = _log_odds(columns, validation.is_edge)
    if multiple <= 0:
        return SourceLevel(), validation.auc_of(scores)
    level = SourceLevel(tuple(float(value / multiple) for value in coefficients))
    return level, validation.auc_of(scores + levels @ level.coefficients)


def _level_columns(graph: Graph) -> NDArray[np.float64]:
    """Return products of up to two logarithms of out-degree and in-degree: (num_nodes, 5)."""
    out, into = (np.log(degrees + 0.5) for degrees in (graph.out_degrees, graph.in_degrees))
    return np.column_stack([out, into, out * out, into * into, out * into])


def fit_terms(
    scores: NDArray[np.float32], seen: Graph, validation: Validation
) -> tuple[DegreeTerms, float]:
    """Return the terms that say most about held-out pairs, and the AUC with them.

    The log-odds of an edge are fitted as a multiple of score - discount * few + gain * many. The
    multiple is free: scores of pairs that were not trained on are often too large.
    """
    few, many = (column[validation.pairs].sum(axis=1) for column in _by_degree(seen))
    columns = np.stack([scores, -few, many, np.ones(len(few))], axis=1)
    multiple, discount, gain, _ = _log_odds(columns, validation.is_edge)
    if multiple <= 0:
        return DegreeTerms(), validation.auc_of(scores)
    terms = DegreeTerms(float(discount / multiple), float(gain / multiple))
    return terms, validation.auc_of(scores - terms.discount * few + terms.gain * many)


def _log_odds(columns: NDArray[np.float64], is_edge: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression; the last one, a level, is free."""
    precision = np.eye(columns.shape[1])
    precision[-1, -1] = 0.0
    equal, nothing = np.ones(len(columns)), np.zeros(len(precision))
    return fit_log_odds(columns, is_edge, equal, nothing, precision)


def _by_degree(graph: Graph) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what part of a node's edges one edge is, and the logarithm of how many they are."""
    degrees = graph.out_degrees + (graph.in_degrees if graph.directed else 0)
    # A node without edges is as little known as one with a single edge.
    at_least_one = np.maximum(degrees, 1)
    return 1.0 / at_least_one, np.log(at_least_one)
