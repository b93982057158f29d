"""Scores as probabilities, and what they are probabilities of.

A score orders edges; it says by itself not how likely one is. Two numbers, fitted to the scores of
edges and of as many random non-edges, turn it into the logarithm of odds (Platt's way). A monotone
curve through the same scores (isotonic regression) has a log loss 1 % lower with 100,000 edges and
much higher with 500, and knows nothing beyond the highest score it has seen; so two numbers it is.

How likely an edge is depends on what it is compared with, and there are two answers:

- `even`: one edge and one random pair of nodes without an edge lie before you; how likely is the
  one with this score the edge? A half says that the score tells nothing. Good for reading, and for
  comparing graphs of different sizes.
- `density`: among all pairs of nodes with this score, which part are edges? As many pairs are taken
  to be edges as in the graph of the calibration. Sums of these are expected numbers of edges, and
  in a sparse graph most are small.

Both have the same order, and one follows from the other by the odds of an edge among all pairs.

Vectors score the edges they have learned from higher than others. Probabilities of new edges come
out right if the calibration sees edges that the training has not: those held out. On edges of the
training they come out too high: on soc-epinions by .05 on average, against .015.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.checksums import sealed
from arcvec.embeddings import EdgeEmbeddings, Scores
from arcvec.graph.blocks import EdgeArray
from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import draw_non_edges
from arcvec.recommendation.regressions import sigmoid
from arcvec.storage import new_file, read_header, write_json

logger = logging.getLogger(__name__)

Odds: TypeAlias = Literal["even", "density"]
"""What a probability is one of: see the module."""

FILE = "calibration.json"
FORMAT = "arcvec-calibration"
FORMAT_VERSION = 2
MAX_EDGES = 200_000
FEWEST_EDGES = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """Pairs whose probabilities are alike, and how many of them are edges.

    Attributes:
        low, high: the probabilities it is for, from `low` to below `high`.
        probability: mean of the probabilities in it.
        edges: the part of its pairs that are edges; the nearer to `probability`, the better.
        count: pairs in it.
    """

    low: float
    high: float
    probability: float
    edges: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities, and how well that went; made by `calibrate`.

    Attributes:
        slope, intercept: the logarithm of the even odds is slope * score + intercept.
        density: the part of all pairs of nodes that are edges.
        log_loss: mean of -log(probability of what came) on pairs the two numbers have not seen;
            0.693 if scores tell nothing.
        error: mean distance between probability and frequency, over the bins, by their counts.
        num_edges: edges among these pairs; there were as many non-edges.
        bins: `reliability` of these pairs, at even odds.
        vectors: fingerprints of the vectors that made the scores.
    """

    slope: float
    intercept: float
    density: float
    log_loss: float
    error: float
    num_edges: int
    bins: tuple[ReliabilityBin, ...]
    vectors: tuple[str, ...] = ()

    def probabilities(self, scores: Scores, odds: Odds = "even") -> Scores:
        """Return the probability of each score, from 0 to 1, in the shape of `scores`.

        >>> even = Calibration(1, 0, 0.01, 0.5, 0, 10, ())
        >>> even.probabilities(np.array([0, 2], dtype=np.float32))
        array([0.5      , 0.8807971], dtype=float32)
        >>> even.probabilities(np.array([0, 2], dtype=np.float32), "density").round(4)
        array([0.01  , 0.0695], dtype=float32)
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
        graph: what is an edge and what is not; nodes are matched by name.
        edges: (m, 2) ids in `graph` of the edges to fit to, best those that the training has not
            seen; by default all edges of the graph, of which up to 200,000 are drawn.
        seed: decides that draw, the non-edges, and which half of the pairs measures the fit.

    Raises:
        ValueError: there are too few edges or non-edges between nodes of the result.
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
    scores = embeddings.score(pairs[:, 0], pairs[:, 1])
    fitted = generator.permutation(len(pairs)) % 2 == 0
    slope, intercept = _fit(scores[fitted].astype(np.float64), is_edge[fitted])
    probabilities = sigmoid(slope * scores[~fitted].astype(np.float64) + intercept)
    came = is_edge[~fitted]
    bins = reliability(probabilities, came)
    likely = np.where(came, probabilities, 1 - probabilities).clip(1e-12)
    return Calibration(
        slope=slope,
        intercept=intercept,
        density=_density(graph),
        log_loss=float(-np.log(likely).mean()),
        error=sum(bin.count * abs(bin.probability - bin.edges) for bin in bins) / came.size,
        num_edges=int(came.sum()),
        bins=bins,
        vectors=_fingerprints(embeddings),
    )


def reliability(
    probabilities: NDArray[np.floating], is_edge: NDArray[np.bool_], num_bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return pairs in bins of equal width by probability, empty bins left out.

    >>> [bin] = reliability(np.array([0.71, 0.79]), np.array([True, False]))
    >>> round(bin.probability, 3), bin.edges, bin.count
    (0.75, 0.5, 2)

    Args:
        probabilities: (p,) from 0 to 1.
        is_edge: (p,) whether each pair is an edge.
    """
    places = np.minimum((np.asarray(probabilities) * num_bins).astype(np.int64), num_bins - 1)
    return tuple(
        ReliabilityBin(
            low=int(place) / num_bins,
            high=(int(place) + 1) / num_bins,
            probability=float(probabilities[places == place].mean()),
            edges=float(is_edge[places == place].mean()),
            count=int((places == place).sum()),
        )
        for place in np.unique(places)
    )


