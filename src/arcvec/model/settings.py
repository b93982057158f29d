"""Settings of the model."""

from __future__ import annotations

from pydantic import Field

from arcvec.settings import Settings


class ModelSettings(Settings):
    """The shape of the network that all nodes share."""

    node_dim: int = Field(100, ge=1, description="trainable numbers per node (the paper's D)")
    hidden: tuple[int, ...] = Field(
        (100,), description="sizes of the hidden layers of f; none is the shallow model"
    )
    manifold_dim: int = Field(100, ge=1, description="outputs of f (the paper's d)")
