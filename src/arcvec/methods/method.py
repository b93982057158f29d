"""What every method is: settings with one verb."""

from __future__ import annotations

from abc import abstractmethod

from arcvec.embeddings import EdgeScorer
from arcvec.graph.graph import Graph
from arcvec.settings import Settings


class Method(Settings):
    """Settings of a method; `fit` turns a graph into a scorer and leaves the settings unchanged."""

    @abstractmethod
    def fit(self, graph: Graph) -> EdgeScorer:
        """Return a scorer of the edges of `graph`; the same for the same graph and settings."""
