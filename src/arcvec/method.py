"""What every method is: settings with one verb."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from arcvec import __version__
from arcvec.embeddings import EdgeScorer
from arcvec.graph.graph import Graph
from arcvec.settings import Settings


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
