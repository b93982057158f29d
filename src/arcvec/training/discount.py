"""A discount on the scores of nodes with few edges, as large as held-out edges say it should be.

A node is in the graph because it has an edge: whether a single edge promises another one as much
as each of many edges does is not to be learned from the edges trained on. On some graphs (ca-HepTh)
it promises less, on others (wiki-vote) more; then the discount is negative.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from arcvec.graph.graph import Graph
from arcvec.model.sides import Sides
from arcvec.training.validation import Validation


def discounted(
    sides: Sides, graph: Graph, discount: float, nodes: NDArray[np.int64] | None = None
) -> Sides:
    """Return sides with two more columns, by which the scores of all pairs fall.

    Args:
        sides: of all nodes, without a mixture.
        discount: what the score of a pair loses for an end with one edge; with k edges, a k-th.
        nodes: whose sides these are, where not all nodes have any.
    """
    shares = _shares(graph) if nodes is None else _shares(graph)[nodes]
    change = torch.from_numpy(-discount * shares).to(sides.target)[:, None]
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


def fitting_discount(scores: NDArray[np.float32], seen: Graph, validation: Validation) -> float:
    """Return the discount that pairs ask for which nothing was trained on.

    Their log-odds are fitted as a multiple of the score less the discount. The multiple is free:
    scores of pairs that were not trained on are often too large, and so must the discount be.

    Args:
        scores: of the pairs of `validation`; seen: what they were learned from.

    Returns:
        0 where higher scores do not speak for edges.
    """
    few = _shares(seen)[validation.pairs].sum(axis=1)
    columns = np.stack([scores, -few, np.ones(len(few))], axis=1)
    multiple, discount, _ = _log_odds(columns, validation.is_edge)
    return float(discount / multiple) if multiple > 0 else 0.0


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


def _shares(graph: Graph) -> NDArray[np.float64]:
    """Return what part of a node's edges one edge is."""
    degrees = graph.out_degrees + (graph.in_degrees if graph.directed else 0)
    # A node without edges is as little known as one with a single edge.
    shares: NDArray[np.float64] = 1.0 / np.maximum(degrees, 1)
    return shares
