"""Settings of the walks and of the negatives."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from arcvec.settings import Settings


class WalkSettings(Settings):
    """How the graph is explored, and which nodes of a walk make a pair."""

    kind: Literal["auto", "forward", "alternating"] = Field(
        "auto",
        description="forward: along out-edges, the paper's; alternating: u -> x <- y -> v; "
        "auto: alternating on directed graphs unless p or q is set, else forward",
    )
    starts: Literal["edges", "nodes"] = Field(
        "edges", description="start walks at sources of random edges, or equally often at all nodes"
    )
    walks_per_node: int = Field(80, ge=1, description="walks per node before they repeat")
    walk_length: int = Field(20, ge=2, description="nodes in one walk, the start included")
    window: int = Field(
        5,
        ge=1,
        description="largest distance in a walk between nodes of a pair; alternating walks pair at "
        "odd distances only, up to the next odd one",
    )
    p: float = Field(1.0, gt=0, description="node2vec's return parameter (forward walks)")
    q: float = Field(1.0, gt=0, description="node2vec's in-out parameter (forward walks)")
    self_pairs: bool = Field(False, description="keep pairs of a node with itself")
    shuffle_pairs: int = Field(
        1 << 20, ge=1, description="pairs drawn and shuffled together, which bounds the memory"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> WalkSettings:
        if self.kind == "alternating" and not self.first_order:
            raise ValueError('p and q belong to forward walks; set walks.kind to "forward"')
        return self

    @property
    def first_order(self) -> bool:
        """Whether a step depends on the current node only."""
        return self.p == self.q == 1.0


class NegativeSettings(Settings):
    """What the pairs are contrasted with."""

    kind: Literal["block", "fixed"] = Field(
        "block",
        description="block: some sources against many targets at once (Eq. 8); "
        "fixed: a few per pair from a fixed set per node (Eq. 12)",
    )
    weight: float = Field(
        1.0, gt=0, description="mass of all non-edges against that of all pairs (block)"
    )
    block_sources: int = Field(256, ge=1, description="sources in a block")
    block_targets: int = Field(
        8192, ge=1, description="targets in a block; all nodes where there are no more than these"
    )
    per_pair: int = Field(5, ge=1, description="negatives per pair (fixed)")
    set_size: int = Field(100, ge=1, description="negatives in the fixed set of a node (fixed)")
    replacement: bool = Field(
        False, description="draw with replacement, as the paper's released code does (fixed)"
    )
    reversed_weight: float = Field(
        0.3, ge=0, description="mass of reversed one-way edges to that of pairs (block); 0: none"
    )
    reversed_label: float | None = Field(
        None,
        ge=0,
        le=1,
        description="how far a reversed one-way edge counts as an edge: 0 makes it a negative; by "
        "default how likely it is the next edge, by the part of edges that are returned (block)",
    )
