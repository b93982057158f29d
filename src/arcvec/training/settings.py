"""Settings of the training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from arcvec.sampling.settings import Windows
from arcvec.settings import Settings


class RankingSettings(Settings):
    """How the order of targets within each source is learned, where that is the goal."""

    steps: int = Field(
        250, ge=1, description="steps of a training, at most training.steps; its rate falls to zero"
    )
    learning_rate: float = Field(0.05, gt=0, description="learning rate of the first step")
    window: Windows = Field(
        (3, 5),
        min_length=1,
        description="largest distance in a walk between nodes of a pair; of several, the one that "
        "ranks held-out edges best is taken",
    )
    output_l2: float = Field(
        0.1, ge=0, description="L2 penalty on the two vectors of a pair, for each pair"
    )
    stronger_l2: tuple[Annotated[float, Field(ge=0)], ...] = Field(
        (0.2, 0.4), description="larger output_l2 to try in turn, as long as the ranks get better"
    )
    negative_weight: float = Field(
        300.0, gt=0, description="mass of all non-edges against that of all pairs"
    )
    block_sources: int = Field(512, ge=1, description="sources in a block of non-edges")
    returned_weight: float | None = Field(
        None,
        ge=0,
        description="mass of reversed one-way edges, which count as edges, to that of pairs; by "
        "default how likely the reverse of an edge is still to come",
    )
    likelihood_share: float | None = Field(
        None,
        ge=0,
        description="how much of a likelihood model's score is added, in spreads of both; by "
        "default as much as hardly changes the ranks of held-out edges",
    )


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
    penalised: Literal["nodes", "pairs"] = Field(
        "nodes",
        description="whose vectors output_l2 is about: those of all nodes alike, or those of each "
        "pair, so that it grows with the edges of a node",
    )
    stronger_l2: tuple[Annotated[float, Field(ge=0)], ...] = Field(
        (0.03, 0.1, 0.3),
        description="larger output_l2 to try in turn, as long as the AUC on held-out edges rises",
    )
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
    measure: Literal["auc", "rank"] = Field(
        "auc",
        description="what held-out edges choose by: auc, over pairs of all sources together; rank, "
        "the place of each edge's target among all targets of its source",
    )
    settle: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="part of the training, at its end, that learns from all edges, those held out "
        "too; if 0, the vectors of the best AUC are the result",
    )
    refit: bool = Field(
        False,
        description="with what held-out edges chose, train again on all edges, from the start",
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
        nothing = {"settle": 0.0, "refit": False, "validation_fraction": 0.0, "stronger_l2": ()}
        changes = {**nothing, "selection": "held-out", "degree_discount": discount}
        return self.model_copy(update=changes)

    def of_one_of(self, members: int) -> TrainSettings:
        """Return the settings of one of several members, whose mean needs fewer steps of each."""
        steps = self.steps if members == 1 else max(1, self.steps // 2)
        return self.model_copy(update={"steps": steps})