def save_calibration(calibration: Calibration, result: str | Path) -> Path:
    """Write `calibration.json` into a result folder, whole or not at all; return its path."""
    path = Path(result) / FILE
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    with new_file(path, overwrite=True) as partial:
        write_json(partial, sealed({**header, **asdict(calibration)}))
    return path


def load_calibration(result: str | Path, embeddings: EdgeEmbeddings) -> Calibration:
    """Return the calibration in a result folder.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it was made for other vectors.
    """
    path = Path(result) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: expected the calibration of the result; "
            "make it with: arcvec calibrate RESULT --graph GRAPH"
        )
    keys = Calibration.__dataclass_fields__
    values: dict[str, Any] = read_header(path, FORMAT, [FORMAT_VERSION], keys, is_sealed=True)
    if tuple(values["vectors"]) != _fingerprints(embeddings):
        raise ValueError(
            f"{path}: made for other vectors than those of the result; "
            "make it again with: arcvec calibrate RESULT --graph GRAPH"
        )
    bins = tuple(ReliabilityBin(**bin) for bin in values["bins"])
    fields = {key: values[key] for key in keys}
    return Calibration(**{**fields, "bins": bins, "vectors": tuple(values["vectors"])})


def _drawn_pairs(
    embeddings: EdgeEmbeddings,
    graph: Graph,
    edges: EdgeArray | None,
    generator: np.random.Generator,
) -> tuple[EdgeArray, EdgeArray]:
    """Return as many edges as non-edges, in ids of the result."""
    chosen = np.stack(graph.edges(), axis=1) if edges is None else np.asarray(edges)
    ids = _ids_in_result(embeddings, graph)
    positive = ids[chosen[chosen[:, 0] != chosen[:, 1]]]
    positive = positive[(positive >= 0).all(axis=1)]
    positive = generator.permutation(positive)[:MAX_EDGES]
    negative = ids[draw_non_edges(graph, len(positive), generator)]
    negative = negative[(negative >= 0).all(axis=1)]
    if min(len(positive), len(negative)) < FEWEST_EDGES:
        raise ValueError(
            f"expected at least {FEWEST_EDGES} edges and non-edges between nodes of the result to "
            f"calibrate with, got {len(positive)} and {len(negative)}; are nodes named alike?"
        )
    size = min(len(positive), len(negative))
    return positive[:size], negative[:size]


def _ids_in_result(embeddings: EdgeEmbeddings, graph: Graph) -> NDArray[np.int32]:
    """Return the id in the result of every node of the graph, -1 for none."""
    if np.array_equal(graph.nodes.text, embeddings.nodes.text):
        return np.arange(graph.num_nodes, dtype=np.int32)
    new_id = {name: i for i, name in enumerate(embeddings.nodes)}
    return np.array([new_id.get(name, -1) for name in graph.nodes], dtype=np.int32)


def _fit(scores: NDArray[np.float64], is_edge: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of the logarithm of odds."""
    from scipy.optimize import minimize

    # As if each side had one pair more that is the other: finite, where all edges score higher.
    counts = np.bincount(is_edge, minlength=2)
    labels = np.where(is_edge, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
    middle, spread = scores.mean(), scores.std() or 1.0
    standard = (scores - middle) / spread

    def loss(numbers: Sequence[float]) -> tuple[float, NDArray[np.float64]]:
        logits = numbers[0] * standard + numbers[1]
        missed = sigmoid(logits) - labels
        value = np.logaddexp(0, logits) - labels * logits
        return value.mean(), np.array([(missed * standard).mean(), missed.mean()])

    slope, intercept = minimize(loss, [1.0, 0.0], jac=True, method="BFGS").x
    return float(slope / spread), float(intercept - slope * middle / spread)


def _density(graph: Graph) -> float:
    num_pairs = graph.num_nodes * (graph.num_nodes - 1) // (1 if graph.directed else 2)
    return (graph.num_edges - graph.num_self_loops) / max(1, num_pairs)


def _fingerprints(embeddings: EdgeEmbeddings) -> tuple[str, ...]:
    return embeddings.fingerprint("source"), embeddings.fingerprint("target")
