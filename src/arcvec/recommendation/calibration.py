"""Scores as probabilities, by Platt scaling.

A score ranks edges; it is not a probability. A logistic regression on the scores of edges and of as
many random non-edges turns it into log odds, of which there are two:

- `even`: given one edge and one random non-edge, how likely is the one with this score the edge?
- `density`: which fraction of all pairs of nodes with this score are edges?
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores
from arcvec.evaluation.log_odds import fit_log_odds, sigmoid
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.graph.non_edges import draw_non_edges
from arcvec.storage.atomic import new_file
from arcvec.storage.headers import read_header, sealed, write_json

logger = logging.getLogger(__name__)

Odds: TypeAlias = Literal["even", "density"]
"""What a probability refers to: see the module."""

FILE = "calibration.json"
FORMAT, FORMAT_VERSION = "arcvec-calibration", 2
MIN_EDGES, MAX_EDGES = 10, 200_000


@dataclass(frozen=True)
class ReliabilityBin:
    """Pairs with probabilities from `low` to below `high`: mean, and fraction of edges."""

    low: float
    high: float
    probability: float
    edges: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities, and how well that went; made by `calibrate`."""

    slope: float  # the log of the even odds is slope * score + intercept
    intercept: float
    density: float  # fraction of all pairs of nodes that are edges
    log_loss: float  # on pairs left out of the fit; 0.693 if scores say nothing
    error: float  # mean distance of probability and frequency over the bins, weighted by count
    num_edges: int  # among the pairs left out, about half of them
    bins: tuple[ReliabilityBin, ...]
    vectors: tuple[str, ...] = ()  # fingerprints of the vectors that made the scores

    def probabilities(self, scores: Scores, odds: Odds = "even") -> Scores:
        """Return the probability of each score, from 0 to 1, in the shape of `scores`.

        >>> even = Calibration(1, 0, 0.01, 0.5, 0, 10, ())
        >>> even.probabilities(np.array([0, 2], dtype=np.float32))
        array([0.5      , 0.8807971], dtype=float32)
        """
        if odds not in ("even", "density"):
            raise ValueError(f'expected odds "even" or "density", got {odds!r}')
        logits = self.slope * np.asarray(scores, dtype=np.float64) + self.intercept
        if odds == "density":
            logits += np.log(self.density) - np.log1p(-self.density)
        return sigmoid(logits).astype(np.float32)


def calibrate(
    embeddings: EdgeEmbeddings, graph: Graph, edges: EdgeArray | None = None, *, seed: int = 0
) -> Calibration:
    """Return how the scores of a result become probabilities.

    Args:
        graph: which pairs are edges; nodes are matched by name.
        edges: (m, 2) ids in `graph` of the edges to fit, preferably not seen in training; by
            default all edges of the graph, of which up to 200,000 are drawn.
    """
    if edges is None and embeddings.learned_from(graph):
        logger.info(
            "the vectors have learned from these very edges: probabilities of new edges will come "
            "out too high; held-out edges make them right"
        )
    generator = np.random.default_rng(seed)
    positive, negative = _drawn_pairs(embeddings, graph, edges, generator)
    pairs = np.concatenate([positive, negative])
    is_edge = np.arange(len(pairs)) < len(positive)
    scores = embeddings.score(pairs[:, 0], pairs[:, 1]).astype(np.float64)
    fitted = generator.permutation(len(pairs)) % 2 == 0
    slope, intercept = _fit(scores[fitted], is_edge[fitted])
    probabilities, measured = sigmoid(slope * scores[~fitted] + intercept), is_edge[~fitted]
    bins = reliability(probabilities, measured)
    likelihoods = np.where(measured, probabilities, 1 - probabilities).clip(1e-12)
    num_pairs = graph.num_nodes * (graph.num_nodes - 1) // (1 if graph.directed else 2)
    return Calibration(
        slope=slope,
        intercept=intercept,
        density=(graph.num_edges - graph.num_self_loops) / max(1, num_pairs),
        log_loss=float(-np.log(likelihoods).mean()),
        error=sum(bin.count * abs(bin.probability - bin.edges) for bin in bins) / measured.size,
        num_edges=int(measured.sum()),
        bins=bins,
        vectors=embeddings.fingerprints,
    )


