"""Validation on held-out training edges: test edges are never looked at."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arcvec.graph.blocks import EdgeArray
from arcvec.graph.components import components
from arcvec.graph.graph import Graph
from arcvec.graph.held_out import shuffled_places
from arcvec.graph.non_edges import draw_non_edges, turned_round
from arcvec.graph.split import cut_edges, draw_negatives
from arcvec.kernels.curves import roc_auc
from arcvec.model.sides import Sides
from arcvec.training.settings import TrainSettings

logger = logging.getLogger(__name__)

_FEWEST_EDGES = 20
_LARGEST_PART = 0.2
# Millions of held-out edges would tell no more than these, and take longer than the training.
_MOST_HELD_OUT = 200_000
_MOST_WATCHED = 500_000
# Up to here negatives are drawn as in a split, those of train too: a seed gives what it always did.
_DRAWN_AS_A_SPLIT = 4_000_000


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
        """Return the ROC-AUC of the scores of sides."""
        return self.auc_of(self.scores(sides).cpu().numpy())

    def auc_of(self, scores: NDArray[np.floating]) -> float:
        """Return the ROC-AUC of one score for each pair."""
        return roc_auc(scores[self.is_edge], scores[~self.is_edge])

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
        fraction = min(max(fraction, wanted), _MOST_HELD_OUT / graph.num_edges)
    return hold_out(graph, fraction, seed)


def _against_train(graph: Graph, seed: int) -> Validation:
    """Return the training edges themselves and as many non-edges, as the paper selects models.

    Of a large graph, a sample of them.
    """
    edges = np.stack(graph.edges(), axis=1)
    if len(edges) > _MOST_WATCHED:
        edges = np.random.default_rng(seed).choice(edges, _MOST_WATCHED, replace=False)
    negatives = draw_non_edges(graph, len(edges), np.random.default_rng([seed, len(edges)]))
    return _validation(edges, negatives, graph.directed)


def hold_out(graph: Graph, fraction: float, seed: int) -> tuple[Graph, Validation | None]:
    """Return the graph without some of its edges, and these edges; the graph stays connected.

    Returns:
        the graph itself and None where nothing is asked for, or too few edges could be spared.
    """
    if not fraction or min(_num_spare(graph), fraction * graph.num_edges) < _FEWEST_EDGES:
        if fraction:
            logger.info("too few edges to hold some out: training runs all its steps")
        return graph, None
    seen, edges, _ = cut_edges(graph, fraction, 0.0, seed)
    sizes = [len(edges)]
    if graph.num_edges <= _DRAWN_AS_A_SPLIT:
        sizes = [seen.num_edges, *sizes]
    negatives = draw_negatives(graph, sizes, seed)[-1]
    if graph.directed:
        negatives = np.concatenate([negatives, _turned_round(graph, seen, seed)])
    return seen, _validation(edges, negatives, graph.directed)


def _num_spare(graph: Graph) -> int:
    """Return how many edges can be held out of a connected graph, or how many at least."""
    spare = graph.num_edges - graph.num_nodes
    if spare >= _FEWEST_EDGES:
        return spare  # each component adds one: enough without counting them
    return spare + int(components(graph).max(initial=-1)) + 1


def _turned_round(graph: Graph, seen: Graph, seed: int) -> EdgeArray:
    """Return reversed one-way edges, as many of held-out edges as of training edges.

    The protocol takes all there are, which for a small held-out part would nearly all be reverses
    of training edges: an AUC of what was learned by heart.
    """
    is_returned, trained_on = graph.is_returned, graph.shares_entries(seen)
    held_out = np.flatnonzero(~(is_returned | trained_on))
    is_trained = ~is_returned & trained_on
    generator = np.random.default_rng([seed, held_out.size + int(is_trained.sum())])
    chosen = shuffled_places(is_trained, generator)[: held_out.size]
    return turned_round(graph, np.concatenate([held_out, chosen.astype(np.int64)]))


def _validation(edges: EdgeArray, negatives: EdgeArray, directed: bool) -> Validation:
    pairs = np.concatenate([edges, negatives])
    return Validation(pairs, np.arange(len(pairs)) < len(edges), directed)
