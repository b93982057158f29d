"""What a result remembers of the fit that made it."""

from __future__ import annotations

from typing import Any

from arcvec import __version__
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method


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
