"""What degrees take off scores or add to them, as much as held-out edges say it should be.

A node is in the graph because it has an edge: whether a single edge promises another one as much
as each of many edges does is not to be learned from the edges trained on. On some graphs (ca-HepTh)
it promises less, on others (wiki-vote) more; then the discount is negative.

Where edges are random but for degrees, a training finds in them what is not there, and degrees
alone may be the better score. Then they are added to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from arcvec.graph.graph import Graph
from arcvec.model.sides import Sides
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

    def of_nodes(self, graph: Graph) -> NDArray[np.float64]:
        """Return what each node adds, negative where it takes off."""
        shares, logarithms = _by_degree(graph)
        terms: NDArray[np.float64] = self.gain * logarithms - self.discount * shares
        return terms


def with_degrees(
    sides: Sides, graph: Graph, terms: DegreeTerms, nodes: NDArray[np.int64] | None = None
) -> Sides:
    """Return sides with two more columns, by which the scores of all pairs change.

    Args:
        sides: of all nodes, without a mixture.
        nodes: whose sides these are, where not all nodes have any.
    """
    of_nodes = terms.of_nodes(graph) if nodes is None else terms.of_nodes(graph)[nodes]
    change = torch.from_numpy(of_nodes).to(sides.target)[:, None]
    one = torch.ones_like(change)
    if sides.scale is None:
        return replace(
            sides,
            source=torch.cat([sides.source, change, one], dim=1),
            target=torch.cat([sides.target, one, change], dim=1),
        )
    # One vector for both ends: x + y = ((x + 1)(y + 1) - (x - 1)(y - 1)) / 2.
    return replace(
        sides,
        source=torch.cat([sides.source, change + 1, change - 1], dim=1),
        target=torch.cat([sides.target, change + 1, change - 1], dim=1),
        scale=torch.cat([sides.scale, sides.scale.new_tensor([0.5, -0.5])]),
    )


def fitting_terms(
    scores: NDArray[np.float32], seen: Graph, validation: Validation
) -> tuple[DegreeTerms, float]:
    """Return the terms that pairs ask for which nothing was trained on, and the AUC with them.

    That is a discount; where degrees alone are a better score than one with it, nothing or a gain,
    if that is better.

    Args:
        scores: of the pairs of `validation`; seen: what they were learned from.
    """
    few, many = (column[validation.pairs].sum(axis=1) for column in _by_degree(seen))
    found = DegreeTerms(discount=_share(scores, -few, validation))
    auc = validation.auc_of(scores - found.discount * few)
    if auc < validation.auc_of(many):
        gain = _share(scores, many, validation)
        for other, changed in (
            (DegreeTerms(), scores),
            (DegreeTerms(gain=gain), scores + gain * many),
        ):
            if (other_auc := validation.auc_of(changed)) > auc:
                found, auc = other, other_auc
    return found, auc


def _share(
    scores: NDArray[np.float32], column: NDArray[np.float64], validation: Validation
) -> float:
    """Return how much of a column to add to scores, so that the sum says most about edges.

    The log-odds of edges are fitted as a multiple of the sum. The multiple is free: scores of pairs
    that were not trained on are often too large, and so must the share be.

    Returns:
        0 where higher scores do not speak for edges.
    """
    columns = np.stack([scores, column, np.ones(len(column))], axis=1)
    multiple, share, _ = _log_odds(columns, validation.is_edge)
    return float(share / multiple) if multiple > 0 else 0.0


def _log_odds(columns: NDArray[np.float64], is_edge: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return what columns count in a logistic regression, all but the last one held back a little.

    Not scikit-learn's, whose import takes longer than all of this.
    """
    inputs, labels = torch.from_numpy(columns), torch.from_numpy(is_edge).double()
    counts = torch.zeros(columns.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([counts], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        misfit = F.binary_cross_entropy_with_logits(inputs @ counts, labels)
        value = misfit + counts[:-1].square().sum() / (2 * len(labels))
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return counts.detach().numpy()


def _by_degree(graph: Graph) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what part of a node's edges one edge is, and the logarithm of how many they are."""
    degrees = graph.out_degrees + (graph.in_degrees if graph.directed else 0)
    # A node without edges is as little known as one with a single edge.
    at_least_one = np.maximum(degrees, 1)
    return 1.0 / at_least_one, np.log(at_least_one)
