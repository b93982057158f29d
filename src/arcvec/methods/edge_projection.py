"""arcvec's own method: projections of a shared network, trained on the graph likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, model_validator

from arcvec.embeddings import EdgeEmbeddings, ProjectionMixture
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.methods.record import describe_fit
from arcvec.methods.stored_vectors import stored_vectors
from arcvec.methods.warm_start import WarmStart
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.settings import TrainSettings

if TYPE_CHECKING:
    from arcvec.training.course import Plan
    from arcvec.training.hooks import Hooks
    from arcvec.training.state import Trained

# On held-out edges, the mean of several trainings is better than one where there is room for it: at
# dim 32 (with half of soc-epinions' edges held out .880 and .874, of wiki-vote's .976 and .973; ppi
# .933 and .931), not at dim 16 (ca-HepTh .951 and .964). Twice as many take twice as long, and are
# better still at dim 128 (ca-HepTh .9497 and .9481, ppi .9373 and .9362, ca-AstroPh .9888 and
# .9882, soc-facebook .9926 and .9924), not at dim 64 (.9474 and .9476, .9370 and .9361, .9876 and
# .9878).
_MEMBERS, _ROOM_FOR_SEVERAL = 4, 32
_MORE_MEMBERS, _ROOM_FOR_MORE = 8, 128
# Numbers in a vector of one of several members.
_SHORTEST, _LONGEST = 16, 32


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

    def train_members(
        self,
        name: str,
        graph: Graph,
        hooks: Hooks | None,
        *,
        members: int = 1,
        member_dim: int | None = None,
        projections: int = 1,
        start: EdgeEmbeddings | None = None,
        make_plan: Callable[..., Plan] | None = None,
    ) -> tuple[list[Trained], dict[str, Any]]:
        """Return what each member learned, and what the result remembers of it.

        Args:
            make_plan: in the place of `TrainingPlan`, with the same arguments.
        """
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.methods.training_plan import TrainingPlan
        from arcvec.training.course import Course

        require_edges(graph)
        identity = {**describe_fit(name, self, graph), "from": None}
        seeds = [_seed_of(member, self.seed) for member in range(members)]
        training, walks = self.training.of_one_of(members), self.walks
        if not self._may_discount(projections):
            training = training.model_copy(update={"degree_discount": 0.0})
        begin = None
        if start is not None:
            warm = WarmStart.of(start, graph, self.model, self.dim)
            begin = warm.vectors(), start.weights
            training, walks = warm.training(training), warm.walks(walks)
            identity["from"] = warm.describe()
        plan = (make_plan or TrainingPlan)(
            graph,
            walks,
            self.negatives,
            self.model,
            training,
            dim=member_dim or self.dim,
            projections=projections,
            identity=identity,
            start=begin,
        )
        course = Course(plan, graph, training, seeds, hooks)
        trained = course.run()
        return trained, {**identity, **_provenance(trained, course.auc)}

    def _may_discount(self, projections: int) -> bool:
        """Whether scores are products of vectors of any length, which a discount can be put in."""
        return projections == 1 and not self.model.unit_norm


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
        description="trainings, each from a seed of its own; the result is "
        "the mean of their scores, as near as dim numbers come to it; by default 4 from dim 32 on, "
        "8 from dim 128 on, else one",
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
        members, member_dim = self.members or self._usual_members, self.member_dim or self.dim
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

    @property
    def _usual_members(self) -> int:
        """How many members there are where there are several."""
        return _MORE_MEMBERS if self.dim >= _ROOM_FOR_MORE else _MEMBERS

    def parts(self, graph: Graph) -> tuple[int, int]:
        """Return how many members there are, and how many numbers per node each has."""
        sides = 2 if self.model.on(graph).kind == "asymmetric" else 1
        length = self.dim // sides
        several = self.member_dim or self.dim >= _ROOM_FOR_SEVERAL
        usual_members = self._usual_members if several and not self.model.unit_norm else 1
        members = self.members or usual_members
        if members == 1:
            return 1, self.dim
        usual = min(length, max(_SHORTEST, min(math.ceil(length / 2), _LONGEST)))
        return members, self.member_dim or _even(max(sides * usual, self.dim / members))

    def fit(
        self, graph: Graph, hooks: Hooks | None = None, *, start: EdgeEmbeddings | None = None
    ) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Symmetric and tied models have one vector of `dim` numbers per node for both ends.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.hooks.Hooks`.
            start: an earlier result to go on from: nodes that it knows by name begin at their
                vectors there, and one training goes on from them with a falling learning rate.

        Raises:
            ValueError: the graph has no edge between two different nodes, or `start` has another
                dim, direction or kind of model, or none of its nodes.
        """
        members, member_dim = self.parts(graph)
        if start is not None:
            # A result is one product, in which the members can no longer be told apart.
            members, member_dim = 1, self.dim
        trained, provenance = self.train_members(
            "edge-projection", graph, hooks, members=members, member_dim=member_dim, start=start
        )
        arrays, weights = stored_vectors(trained, self.dim)
        if weights is None:
            return EdgeEmbeddings(
                **arrays, nodes=graph.nodes, directed=graph.directed, settings=provenance
            )
        return EdgeEmbeddings.one_vector(
            arrays["vectors"], weights, graph.nodes, directed=graph.directed, settings=provenance
        )


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
        trained, provenance = self.train_members(
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


def _even(size: float) -> int:
    """Return the smallest even number that is not below a size."""
    return 2 * math.ceil(size / 2)


def _seed_of(member: int, seed: int) -> int:
    """Return a member's seed: none that the members of another seed have."""
    return seed if member == 0 else int(np.random.default_rng([seed, member]).integers(1 << 63))


def _provenance(trained: list[Trained], auc: float | None) -> dict[str, Any]:
    """Return steps, AUCs and losses of all members, one after the other.

    Args:
        auc: of all together on held-out edges; None where only their own are known.
    """
    aucs = [member.auc for member in trained if member.auc is not None]
    spreads = [member.sides.spread for member in trained if member.sides.spread is not None]
    history: dict[str, list[Any]] = {"member": []}
    for i, member in enumerate(trained):
        for name, column in member.history.as_dict().items():
            history.setdefault(name, []).extend(column)
        history["member"] += [i] * len(member.history.step)
    return {
        "steps_done": sum(member.steps for member in trained),
        "validation_auc": fmean(aucs) if auc is None and aucs else auc,
        "window": trained[0].window,
        "output_l2": trained[0].output_l2,
        "degree_discount": trained[0].degree_terms.discount,
        "degree_gain": trained[0].degree_terms.gain,
        "norm_std": fmean(spread.item() for spread in spreads) if spreads else None,
        "history": history,
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
