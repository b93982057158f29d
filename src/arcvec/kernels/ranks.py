"""Ranks of given targets among all nodes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def rank_targets(scores, sources, first_target, targets, known_indptr, known_indices):
    """Return the rank of each target among the candidates of its source, 1 for the best.

    Candidates are all nodes but the source itself, what it is known to be linked to, and its
    other targets here. Equal scores share the mean of their ranks; a score of NaN has rank NaN.

    Args:
        scores: (s, n) float32, each source against every node; overwritten.
        sources: (s,) ids.
        first_target: (s + 1,) where in `targets` those of each source start.
        targets: (t,) ids.
        known_indptr, known_indices: CSR of the edges to filter.

    Returns:
        (t,) float64.
    """
    ranks = np.empty(targets.size, dtype=np.float64)
    for i in prange(sources.size):
        source, row = sources[i], scores[i]
        asked = targets[first_target[i] : first_target[i + 1]]
        own_scores = row[asked]
        # NaN compares false with everything, so masked nodes are counted nowhere.
        row[source] = np.nan
        row[asked] = np.nan
        row[known_indices[known_indptr[source] : known_indptr[source + 1]]] = np.nan
        for j in range(asked.size):
            own = own_scores[j]
            greater, equal = np.int32(0), np.int32(0)
            for node in range(row.size):
                greater += np.int32(row[node] > own)
                equal += np.int32(row[node] == own)
            ranks[first_target[i] + j] = np.nan if np.isnan(own) else 1 + greater + equal / 2
    return ranks
