"""What several commands share: their common flags, and how they open a graph and write a score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from arcvec.console import escape, messages
from arcvec.graph.edge_settings import EdgeFileSettings

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings, Scores
    from arcvec.graph.graph import Graph


class EdgeFileFlags(EdgeFileSettings):
    """The flags for reading edge files."""

    directed: Annotated[bool, Parameter(negative="--undirected")] = Field(
        True, description="edges have a direction, or none"
    )


EdgeFiles = Annotated[EdgeFileFlags, Parameter(name="*", group="Edge files")]
Out = Annotated[Path, Parameter(name=["--out", "-o"])]
OptionalOut = Annotated[Path | None, Parameter(name=["--out", "-o"])]
Probability = Literal["even", "density"]


def read_graph(path: Path, files: EdgeFileSettings) -> Graph:
    """Return the graph at a path, saying meanwhile that it is being read."""
    from arcvec.graph.files import open_graph

    with messages.status(escape(f"reading {path}")):
        return open_graph(path, files)


def probability_function(
    result: Path, embeddings: EdgeEmbeddings, odds: Probability | None
) -> Callable[[Scores], Scores] | None:
    """Return what makes probabilities of scores, or None if none are asked for."""
    if odds is None:
        return None
    from arcvec.recommendation.calibration import load_calibration

    calibration = load_calibration(result, embeddings)
    return lambda scores: calibration.probabilities(scores, odds)


def plain_number(value: float) -> float:
    """Return a score as it is worth printing: float32 has about six figures."""
    return float(f"{value:.6g}")
