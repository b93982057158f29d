"""arcvec: source and target vectors for every node of a graph."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings as EdgeEmbeddings
    from arcvec.embeddings import EdgeScorer as EdgeScorer
    from arcvec.evaluation.link_prediction import link_prediction as link_prediction
    from arcvec.export.vectors import export_vectors as export_vectors
    from arcvec.graph.components import largest_component as largest_component
    from arcvec.graph.convert import graph_from as graph_from
    from arcvec.graph.files import load_graph as load_graph
    from arcvec.graph.files import open_graph as open_graph
    from arcvec.graph.files import save_graph as save_graph
    from arcvec.graph.graph import Graph as Graph
    from arcvec.graph.ingest import read_edges as read_edges
    from arcvec.graph.split import Split as Split
    from arcvec.graph.split import read_split as read_split
    from arcvec.graph.split import save_split as save_split
    from arcvec.graph.split import split_edges as split_edges
    from arcvec.methods.degree import DegreeProduct as DegreeProduct
    from arcvec.methods.edge_projection import EdgeProjection as EdgeProjection
    from arcvec.methods.edge_projection import MixedProjections as MixedProjections
    from arcvec.methods.neighbours import AdamicAdar as AdamicAdar
    from arcvec.methods.neighbours import CommonNeighbours as CommonNeighbours
    from arcvec.methods.neighbours import Jaccard as Jaccard
    from arcvec.methods.presets import load_method as load_method
    from arcvec.recommendation.calibration import calibrate as calibrate
    from arcvec.recommendation.exact import recommend as recommend
    from arcvec.recommendation.explain import explain as explain
    from arcvec.recommendation.index_files import open_index as open_index
    from arcvec.recommendation.new_nodes import add_nodes as add_nodes
    from arcvec.report.page import write_report as write_report

__version__ = "0.1.0"

# Where each public name lives; a module is imported when one of its names is first used, so that
# `import arcvec` costs neither torch nor numba.
_HOMES = {
    "AdamicAdar": "methods.neighbours",
    "CommonNeighbours": "methods.neighbours",
    "DegreeProduct": "methods.degree",
    "EdgeEmbeddings": "embeddings",
    "EdgeProjection": "methods.edge_projection",
    "EdgeScorer": "embeddings",
    "Graph": "graph.graph",
    "Jaccard": "methods.neighbours",
    "MixedProjections": "methods.edge_projection",
    "Split": "graph.split",
    "add_nodes": "recommendation.new_nodes",
    "calibrate": "recommendation.calibration",
    "explain": "recommendation.explain",
    "export_vectors": "export.vectors",
    "graph_from": "graph.convert",
    "largest_component": "graph.components",
    "link_prediction": "evaluation.link_prediction",
    "load_graph": "graph.files",
    "load_method": "methods.presets",
    "open_graph": "graph.files",
    "open_index": "recommendation.index_files",
    "read_edges": "graph.ingest",
    "read_split": "graph.split",
    "recommend": "recommendation.exact",
    "save_graph": "graph.files",
    "save_split": "graph.split",
    "split_edges": "graph.split",
    "write_report": "report.page",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'arcvec' has no attribute {name!r}")
    return getattr(import_module(f"arcvec.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
