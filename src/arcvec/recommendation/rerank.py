"""The second stage: vectors propose candidates, and what the graph says about them orders them.

A linear model over the features of `recommendation.features`, fitted on edges that neither graph
nor vectors have seen. Two questions have two heads: the order of candidates for one node (one head
for each direction, listwise softmax), and how likely a pair is among pairs of all nodes (logistic).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.heaps import BestEdges
from arcvec.recommendation.exact import Candidates, Direction, Search, best_of
from arcvec.recommendation.features import COUNTS, NAMES, VECTORS, Features, PairFeatures
from arcvec.storage.atomic import new_file
from arcvec.storage.headers import read_header, sealed, write_json

logger = logging.getLogger(__name__)

Matrix: TypeAlias = NDArray[np.float64]
Question: TypeAlias = Literal["targets", "sources", "pairs"]

FILE = "rerank.json"
FORMAT, FORMAT_VERSION = "arcvec-rerank", 1
NUM_BEST = 200
"""Candidates by the vectors, by three paths, and by short walks: as many of each by default."""


@dataclass(frozen=True)
class Head:
    """A linear model: for each feature its floor (of counts), mean, scale and weight.

    `gain` is what the head adds to the measure of the vectors alone (`vectors`), on held-out edges
    that it was not fitted on: the mean reciprocal rank, or for pairs the AUC.
    """

    floor: tuple[float, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    vectors: float
    gain: float
    standard_error: float
    found: float  # part of the held-out edges that are among the candidates

    @property
    def is_used(self) -> bool:
        """Whether it is better than the vectors alone beyond noise."""
        return self.gain > self.standard_error

    def terms(self, features: Features) -> Features:
        """Return what each feature adds to the score, in the shape of `features`."""
        inputs = inputs_of(features, self.floor) - np.array(self.mean, dtype=np.float32)
        return np.asarray(inputs * self._slope)

    def score(self, features: Features) -> Scores:
        """Return the scores, in the shape of `features` without its last axis."""
        constant = np.float32(np.dot(self.mean, self._slope))
        return np.asarray(inputs_of(features, self.floor) @ self._slope - constant)

    @property
    def _slope(self) -> Scores:
        slope: Scores = (np.array(self.weight) / np.array(self.scale)).astype(np.float32)
        return slope


@dataclass(frozen=True)
class RerankModel:
    """The heads by question, of a graph and of vectors that their fingerprints name."""

    heads: Mapping[Question, Head]
    graph: str
    vectors: tuple[str, str]
    num_best: int = NUM_BEST

    def head(self, question: Question) -> Head | None:
        """Return the head for a question; None if the vectors alone are as good."""
        head = self.heads.get(question)
        return head if head is not None and head.is_used else None


def inputs_of(features: Features, floor: Sequence[float]) -> Features:
    """Return the features with the logarithm of counts, none below its floor."""
    inputs = features.astype(np.float32)
    for i, name in enumerate(NAMES):
        if name in COUNTS:
            inputs[..., i] = np.log(inputs[..., i] + np.float32(floor[i]))
    return inputs


@dataclass(frozen=True, eq=False)
class Reranker(EdgeScorer):
    """Both stages: recommends as an index of `recommend` does, and scores as two questions ask.

    `score` answers how likely pairs are; `score_all_targets` orders the targets of one source:
    candidates first, then all others as the vectors order them.

    Attributes:
        graph: of the known edges, over the nodes of the embeddings.
        index: how the vectors propose candidates; by default by all products.
    """

    embeddings: EdgeEmbeddings
    graph: Graph
    model: RerankModel
    index: Search | None = None

    @property
    def nodes(self) -> NodeNames:  # type: ignore[override]
        """Those of the embeddings."""
        return self.embeddings.nodes

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the vectors were made."""
        return self.embeddings.settings

    def score(self, sources: NodeIds, targets: NodeIds) -> Scores:
        """Return how likely each edge sources[i] -> targets[i] is, in the order of log odds."""
        head = self.model.head("pairs")
        if head is None:
            return self.embeddings.score(sources, targets)
        return head.score(self._features["targets"].of_pairs(sources, targets))

    def score_all_targets(self, sources: NodeIds) -> Scores:
        """Return scores of every source against every node, in the order of recommendations."""
        scores = self.embeddings.score_all_targets(sources)
        head = self.model.head("targets")
        if head is None:
            return scores
        candidates = Candidates.of(self.nodes, "targets", exclude=self.graph)
        everyone = np.arange(len(sources))
        own = scores[everyone, sources]
        # Others are below every candidate: from -1 to 0 below the lowest of them.
        scores = np.asarray(1 / (1 + np.exp(-scores.clip(-80, 80))) - 1)
        for rows, chosen, found in self._described(sources, candidates, self.model.num_best):
            is_there = chosen >= 0
            values = np.where(is_there, head.score(found), np.float32(np.inf))
            values -= np.minimum(values.min(axis=1, keepdims=True), np.float32(1e30))
            row, column = np.nonzero(is_there)
            scores[rows][row, chosen[row, column]] = values[row, column]
            # An edge to the node itself is never recommended; if asked about, it keeps its place.
            num_above = (is_there & (found[..., VECTORS] > own[rows, None])).sum(axis=1)
            ordered = -np.sort(-np.where(is_there, values, np.float32(-1)), axis=1)
            above = np.pad(ordered, ((0, 0), (1, 0)), constant_values=np.inf)
            places = np.minimum(num_above, above.shape[1] - 1)
            scores[everyone[rows], sources[rows]] = above[np.arange(len(places)), places]
        return scores

    def best_of(
        self, embeddings: EdgeEmbeddings, ids: NodeIds, k: int, candidates: Candidates
    ) -> BestEdges:
        """Return the k best candidates of each node and their scores, best first."""
        head = self.model.head(candidates.direction)
        if head is None:
            return self._propose(ids, k, candidates)
        best = np.full((len(ids), k), -1, dtype=np.int32)
        scores = np.full((len(ids), k), -np.inf, dtype=np.float32)
        for rows, chosen, found in self._described(ids, candidates, max(k, self.model.num_best)):
            values = np.where(chosen >= 0, head.score(found), np.float32(-np.inf))
            order = np.lexsort((chosen, -values))[:, :k]
            kept = order.shape[1]
            best[rows, :kept] = np.take_along_axis(chosen, order, axis=1)
            scores[rows, :kept] = np.take_along_axis(values, order, axis=1)
        return best, scores

    def terms(self, source: int, target: int) -> dict[str, float]:
        """Return what each feature adds to the score of an edge, by its name in words.

        Features that are equal for all targets of a source are left out.
        """
        head = self.model.head("targets")
        if head is None:
            return {}
        found = self._features["targets"].of_pairs(np.array([source]), np.array([target]))
        terms = zip(NAMES.values(), head.terms(found)[0].tolist(), head.weight, strict=True)
        return {name: term for name, term, weight in terms if abs(weight) > 1e-9}

    def _described(
        self, ids: NodeIds, candidates: Candidates, num_best: int
    ) -> Iterator[tuple[slice, NDArray[np.int32], Features]]:
        proposed, _ = self._propose(ids, num_best, candidates)
        features = self._features[candidates.direction]
        return features.blocks(ids, proposed, num_best, candidates)

    def _propose(self, ids: NodeIds, k: int, candidates: Candidates) -> BestEdges:
        find = best_of if self.index is None else self.index.best_of
        return find(self.embeddings, ids, k, candidates)

    @cached_property
    def _features(self) -> Mapping[Direction, PairFeatures]:
        return _BothDirections(self.embeddings, self.graph)


