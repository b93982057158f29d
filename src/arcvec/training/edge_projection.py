"""arcvec's own method: projections of a shared network, trained on the graph likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from arcvec.embeddings import EdgeEmbeddings, ProjectionMixture, result_header
from arcvec.graph.graph import Graph
from arcvec.method import Method, describe_fit
from arcvec.model.settings import ModelSettings
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.shared import shared_folder, write_shared_rows
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.storage.headers import write_json
from arcvec.training.settings import RankingSettings, TrainSettings
from arcvec.training.warm_start import WarmStart

if TYPE_CHECKING:
    from arcvec.training.average import Vectors
    from arcvec.training.fit import Fit, Learned
    from arcvec.training.hooks import Hooks
    from arcvec.training.ranking import Ranked

# Members, and from which dim on: docs/choices.md has what they gain.
_MEMBERS, _MIN_DIM_FOR_MEMBERS = 4, 64
# Numbers in a vector of one of several members.
_SHORTEST, _LONGEST = 16, 32
# Of the numbers of a ranking, the part of the likelihood that is added to it, and the most of it.
_LIKELIHOOD_PART, _LIKELIHOOD_DIM = 8, 16


class TrainedMethod(Method):
    """What all models on the graph likelihood share: their settings, and the training."""

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, lt=1 << 63, description="decides every random choice")
    walks: WalkSettings = WalkSettings()
    negatives: NegativeSettings = NegativeSettings()
    model: ModelSettings = ModelSettings()
    training: TrainSettings = TrainSettings()

    def learn(
        self,
        name: str,
        graph: Graph,
        hooks: Hooks | None,
        *,
        members: int = 1,
        member_dim: int | None = None,
        projections: int = 1,
        start: EdgeEmbeddings | None = None,
        workers: Alone | None = None,
    ) -> tuple[Learned, dict[str, Any]]:
        """Return what all members learned, and what the result records of it."""
        sizes = members, member_dim, projections
        fit = self._prepare(name, graph, hooks, start, workers, *sizes)
        learned = fit.run()
        return learned, {**fit.identity, **_provenance(learned)}

    def _prepare(
        self,
        name: str,
        graph: Graph,
        hooks: Hooks | None,
        start: EdgeEmbeddings | None,
        workers: Alone | None,
        members: int = 1,
        member_dim: int | None = None,
        projections: int = 1,
    ) -> Fit:
        """Return the fit of these settings on a graph."""
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.training.fit import Fit
        from arcvec.training.hooks import Hooks
        from arcvec.training.start import choose_device

        choose_device(self.training.device)  # an error before anything is written
        require_edges(graph)
        identity = {**describe_fit(name, self, graph), "from": None}
        training, walks = self.training.of_one_of(members), self.walks
        if projections > 1 or self.model.unit_norm:
            # Scores that are no products of vectors of any length have no room for a discount.
            training = training.model_copy(update={"degree_discount": 0.0})
        earlier = None
        if start is not None:
            warm = WarmStart.of(start, graph, self.model, self.dim)
            earlier = warm.vectors(), start.weights
            training, walks = warm.training(training), warm.walks(walks)
            identity["from"] = warm.describe()
        return Fit(
            graph=graph,
            walks=walks,
            negatives=self.negatives,
            model=self.model,
            training=training,
            dim=member_dim or self.dim,
            projections=projections,
            seeds=[_seed_of(member, self.seed) for member in range(members)],
            identity=identity,
            hooks=hooks or Hooks(),
            workers=workers or Alone(),
            earlier=earlier,
        )


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The result of a fit: each worker has the rows of its own nodes; see `average`."""

    arrays: dict[str, Vectors]
    weights: Vectors | None
    graph: Graph
    settings: dict[str, Any]
    workers: Alone

    def save(self, path: Path, *, float16: bool = False, overwrite: bool = False) -> None:
        """Write one result folder, each worker its part; called by all of them."""
        partition = Partition(self.graph.num_nodes, self.workers.count)
        with shared_folder(self.workers, path, overwrite=overwrite) as folder:
            for name, array in self.arrays.items():
                rows = array.astype(np.float16 if float16 else np.float32, copy=False)
                write_shared_rows(folder / f"{name}.npy", rows, partition, self.workers)
            if self.workers.is_first:
                self.graph.nodes.save(folder / "nodes.txt")
                header = result_header(directed=self.graph.directed, weights=self.weights)
                write_json(folder / "settings.json", {**header, **self.settings})

    def embeddings(self) -> EdgeEmbeddings:
        """Return the vectors of one process, which has all rows."""
        nodes, directed, settings = self.graph.nodes, self.graph.directed, self.settings
        if self.weights is None:
            return EdgeEmbeddings(**self.arrays, nodes=nodes, directed=directed, settings=settings)
        return EdgeEmbeddings.one_vector(
            **self.arrays, weights=self.weights, nodes=nodes, directed=directed, settings=settings
        )


