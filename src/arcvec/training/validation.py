"""Validation on held-out training edges: test edges are never looked at."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arcvec.graph.components import components
from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import EdgeArray, draw_non_edges, reversed_one_way_edges
from arcvec.graph.split import Split, split_edges
from arcvec.model.sides import Sides
from arcvec.training.settings import TrainSettings

logger = logging.getLogger(__name__)

_FEWEST_EDGES = 20
_LARGEST_PART = 0.2


@dataclass(frozen=True, eq=False)
class Validation:
    """Edges held out of the training graph, and non-edges of it.

    Attributes:
        pairs: (p, 2) edges first, then non-edges; among these, on a directed graph, the reversed
            one-way edges.
        is_edge: (p,) bool.
    """

    pairs: NDArray[np.int32]
    is_edge: NDArray[np.bool_]
    directed: bool

    def auc(self, sides: Sides) -> float:
        """Return the ROC-AUC of the scores."""
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.is_edge, self.scores(sides).cpu().numpy()))

    def scores(self, sides: Sides) -> Tensor:
        """Return the score of every pair: the mean of both directions, if undirected."""
        tails, heads = torch.from_numpy(self.pairs.astype(np.int64)).to(sides.source.device).T
        scores = sides.pair_scores(tails, heads)
        if not self.directed:
            scores = (scores + sides.pair_scores(heads, tails)) / 2
        return scores


def choose_validation(
    graph: Graph, settings: TrainSettings, seed: int
) -> tuple[Graph, Validation | None]:
    """Return the graph to train on, and what to watch the AUC on."""
    if settings.selection == "train":
        return graph, _against_train(graph, seed)
    fraction = settings.validation_fraction
    if fraction and graph.num_edges:
        wanted = min(_LARGEST_PART, settings.validation_edges / graph.num_edges)
        fraction = max(fraction, wanted)
    return hold_out(graph, fraction, seed)


def _against_train(graph: Graph, seed: int) -> Validation:
    """Return the training edges themselves and as many non-edges, as the paper selects models."""
    edges = np.stack(graph.edges(), axis=1)
    negatives = draw_non_edges(graph, len(edges), np.random.default_rng([seed, len(edges)]))
    return _validation(edges, negatives, graph.directed)


def hold_out(graph: Graph, fraction: float, seed: int) -> tuple[Graph, Validation | None]:
    """Return the graph without some of its edges, and these edges; the graph stays connected.

    Returns:
        the graph itself and None where nothing is asked for, or too few edges could be spared.
    """
    spare = graph.num_edges - graph.num_nodes + int(components(graph).max(initial=-1)) + 1
    if not fraction or min(spare, fraction * graph.num_edges) < _FEWEST_EDGES:
        if fraction:
            logger.info("too few edges to hold some out: training runs all its steps")
        return graph, None
    split = split_edges(graph, test_fraction=fraction, seed=seed)
    negatives = split.test_negatives
    if graph.directed:
        negatives = np.concatenate([negatives, _turned_round(graph, split, seed)])
    return split.train, _validation(split.test, negatives, graph.directed)


def _turned_round(graph: Graph, split: Split, seed: int) -> EdgeArray:
    """Return reversed one-way edges, as many of held-out edges as of training edges.

    The protocol takes all there are, which for a small held-out part would nearly all be reverses
    of training edges: an AUC of what was learned by heart.
    """
    turned = reversed_one_way_edges(graph)
    was_held_out = ~split.train.has_edges(turned[:, 1], turned[:, 0])
    held_out, trained = turned[was_held_out], turned[~was_held_out]
    chosen = np.random.default_rng([seed, len(turned)]).permutation(len(trained))
    return np.concatenate([held_out, trained[chosen[: len(held_out)]]])


def _validation(edges: EdgeArray, negatives: EdgeArray, directed: bool) -> Validation:
    pairs = np.concatenate([edges, negatives])
    return Validation(pairs, np.arange(len(pairs)) < len(edges), directed)
