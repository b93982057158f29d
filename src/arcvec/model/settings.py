"""Settings of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from arcvec.settings import Settings

if TYPE_CHECKING:
    from arcvec.graph.graph import Graph


class ModelSettings(Settings):
    """The network that all nodes share, and the edge function on top of it."""

    kind: Literal["auto", "asymmetric", "symmetric", "tied"] = Field(
        "auto",
        description="asymmetric: a source and a target vector per node, f(u)^T L R f(v); "
        "symmetric: one vector for both, w^T (f(u) * f(v)); tied: one vector for both, "
        "f(u)^T L diag(w) L^T f(v); auto: tied on undirected graphs, else asymmetric",
    )
    node_dim: int = Field(
        64, ge=1, description="trainable numbers per node (the paper's D); symmetric shallow: dim"
    )
    start: Literal["spectral", "random"] = Field(
        "spectral", description="node vectors begin at leading singular vectors, or at random"
    )
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (64,), description="sizes of the hidden layers of f; none is the shallow model"
    )
    manifold_dim: int = Field(
        64, ge=1, description="outputs of f (the paper's d); symmetric deep: dim"
    )
    output_relu: bool = Field(
        False, description="end f with a relu, as the paper's released code does"
    )
    statistics: Literal["nodes", "pairs"] = Field(
        "nodes",
        description="what BatchNorm normalises over in the end: every node once, or as often as it "
        "occurs among edges and as many non-edges, as in the paper's released code",
    )
    unit_norm: bool = Field(False, description="keep source and target vectors on the unit sphere")

    @model_validator(mode="after")
    def _fits_together(self) -> ModelSettings:
        if self.kind in ("symmetric", "tied") and self.unit_norm:
            raise ValueError(f'unit_norm belongs to the asymmetric model; got kind "{self.kind}"')
        return self

    def on(self, graph: Graph) -> ModelSettings:
        """Return these settings with `kind` decided for a graph."""
        if self.kind != "auto":
            return self
        tied = not graph.directed and not self.unit_norm
        return self.model_copy(update={"kind": "tied" if tied else "asymmetric"})
