"""The second stage: vectors propose candidates, and what the graph says about them orders them.

A linear model over features of pairs, fitted on edges that neither graph nor vectors have seen.
Two questions have two heads: the order of candidates for one node (one head for each direction,
listwise softmax), and how likely a pair is among pairs of all nodes (logistic).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.evaluation.log_odds import Matrix
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.kernels.heaps import BestEdges, best_first, empty_heaps
from arcvec.recommendation.exact import EXACT, Candidates, Direction, Search, sides_of
from arcvec.storage.atomic import new_file
from arcvec.storage.headers import read_header, sealed, write_json

Features: TypeAlias = NDArray[np.float32]  # (..., len(NAMES))
Question: TypeAlias = Literal["targets", "sources", "pairs"]

NAMES = {
    "three_paths": "three paths",
    "even_three_paths": "three paths that avoid hubs",
    "pagerank": "short walks",
    "reverse_edge": "an edge back",
    "vectors": "the vectors",
    "candidate_in_degree": "edges into the candidate",
    "candidate_out_degree": "edges out of the candidate",
    "node_in_degree": "edges into the node",
    "node_out_degree": "edges out of the node",
}
"""The features in the order of their columns, and what `explain` calls them."""

COUNTS = ("three_paths", "even_three_paths", "pagerank")  # features of which the log is taken
VECTORS = list(NAMES).index("vectors")

_ROWS = 256  # nodes described at once: with 600 candidates each, 5.5 MB

FILE = "rerank.json"
FORMAT, FORMAT_VERSION = "arcvec-rerank", 1
NUM_BEST = 200
"""Candidates by the vectors, by three paths, and by short walks: as many of each by default."""


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Describes pairs of a node and a candidate by a graph and vectors of the same nodes.

    Attributes:
        graph: its rows are those of the nodes asked about; transposed if sources are recommended.
        queries, others: (num_nodes, d) vectors of these nodes and of the candidates.
    """

    graph: Graph
    queries: Scores
    others: Scores

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph, direction: Direction) -> PairFeatures:
        """Return the features of one direction; the graph has the nodes of the embeddings."""
        oriented = graph if direction == "targets" else graph.transposed
        own, other = (np.ascontiguousarray(embeddings.vectors(s)) for s in sides_of(direction))
        return cls(oriented, own, other)

    def blocks(
        self, ids: NodeIds, chosen: NDArray[np.int32], num_best: int, candidates: Candidates
    ) -> Iterator[tuple[slice, NDArray[np.int32], Features]]:
        """Yield a few hundred rows at a time, their candidates, (r, w), and features, (r, w, f).

        Args:
            chosen: (q, c) candidates of each node, -1 where there are fewer.
            num_best: as many more are added by three paths, and as many by short walks.
        """
        from arcvec.kernels import pair_features

        describe: Any = pair_features.describe_candidates
        graph, known = self.graph, candidates.known
        for start in range(0, len(ids), _ROWS):
            rows = slice(start, start + _ROWS)
            nodes = np.asarray(ids[rows])
            found = np.pad(chosen[rows], ((0, 0), (0, 2 * num_best)), constant_values=-1)
            measured = describe(
                *(kind.paths for kind in self._path_sums),
                *((graph.indptr, graph.indices), (self.queries[nodes], self.others)),
                *((known.indptr, known.indices), candidates.allowed, nodes, num_best, found),
            )
            of_nodes = np.broadcast_to(self._log_degrees[nodes][:, None], (*found.shape, 2))
            features = np.concatenate([measured, self._log_degrees[found], of_nodes], axis=2)
            yield rows, found, features

    def of_pairs(self, ids: NodeIds, others: NodeIds) -> Features:
        """Return the features of each pair ids[i], others[i]: (p, f)."""
        columns = [
            *(kind.score(ids, others) for kind in self._path_sums),
            self.graph.has_edges(others, ids),
            np.einsum("ij,ij->i", self.queries[ids], self.others[others]),
            *self._log_degrees[others].T,
            *self._log_degrees[ids].T,
        ]
        return np.stack(columns, axis=1, dtype=np.float32)

    @cached_property
    def _log_degrees(self) -> Features:
        degrees = self.graph.in_degrees, self.graph.out_degrees
        return np.log1p(np.stack(degrees, axis=1), dtype=np.float32)

    @cached_property
    def _path_sums(self) -> tuple[Any, ...]:
        # scipy and numba: commands that re-rank nothing start without them.
        from arcvec.baselines.paths import PageRank, ThreePaths, zigzag
        from arcvec.graph.matrices import inverse_power, strengths

        (out, into), _ = strengths(self.graph)
        ones = np.ones(self.graph.num_nodes)
        middle = [inverse_power(degrees, 1.0) for degrees in (into, out)]
        even = zigzag(self.graph, [ones, *middle], ones)
        return ThreePaths().fit(self.graph), even, PageRank().fit(self.graph)