def reliability(
    probabilities: NDArray[np.floating], is_edge: NDArray[np.bool_], num_bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return pairs in bins of equal width by probability, without empty bins."""
    bins = np.minimum((np.asarray(probabilities) * num_bins).astype(np.int64), num_bins - 1)
    return tuple(
        ReliabilityBin(
            low=i / num_bins,
            high=(i + 1) / num_bins,
            probability=float(probabilities[bins == i].mean()),
            edges=float(is_edge[bins == i].mean()),
            count=int((bins == i).sum()),
        )
        for i in np.unique(bins).tolist()
    )


def save_calibration(calibration: Calibration, result: str | Path) -> Path:
    """Write `calibration.json` into a result folder atomically, and return its path."""
    path = Path(result) / FILE
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    with new_file(path, overwrite=True) as partial:
        write_json(partial, sealed({**header, **asdict(calibration)}))
    return path


def load_calibration(result: str | Path, embeddings: EdgeEmbeddings) -> Calibration:
    """Return the calibration in a result folder; it must have been made for these vectors."""
    path = Path(result) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: expected the calibration of the result; "
            "make it with: arcvec calibrate RESULT --graph GRAPH"
        )
    keys = Calibration.__dataclass_fields__
    values = read_header(path, FORMAT, [FORMAT_VERSION], keys, is_sealed=True)
    if tuple(values["vectors"]) != embeddings.fingerprints:
        raise ValueError(
            f"{path}: made for other vectors than those of the result; "
            "make it again with: arcvec calibrate RESULT --graph GRAPH"
        )
    bins = tuple(ReliabilityBin(**bin) for bin in values["bins"])
    fields = {key: values[key] for key in keys}
    return Calibration(**fields | {"bins": bins, "vectors": embeddings.fingerprints})


def _drawn_pairs(
    embeddings: EdgeEmbeddings,
    graph: Graph,
    edges: EdgeArray | None,
    generator: np.random.Generator,
) -> tuple[EdgeArray, EdgeArray]:
    """Return as many edges as non-edges, in ids of the result."""
    chosen = np.stack(graph.edges(), axis=1) if edges is None else np.asarray(edges)
    ids = np.arange(graph.num_nodes, dtype=np.int32)
    if not np.array_equal(graph.nodes.text, embeddings.nodes.text):
        ids = embeddings.nodes.find(graph.nodes).astype(np.int32)
    positive = ids[chosen[chosen[:, 0] != chosen[:, 1]]]
    positive = generator.permutation(positive[(positive >= 0).all(axis=1)])[:MAX_EDGES]
    negative = ids[draw_non_edges(graph, len(positive), generator)]
    negative = negative[(negative >= 0).all(axis=1)]
    size = min(len(positive), len(negative))
    if size < MIN_EDGES:
        raise ValueError(
            f"expected at least {MIN_EDGES} edges and non-edges between nodes of the result to "
            f"calibrate with, got {len(positive)} and {len(negative)}; are nodes named alike?"
        )
    return positive[:size], negative[:size]


def _fit(scores: NDArray[np.float64], is_edge: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of the log odds."""
    # Platt's labels: one more pair of the other kind on each side keeps the slope finite.
    counts = np.bincount(is_edge, minlength=2)
    labels = np.where(is_edge, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
    mean, spread = scores.mean(), scores.std() or 1.0
    inputs = np.stack([(scores - mean) / spread, np.ones(len(scores))], axis=1)
    weak_prior = 1e-6 * np.eye(2)  # solvable if all scores are equal
    slope, intercept = fit_log_odds(inputs, labels, np.ones(len(scores)), np.zeros(2), weak_prior)
    return float(slope / spread), float(intercept - slope * mean / spread)
