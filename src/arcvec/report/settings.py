"""What a report shows."""

from __future__ import annotations

from pydantic import Field

from arcvec.methods.baselines import CHEAP_BASELINES, Baseline
from arcvec.settings import Settings


class ReportSettings(Settings):
    """What a report shows beside the result itself."""

    title: str = Field("", description="heading of the page")
    baselines: tuple[Baseline, ...] = Field(
        CHEAP_BASELINES,
        description="methods fitted on the train part of a split and measured beside the result",
    )
    nodes: tuple[str, ...] = Field(
        (), description="nodes to recommend for; by default a few, from many edges to few"
    )
    k: int = Field(8, ge=1, description="new edges named for each of these nodes")
    seed: int = Field(0, ge=0, description="decides what is drawn where not everything is measured")