class _BothDirections(dict[Direction, PairFeatures]):
    """The features of each direction, made when first used."""

    def __init__(self, embeddings: EdgeEmbeddings, graph: Graph) -> None:
        super().__init__()
        self._made_of = embeddings, graph

    def __missing__(self, direction: Direction) -> PairFeatures:
        self[direction] = PairFeatures.of(*self._made_of, direction)
        return self[direction]


def save_model(model: RerankModel, result: str | Path) -> Path:
    """Write `rerank.json` into a result folder atomically, and return its path."""
    path = Path(result) / FILE
    heads = {question: _as_json(head) for question, head in model.heads.items()}
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    with new_file(path, overwrite=True) as partial:
        write_json(partial, sealed({**header, **asdict(model), "heads": heads}))
    return path


def load_reranker(
    result: str | Path,
    embeddings: EdgeEmbeddings,
    graph: Graph,
    index: Search | None = None,
) -> Reranker | None:
    """Return the second stage of a result on a graph of its nodes; None if it has none."""
    path = Path(result) / FILE
    if not path.is_file():
        return None
    keys = RerankModel.__dataclass_fields__
    values = read_header(path, FORMAT, [FORMAT_VERSION], keys, is_sealed=True)
    prints = embeddings.fingerprint("source"), embeddings.fingerprint("target")
    if tuple(values["vectors"]) != prints:
        raise ValueError(
            f"{path}: made for other vectors than those of the result; "
            "make it again with: arcvec rerank RESULT --graph GRAPH"
        )
    heads = {question: _from_json(head) for question, head in values["heads"].items()}
    model = RerankModel(heads, values["graph"], prints, values["num_best"])
    return Reranker(embeddings, graph.over(embeddings.nodes), model, index)


_COLUMNS = ("floor", "mean", "scale", "weight")


def _as_json(head: Head) -> dict[str, Any]:
    """Return a head with its numbers by feature."""
    values = asdict(head)
    columns: Sequence[tuple[float, ...]] = [values.pop(name) for name in _COLUMNS]
    rows = zip(NAMES, zip(*columns, strict=True), strict=True)
    features = {name: dict(zip(_COLUMNS, row, strict=True)) for name, row in rows}
    return {"is_used": head.is_used, **values, "features": features}


def _from_json(values: dict[str, Any]) -> Head:
    features = [values["features"][name] for name in NAMES]
    columns: dict[str, Any] = {
        name: tuple(feature[name] for feature in features) for name in _COLUMNS
    }
    gain = {name: values[name] for name in ("vectors", "gain", "standard_error", "found")}
    return Head(**columns, **gain)
