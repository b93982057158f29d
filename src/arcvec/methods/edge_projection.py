"""arcvec's own method: projections of a shared network, trained on the graph likelihood."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from arcvec.embeddings import EdgeEmbeddings, ProjectionMixture
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.methods.record import describe_fit
from arcvec.methods.warm_start import WarmStart
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.settings import TrainSettings

if TYPE_CHECKING:
    from torch import Tensor

    from arcvec.training.loop import Hooks
    from arcvec.training.state import Trained

# Held-out edges of ca-HepTh: three members of 16 numbers .962, one of 32 .957, one of 128 .952.
_SMALLEST_MEMBER = 16
_MOST_MEMBERS = 4


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

    def _train(
        self,
        name: str,
        graph: Graph,
        hooks: Hooks | None,
        *,
        members: int = 1,
        projections: int = 1,
        start: EdgeEmbeddings | None = None,
    ) -> tuple[list[Trained], dict[str, Any]]:
        """Return what each member learned, and what the result remembers of it."""
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.methods.training_plan import TrainingPlan
        from arcvec.training.course import Course

        _require_edges(graph)
        identity = {**describe_fit(name, self, graph), "from": None}
        seeds = [_seed_of(member, self.seed) for member in range(members)]
        training, starts = self.training, {}
        if start is not None:
            warm = WarmStart.of(start, graph, self.model, self.dim)
            training = warm.training(training)
            identity["from"] = warm.describe()
            starts = {
                seed: (warm.share(i, members), warm.scale(i, members))
                for i, seed in enumerate(seeds)
            }
        plan = TrainingPlan(
            graph,
            self.walks,
            self.negatives,
            self.model,
            training,
            dim=self.dim // members,
            projections=projections,
            identity=identity,
            starts=starts,
        )
        trained = Course(plan, graph, training, seeds, hooks).run()
        return trained, {**identity, **_provenance(trained)}


class EdgeProjection(TrainedMethod):
    """Learns a source and a target vector of every node.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> embeddings = EdgeProjection(dim=8, seed=0, training=TrainSettings(steps=5)).fit(cycle)
    >>> embeddings
    EdgeEmbeddings(4 nodes, dim 8, directed)
    """

    members: int | None = Field(
        None,
        ge=1,
        description="trainings, each from a seed of its own, that share dim; a score is the mean "
        "of theirs; by default one for every 16 numbers, at most 4",
    )

    @model_validator(mode="after")
    def _members_share_dim(self) -> EdgeProjection:
        if self.members and self.dim % (2 * self.members):
            raise ValueError(
                f"expected dim to be a multiple of {2 * self.members}, two numbers for each of "
                f"{self.members} members, got {self.dim}"
            )
        return self

    def fit(
        self, graph: Graph, hooks: Hooks | None = None, *, start: EdgeEmbeddings | None = None
    ) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Symmetric and tied models have one vector of `dim` numbers per node for both ends.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.loop.Hooks`.
            start: an earlier result to go on from: nodes that it knows by name begin at their
                vectors there, and only the part of the training that settles is done.

        Raises:
            ValueError: the graph has no edge between two different nodes, or `start` has another
                dim, direction or kind of model, or none of its nodes.
        """
        members = self.members or _members_of(self.dim)
        trained, provenance = self._train(
            "edge-projection", graph, hooks, members=members, start=start
        )
        # The mean of the members' scores is one product of their vectors, side by side.
        share = members**-0.5
        sources, targets, scales = zip(
            *((part.sides.source, part.sides.target, part.sides.scale) for part in trained),
            strict=True,
        )
        if scales[0] is not None:
            # Vectors that carry the size of their weights: a norm says how much a node counts.
            return EdgeEmbeddings.one_vector(
                _side_by_side(
                    target * (scale.abs().sqrt() * share)
                    for target, scale in zip(targets, scales, strict=True)
                ),
                _side_by_side(scale.sign() for scale in scales),
                graph.nodes,
                directed=graph.directed,
                settings=provenance,
            )
        return EdgeEmbeddings(
            _side_by_side(source * share for source in sources),
            _side_by_side(target * share for target in targets),
            graph.nodes,
            graph.directed,
            provenance,
        )


class MixedProjections(TrainedMethod):
    """Several projections that share `dim`, mixed by Eq. 5; the scores are no inner products."""

    projections: int = Field(4, ge=2, description="low-rank projections (the paper's h)")

    @model_validator(mode="after")
    def _projections_share_dim(self) -> MixedProjections:
        if self.model.kind in ("symmetric", "tied"):
            raise ValueError('several projections need model.kind "asymmetric"')
        if self.dim % (2 * self.projections):
            raise ValueError(
                f"expected dim to be a multiple of {2 * self.projections}, two numbers for each of "
                f"{self.projections} projections, got {self.dim}"
            )
        return self

    def fit(self, graph: Graph, hooks: Hooks | None = None) -> ProjectionMixture:
        """Return the vectors of all nodes under every projection, and how to mix them."""
        trained, provenance = self._train(
            "mixed-projections", graph, hooks, projections=self.projections
        )
        sides = trained[0].sides
        assert sides.mixture is not None
        return ProjectionMixture(
            sides.by_projection(sides.source).cpu().numpy(),
            sides.by_projection(sides.target).cpu().numpy(),
            sides.mixture.cpu().numpy(),
            graph.nodes,
            provenance,
        )


def _members_of(dim: int) -> int:
    """Return the most members of at least 16 numbers each, and an even number of them."""
    most = max(1, min(dim // _SMALLEST_MEMBER, _MOST_MEMBERS))
    return next(count for count in range(most, 0, -1) if dim % (2 * count) == 0)


def _seed_of(member: int, seed: int) -> int:
    """Return a member's seed: none that the members of another seed have."""
    return seed if member == 0 else int(np.random.default_rng([seed, member]).integers(1 << 63))


def _side_by_side(tensors: Iterable[Tensor]) -> NDArray[np.float32]:
    arrays = [tensor.cpu().numpy() for tensor in tensors]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)


def _provenance(trained: list[Trained]) -> dict[str, Any]:
    """Return steps, AUCs and losses of all members, one after the other."""
    aucs = [member.auc for member in trained if member.auc is not None]
    spreads = [member.sides.spread for member in trained if member.sides.spread is not None]
    history: dict[str, list[Any]] = {"member": []}
    for i, member in enumerate(trained):
        for name, column in member.history.as_dict().items():
            history.setdefault(name, []).extend(column)
        history["member"] += [i] * len(member.history.step)
    return {
        "steps_done": sum(member.steps for member in trained),
        "validation_auc": fmean(aucs) if aucs else None,
        "output_l2": trained[0].output_l2,
        "norm_std": fmean(spread.item() for spread in spreads) if spreads else None,
        "history": history,
    }


def _require_edges(graph: Graph) -> None:
    if graph.num_nodes < 2 or graph.num_edges == graph.num_self_loops:
        raise ValueError(
            "expected a graph with an edge between two different nodes, got "
            f"{graph.num_nodes:,} nodes and {graph.num_edges:,} edges "
            f"({graph.num_self_loops:,} self-loops); there is nothing to learn from"
        )