@dataclass(frozen=True)
class Head:
    """A linear model of what the vectors and the graph say.

    `gain` is what the head adds to the measure of the vectors alone (`vectors`), on held-out edges
    that it was not fitted on: the mean reciprocal rank, or for pairs the AUC.
    """

    vectors: float
    gain: float
    standard_error: float
    found: float  # part of the held-out edges that are among the candidates
    features: Mapping[str, Mapping[str, float]]  # floor (of counts), mean, scale and weight of each

    @property
    def is_used(self) -> bool:
        """Whether it is better than the vectors alone beyond noise."""
        return self.gain > self.standard_error

    def column(self, number: str) -> Matrix:
        """Return one of the numbers of all features, in the order of their columns."""
        return np.array([self.features[name][number] for name in NAMES])

    def terms(self, features: Features) -> Features:
        """Return what each feature adds to the score, in the shape of `features`."""
        inputs = inputs_of(features, self.column("floor")) - self.column("mean").astype(np.float32)
        return np.asarray(inputs * self._slope)

    def score(self, features: Features) -> Scores:
        """Return the scores, in the shape of `features` without its last axis."""
        constant = np.float32(self.column("mean") @ self._slope)
        return np.asarray(inputs_of(features, self.column("floor")) @ self._slope - constant)

    @property
    def _slope(self) -> Scores:
        return (self.column("weight") / self.column("scale")).astype(np.float32)


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


def inputs_of(features: Features, floor: Matrix) -> Features:
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
        """The nodes of the embeddings."""
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
        head = self.model.head(candidates.direction)
        if head is None:
            return self._propose(ids, k, candidates)
        best, scores = empty_heaps(len(ids), k)
        for rows, chosen, found in self._described(ids, candidates, max(k, self.model.num_best)):
            values = np.where(chosen >= 0, head.score(found), np.float32(-np.inf))
            in_order = best_first(chosen, values, max(k, chosen.shape[1]))
            best[rows], scores[rows] = (part[:, :k] for part in in_order)
        return best, scores

    def terms(self, source: int, target: int) -> dict[str, float]:
        """Return what each feature adds to the score of an edge, by its name in words.

        Features that are equal for all targets of a source are left out.
        """
        head = self.model.head("targets")
        if head is None:
            return {}
        found = self._features["targets"].of_pairs(np.array([source]), np.array([target]))
        terms = zip(
            NAMES.values(), head.terms(found)[0].tolist(), head.column("weight"), strict=True
        )
        return {name: term for name, term, weight in terms if abs(weight) > 1e-9}

    def _described(
        self, ids: NodeIds, candidates: Candidates, num_best: int
    ) -> Iterator[tuple[slice, NDArray[np.int32], Features]]:
        proposed, _ = self._propose(ids, num_best, candidates)
        features = self._features[candidates.direction]
        return features.blocks(ids, proposed, num_best, candidates)

    def _propose(self, ids: NodeIds, k: int, candidates: Candidates) -> BestEdges:
        return (self.index or EXACT).best_of(self.embeddings, ids, k, candidates)

    @cached_property
    def _features(self) -> Mapping[Direction, PairFeatures]:
        directions: tuple[Direction, ...] = ("targets", "sources")
        return {one: PairFeatures.of(self.embeddings, self.graph, one) for one in directions}


def save_model(model: RerankModel, result: str | Path) -> Path:
    """Write `rerank.json` into a result folder atomically, and return its path."""
    path = Path(result) / FILE
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    values = {**header, **asdict(model)}
    for question, head in model.heads.items():
        values["heads"][question]["is_used"] = head.is_used
    with new_file(path, overwrite=True) as partial:
        write_json(partial, sealed(values))
    return path


def load_reranker(
    result: str | Path, embeddings: EdgeEmbeddings, graph: Graph, index: Search | None = None
) -> Reranker | None:
    """Return the second stage of a result on a graph of its nodes; None if it has none."""
    path = Path(result) / FILE
    if not path.is_file():
        return None
    keys = RerankModel.__dataclass_fields__
    values = read_header(path, FORMAT, [FORMAT_VERSION], keys, is_sealed=True)
    if tuple(values["vectors"]) != embeddings.fingerprints:
        raise ValueError(
            f"{path}: made for other vectors than those of the result; "
            "make it again with: arcvec rerank RESULT --graph GRAPH"
        )
    heads = {
        question: Head(**{key: head[key] for key in Head.__dataclass_fields__})
        for question, head in values["heads"].items()
    }
    model = RerankModel(heads, values["graph"], embeddings.fingerprints, values["num_best"])
    return Reranker(embeddings, graph.over(embeddings.nodes), model, index)