class EdgeProjection(TrainedMethod):
    """Learns a source and a target vector for every node.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> embeddings = EdgeProjection(dim=8, seed=0, training=TrainSettings(steps=5)).fit(cycle)
    >>> embeddings
    EdgeEmbeddings(4 nodes, dim 8, directed)
    """

    goal: Literal["pairs", "ranking"] = Field(
        "ranking",
        description="ranking: the order of targets within each source comes first, to recommend; "
        "pairs: how likely a pair is among pairs of all sources, the paper's question (AUC)",
    )
    ranking: RankingSettings = RankingSettings()
    members: int | None = Field(
        None,
        ge=1,
        description="trainings of the likelihood, each from a seed of its own, whose scores are "
        "averaged; by default 4 from dim 64 on where pairs are the goal, else one",
    )
    member_dim: int | None = Field(
        None,
        ge=2,
        multiple_of=2,
        description="numbers per node in one of several members; by default half of dim, but "
        "vectors of 16 to 32 numbers",
    )

    @model_validator(mode="after")
    def _members_fill_dim(self) -> EdgeProjection:
        members, member_dim = self.members or _MEMBERS, self.member_dim or self.dim
        if members * member_dim < self.dim:
            raise ValueError(
                f"expected members with at least {self.dim} numbers together, as many as dim, got "
                f"{members} of {member_dim}"
            )
        if members == 1 and member_dim > self.dim:
            raise ValueError(
                f"member_dim {member_dim} is larger than dim {self.dim}: with one member they are "
                "the same"
            )
        if (self.members or 1) > 1 and self.model.unit_norm:
            raise ValueError("unit_norm belongs to one member: a mean of several has other norms")
        if self.training.degree_discount and self.model.unit_norm:
            raise ValueError("unit_norm leaves no room for training.degree_discount; set that to 0")
        return self

    def parts(self, graph: Graph) -> tuple[int, int]:
        """Return how many members there are, and how many numbers per node each has."""
        sides = 2 if self.model.on(graph).kind == "asymmetric" else 1
        length = self.dim // sides
        several = self.member_dim or self.dim >= _MIN_DIM_FOR_MEMBERS
        members = self.members or (_MEMBERS if several and not self.model.unit_norm else 1)
        if members == 1:
            return 1, self.dim
        usual = min(length, max(_SHORTEST, min(math.ceil(length / 2), _LONGEST)))
        numbers = max(sides * usual, self.dim / members)
        return members, self.member_dim or 2 * math.ceil(numbers / 2)

    def fit(
        self, graph: Graph, hooks: Hooks | None = None, *, start: EdgeEmbeddings | None = None
    ) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Symmetric and tied models have one vector of `dim` numbers per node for both ends.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.hooks.Hooks`.
            start: an earlier result for a warm start: its nodes, matched by name, begin at their
                vectors there, and one training continues with a falling learning rate.

        Raises:
            ValueError: the graph has no edge between two different nodes, or `start` has another
                dim, direction or kind of model, or none of its nodes.
        """
        return self.fit_rows(graph, hooks, start=start).embeddings()

    def fit_rows(
        self,
        graph: Graph,
        hooks: Hooks | None = None,
        *,
        start: EdgeEmbeddings | None = None,
        workers: Alone | None = None,
    ) -> FittedRows:
        """Return what `fit` does, the rows of this worker's nodes; called by all workers."""
        workers = workers or Alone()
        last = workers.count - 1
        if last and not Partition(graph.num_nodes, workers.count).num_rows(last):
            raise ValueError(
                f"expected at least one node for each of {workers.count} workers, got "
                f"{graph.num_nodes} nodes; start fewer workers"
            )
        if self.goal == "ranking" and not self.model.unit_norm:
            return self._as_chosen_by(start, graph)._fit_ranking(graph, hooks, start, workers)
        members, member_dim = self.parts(graph)
        if start is not None:
            # A result is one product, in which members can no longer be told apart.
            members, member_dim = 1, self.dim
        parts = {"members": members, "member_dim": member_dim}
        learned, provenance = self.learn(
            "edge-projection", graph, hooks, **parts, start=start, workers=workers
        )
        arrays, weights = learned.vectors(self.dim, workers)
        return FittedRows(arrays, weights, graph, provenance, workers)

    def _fit_ranking(
        self, graph: Graph, hooks: Hooks | None, start: EdgeEmbeddings | None, workers: Alone
    ) -> FittedRows:
        from arcvec.training.ranking import fit_ranking

        part = 2 * max(1, min(self.dim // _LIKELIHOOD_PART, _LIKELIHOOD_DIM) // 2)
        fit = self._prepare("edge-projection", graph, hooks, None, workers, member_dim=part)
        if start is not None:
            warm = WarmStart.of(start, graph, self.model, self.dim)
            fit.identity["from"] = warm.describe()
        learned = fit_ranking(fit, self.ranking, self.dim)
        arrays, weights = learned.vectors(self.dim, workers)
        provenance = {**fit.identity, **_ranking_provenance(learned)}
        return FittedRows(arrays, weights, graph, provenance, workers)

    def _as_chosen_by(self, start: EdgeEmbeddings | None, graph: Graph) -> EdgeProjection:
        """Return the method with what an earlier fit chose, where it chose among these settings."""
        if start is None:
            return self
        chosen = start.settings.get("order") or {}
        known = {
            name: (value,) for name, value in chosen.items() if value in getattr(self.ranking, name)
        }
        warm = WarmStart.of(start, graph, self.model, self.dim)
        settings = {
            "ranking": self.ranking.model_copy(update=known),
            "walks": warm.walks(self.walks),
            "training": warm.penalty(self.training),
        }
        return self.model_copy(update=settings)


class MixedProjections(TrainedMethod):
    """Several projections that share `dim`, mixed by Eq. 5; the scores are no inner products."""

    projections: int = Field(4, ge=2, description="low-rank projections (the paper's h)")

    @model_validator(mode="after")
    def _projections_share_dim(self) -> MixedProjections:
        if self.model.kind in ("symmetric", "tied"):
            raise ValueError('several projections need model.kind "asymmetric"')
        if self.training.degree_discount:
            raise ValueError(
                "several projections leave no room for training.degree_discount; set that to 0"
            )
        if self.dim % (2 * self.projections):
            raise ValueError(
                f"expected dim to be a multiple of {2 * self.projections}, two numbers for each of "
                f"{self.projections} projections, got {self.dim}"
            )
        return self

    def fit(self, graph: Graph, hooks: Hooks | None = None) -> ProjectionMixture:
        """Return the vectors of all nodes under every projection, and how to mix them."""
        learned, provenance = self.learn(
            "mixed-projections", graph, hooks, projections=self.projections
        )
        sides = learned.members[0].sides
        assert sides.mixture is not None
        parts = sides.by_projection(sides.source), sides.by_projection(sides.target), sides.mixture
        source, target, mixture = (part.cpu().numpy() for part in parts)
        return ProjectionMixture(source, target, mixture, graph.nodes, provenance)


def _seed_of(member: int, seed: int) -> int:
    """Return a member's seed: none that the members of another seed have."""
    return seed if member == 0 else int(np.random.default_rng([seed, member]).integers(1 << 63))


def _provenance(learned: Learned) -> dict[str, Any]:
    """Return steps, AUCs and losses of all members, one after the other."""
    states = [member.status for member in learned.members]
    aucs = [status.best_auc for status in states if status.best_auc is not None]
    spreads = [m.sides.spread for m in learned.members if m.sides.spread is not None]
    history: dict[str, list[Any]] = {"member": []}
    for i, status in enumerate(states):
        for name, column in status.history.as_dict().items():
            history.setdefault(name, []).extend(column)
        history["member"] += [i] * len(status.history.step)
    return {
        "steps_done": sum(status.step for status in states),
        "validation_auc": fmean(aucs) if learned.auc is None and aucs else learned.auc,
        "window": states[0].window,
        "output_l2": states[0].output_l2,
        "degree_discount": learned.terms.discount,
        "degree_gain": learned.terms.gain,
        "norm_std": fmean(spread.item() for spread in spreads) if spreads else None,
        "history": history,
    }


def _ranking_provenance(learned: Ranked) -> dict[str, Any]:
    """Return what the result records of a fit for recommending."""
    recorded = {"steps_done": 0} if learned.likely is None else _provenance(learned.likely)
    return {
        **recorded,
        "steps_done": int(learned.choice["sweeps"]) + recorded["steps_done"],
        "validation_auc": learned.auc,
        "validation_gain": learned.gain,
        "order": learned.choice,
        "likelihood_share": learned.share,
        "source_level": list(learned.level.coefficients),
    }


def require_edges(graph: Graph) -> None:
    """Raise a ValueError where a graph has no edge between two different nodes."""
    if graph.indices.size > graph.num_nodes:
        return  # a node has one self-loop at most
    if graph.num_nodes < 2 or graph.num_edges == graph.num_self_loops:
        raise ValueError(
            "expected a graph with an edge between two different nodes, got "
            f"{graph.num_nodes:,} nodes and {graph.num_edges:,} edges "
            f"({graph.num_self_loops:,} self-loops); there is nothing to learn from"
        )
