"""What every method is: settings with one verb."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from arcvec import __version__
from arcvec.embeddings import EdgeEmbeddings, EdgeScorer
from arcvec.graph.graph import Graph
from arcvec.settings import Settings

Dim: TypeAlias = Annotated[int, Field(ge=1, description="numbers stored per node")]
EvenDim: TypeAlias = Annotated[
    int,
    Field(ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"),
]
Seed: TypeAlias = Annotated[int, Field(ge=0, description="decides every random choice")]
MaxNodes: TypeAlias = Annotated[
    int, Field(ge=1, description="refuse larger graphs; the memory grows with max_nodes^2")
]


class Method(Settings):
    """Settings of a method; `fit` turns a graph into a scorer and leaves the settings unchanged."""

    @abstractmethod
    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer of the edges of `graph`; the same for the same graph and settings."""


def describe_fit(name: str, method: Method, graph: Graph) -> dict[str, Any]:
    """Return the version, the method with its settings, and the fingerprint of the graph."""
    settings = method.model_dump(mode="json")
    return {
        "arcvec_version": __version__,
        "method": name,
        "seed": settings.pop("seed", None),
        "settings": settings,
        "graph_fingerprint": graph.fingerprint,
    }


def two_sides(
    name: str, method: Method, graph: Graph, source: ArrayLike, target: ArrayLike, **facts: object
) -> EdgeEmbeddings:
    """Return the result of a fit with a source and a target vector per node, and further facts."""
    sides = np.asarray(source, dtype=np.float32), np.asarray(target, dtype=np.float32)
    settings = describe_fit(name, method, graph) | facts
    return EdgeEmbeddings(*sides, graph.nodes, graph.directed, settings)


def one_side(
    name: str, method: Method, graph: Graph, vectors: ArrayLike, weights: ArrayLike
) -> EdgeEmbeddings:
    """Return the result of a fit with one vector per node, and the weights of its coordinates."""
    return EdgeEmbeddings.one_vector(
        np.asarray(vectors, dtype=np.float32),
        weights,
        graph.nodes,
        directed=graph.directed,
        settings=describe_fit(name, method, graph),
    )
