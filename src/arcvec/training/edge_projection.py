"""arcvec's own method: projections of a shared network, trained on the graph likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
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

if TYPE_CHECKING:
    from arcvec.training.average import Averaged, Vectors
    from arcvec.training.fit import Fit, Learned
    from arcvec.training.hooks import Hooks
    from arcvec.training.ranking import Ranked

    _Result: TypeAlias = tuple[Averaged, dict[str, Any]]

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

    def prepare(
        self,
        name: str,
        graph: Graph,
        hooks: Hooks | None,
        workers: Alone | None = None,
        *,
        members: int = 1,
        member_dim: int | None = None,
        projections: int = 1,
    ) -> Fit:
        """Return the fit of the likelihood with these settings on a graph."""
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.training.fit import Fit
        from arcvec.training.hooks import Hooks
        from arcvec.training.start import choose_device

        choose_device(self.training.device)  # an error before anything is written
        require_edges(graph)
        training = self.training.of_one_of(members)
        if projections > 1 or self.model.unit_norm:
            # Scores that are no products of vectors of any length have no room for a discount.
            training = training.model_copy(update={"degree_discount": 0.0})
        return Fit(
            graph=graph,
            walks=self.walks,
            negatives=self.negatives,
            model=self.model,
            training=training,
            dim=member_dim or self.dim,
            projections=projections,
            seeds=[_seed_of(member, self.seed) for member in range(members)],
            identity=describe_fit(name, self, graph),
            hooks=hooks or Hooks(),
            workers=workers or Alone(),
        )


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The result of a fit: each worker has the rows of its own nodes; see `average`."""

    arrays: dict[str, Vectors]
    weights: Vectors | None
    columns: NDArray[np.int64] | None
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
                header = result_header(
                    directed=self.graph.directed, weights=self.weights, columns=self.columns
                )
                write_json(folder / "settings.json", {**header, **self.settings})

    def embeddings(self) -> EdgeEmbeddings:
        """Return the vectors of one process, which has all rows."""
        nodes, directed, settings = self.graph.nodes, self.graph.directed, self.settings
        if self.weights is None:
            return EdgeEmbeddings(**self.arrays, nodes=nodes, directed=directed, settings=settings)
        return EdgeEmbeddings.one_vector(
            **self.arrays,
            weights=self.weights,
            columns=self.columns,
            nodes=nodes,
            directed=directed,
            settings=settings,
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

    @model_validator(mode="after")
    def _fits_together(self) -> EdgeProjection:
        if (self.members or 1) > 1 and self.model.unit_norm:
            raise ValueError("unit_norm belongs to one member: a mean of several has other norms")
        if self.training.degree_discount and self.model.unit_norm:
            raise ValueError("unit_norm leaves no room for training.degree_discount; set that to 0")
        return self

    def parts(self, graph: Graph) -> tuple[int, int]:
        """Return how many members there are, and how many numbers per node each has.

        The vectors of one of several have half of the numbers of the result, but 16 to 32.
        """
        sides = 2 if self.model.on(graph).kind == "asymmetric" else 1
        length = self.dim // sides
        several = self.dim >= _MIN_DIM_FOR_MEMBERS and not self.model.unit_norm
        members = self.members or (_MEMBERS if several else 1)
        if members == 1:
            return 1, self.dim
        usual = min(length, max(_SHORTEST, min(math.ceil(length / 2), _LONGEST)))
        return members, 2 * math.ceil(max(sides * usual, self.dim / members) / 2)

    def fit(
        self, graph: Graph, hooks: Hooks | None = None, *, start: EdgeEmbeddings | None = None
    ) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Symmetric and tied models have one vector of `dim` numbers per node for both ends.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.hooks.Hooks`.
            start: an earlier result: what that fit chose is not chosen again; see `chosen_by`.

        Raises:
            ValueError: the graph has no edge between two different nodes.
        """
        method = self if start is None else self.chosen_by(start)
        return method.fit_rows(graph, hooks).embeddings()

    def fit_rows(
        self,
        graph: Graph,
        hooks: Hooks | None = None,
        *,
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
        ranks = self.goal == "ranking" and not self.model.unit_norm
        vectors, learned = (self._rank if ranks else self._learn)(graph, hooks, workers)
        return FittedRows(*vectors, graph, learned, workers)

    def _learn(self, graph: Graph, hooks: Hooks | None, workers: Alone) -> _Result:
        members, member_dim = self.parts(graph)
        parts = {"members": members, "member_dim": member_dim}
        fit = self.prepare("edge-projection", graph, hooks, workers, **parts)
        learned = fit.run()
        return learned.vectors(self.dim, workers), {**fit.identity, **provenance(learned)}

    def _rank(self, graph: Graph, hooks: Hooks | None, workers: Alone) -> _Result:
        from arcvec.training.ranking import fit_ranking

        part = 2 * max(1, min(self.dim // _LIKELIHOOD_PART, _LIKELIHOOD_DIM) // 2)
        fit = self.prepare("edge-projection", graph, hooks, workers, member_dim=part)
        learned = fit_ranking(fit, self.ranking, self.dim)
        recorded = {**fit.identity, **_ranking_provenance(learned)}
        return learned.vectors(self.dim, workers), recorded

    def chosen_by(self, earlier: EdgeEmbeddings) -> EdgeProjection:
        """Return the method with what an earlier fit chose, where it chose among these settings."""
        known: dict[str, Any] = {}
        for name, chosen in (earlier.settings.get("order") or {}).items():
            open_to = [value for value in getattr(self.ranking, name, ()) if value == chosen]
            known |= {name: tuple(open_to)} if open_to else {}
        return self.model_copy(update={"ranking": self.ranking.model_copy(update=known)})


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
        fit = self.prepare("mixed-projections", graph, hooks, projections=self.projections)
        learned = fit.run()
        sides = learned.members[0].sides
        assert sides.mixture is not None
        parts = sides.by_projection(sides.source), sides.by_projection(sides.target), sides.mixture
        source, target, mixture = (part.cpu().numpy() for part in parts)
        settings = {**fit.identity, **provenance(learned)}
        return ProjectionMixture(source, target, mixture, graph.nodes, settings)


def _seed_of(member: int, seed: int) -> int:
    """Return a member's seed: none that the members of another seed have."""
    return seed if member == 0 else int(np.random.default_rng([seed, member]).integers(1 << 63))


def provenance(learned: Learned) -> dict[str, Any]:
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
        "degree_discount": learned.terms.discount,
        "degree_gain": learned.terms.gain,
        "norm_std": fmean(spread.item() for spread in spreads) if spreads else None,
        "history": history,
    }


def _ranking_provenance(learned: Ranked) -> dict[str, Any]:
    """Return what the result records of a fit for recommending."""
    recorded = {"steps_done": 0} if learned.likely is None else provenance(learned.likely)
    return {
        **recorded,
        "steps_done": int(learned.order.choice["sweeps"]) + recorded["steps_done"],
        "validation_auc": learned.auc,
        "validation_gain": learned.gain,
        "order": learned.order.choice,
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
