"""Settings of the training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from arcvec.settings import Settings

Several = tuple[Annotated[float, Field(ge=0)], ...]


class RankingSettings(Settings):
    """How the order of targets within each source is learned, where that is the goal.

    Of settings with several values, held-out edges choose the one that ranks them best.
    """

    sweeps: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (5, 8, 12),
        min_length=1,
        description="times that the vectors of both sides are solved for, fewest first",
    )
    one_vector: tuple[bool, ...] = Field(
        (False, True),
        min_length=1,
        description="whether one vector serves both sides of a directed graph, for this order",
    )
    neighbours: int = Field(
        32, ge=1, description="nodes that short walks reach most often, to learn from beside edges"
    )
    walk_steps: int = Field(4, ge=1, description="steps of these walks, in any direction")
    nearby_weight: Several = Field(
        (1.0, 0.1, 3.0), min_length=1, description="weight of these nodes, where edges have 1"
    )
    non_edge_weight: Several = Field(
        (0.03, 0.1, 0.01, 0.003),
        min_length=1,
        description="weight of a pair that is neither an edge nor reached, where an edge has 1",
    )
    penalty: Several = Field(
        (2.0, 1.0, 4.0), min_length=1, description="L2 penalty on the vector of a node of ten edges"
    )
    degree_exponent: Several = Field(
        (0.5, 0.75), min_length=1, description="the penalty grows with this power of the degree"
    )
    likelihood_share: float | None = Field(
        None,
        ge=0,
        description="how much of a likelihood model's score is added, in spreads of both; by "
        "default as much as does not lower the ranks of held-out edges noticeably",
    )

    @field_validator("sweeps")
    @classmethod
    def _check_order(cls, sweeps: tuple[int, ...]) -> tuple[int, ...]:
        if list(sweeps) != sorted(set(sweeps)):
            raise ValueError(f"expected numbers of sweeps that grow, got {list(sweeps)}")
        return sweeps


class TrainSettings(Settings):
    """How the model is fitted."""

    steps: int = Field(
        400, ge=1, description="most steps of a training; half as many for each of several members"
    )
    batch_pairs: int = Field(
        65536, ge=1, description="pairs per step; on small graphs no more than 8 for each edge"
    )
    optimiser: Literal["adam", "percent-delta"] = Field("adam", description="update rule")
    learning_rates: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (0.01,), min_length=1, description="learning rates of equally long stages of the training"
    )
    decay: Literal["none", "cosine"] = Field(
        "cosine",
        description="cosine lets the learning rate fall to zero: over the last part of the "
        "training, see settle, or over all of it if settle is 0",
    )
    l2: float = Field(0.0, ge=0, description="L2 penalty on all parameters")
    output_l2: float = Field(3e-5, ge=0, description="L2 penalty on the source and target vectors")
    degree_discount: float | None = Field(
        None,
        description="what the score of a pair loses for an end with one edge (with k edges, a k-th "
        "of it); by default what held-out edges ask for",
    )
    anchor_only: bool = Field(
        False, description="update the node vectors of sources only, as the paper does"
    )
    selection: Literal["held-out", "train"] = Field(
        "held-out", description="edges whose AUC is watched; the paper takes the training edges"
    )
    settle: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="part of the training, at its end, that learns from all edges, those held out "
        "too; if 0, the vectors of the best AUC are the result",
    )
    validation_fraction: float = Field(
        0.05, ge=0, lt=1, description="part of the training edges held out to watch the AUC"
    )
    validation_edges: int = Field(
        500, ge=0, description="edges to hold out of small graphs at least, up to a fifth of all"
    )
    evaluate_every: int = Field(25, ge=1, description="steps between two validations")
    patience: int = Field(
        5, ge=1, description="validations without a better AUC before training stops or settles"
    )
    checkpoint_every: int = Field(200, ge=1, description="steps between two checkpoints")
    device: str = Field("auto", description="where to train: auto, cpu, cuda, cuda:1, ...")

    @property
    def finds_discount(self) -> bool:
        """Whether held-out edges decide about `degree_discount`."""
        return self.degree_discount is None and self.selection == "held-out"

    def on_all_edges(self) -> TrainSettings:
        """Return how to train once: nothing held out, so nothing chosen by it, a falling rate."""
        discount = self.degree_discount or 0.0
        nothing = {"settle": 0.0, "validation_fraction": 0.0}
        changes = {**nothing, "selection": "held-out", "degree_discount": discount}
        return self.model_copy(update=changes)

    def of_one_of(self, members: int) -> TrainSettings:
        """Return the settings of one of several members, whose mean needs fewer steps of each."""
        steps = self.steps if members == 1 else max(1, self.steps // 2)
        return self.model_copy(update={"steps": steps})
