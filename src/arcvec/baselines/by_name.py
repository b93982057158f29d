"""Every method by the name the command line and the tables use; imported on first use."""

from __future__ import annotations

import pkgutil
from collections import UserDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from arcvec.method import Method

_CLASSES = {
    "degree-product": "baselines.paths:DegreeProduct",
    "popularity": "baselines.paths:Popularity",
    "common-neighbours": "baselines.paths:CommonNeighbours",
    "jaccard": "baselines.paths:Jaccard",
    "adamic-adar": "baselines.paths:AdamicAdar",
    "resource-allocation": "baselines.paths:ResourceAllocation",
    "item-cosine": "baselines.paths:ItemCosine",
    "three-paths": "baselines.paths:ThreePaths",
    "three-paths-over-degree": "baselines.paths:ThreePathsOverDegree",
    "pagerank": "baselines.paths:PageRank",
    "katz": "baselines.paths:Katz",
    "eigenmaps": "baselines.factorisations:LaplacianEigenMaps",
    "node2vec": "baselines.node2vec:Node2Vec",
    "dngr": "baselines.dense:DNGR",
    "svd": "baselines.factorisations:NormalisedSVD",
    "hope": "baselines.factorisations:HOPE",
    "strap": "baselines.factorisations:STRAP",
    "netmf": "baselines.factorisations:NetMF",
    "watch-your-step": "baselines.dense:WatchYourStep",
    "ials": "baselines.recommenders:IALS",
    "bpr": "baselines.recommenders:BPR",
}

if TYPE_CHECKING:
    Baseline: TypeAlias = str
else:
    Baseline = Literal[tuple(_CLASSES)]


class _LazyClasses(UserDict[str, Any]):
    """Classes by name, given as "module:Class"; looking one up imports its module."""

    def __getitem__(self, name: str) -> type[Method]:
        method: type[Method] = pkgutil.resolve_name(f"arcvec.{self.data[name]}")
        return method


BASELINES: Mapping[str, type[Method]] = _LazyClasses(_CLASSES)
METHODS: Mapping[str, type[Method]] = _LazyClasses(
    {
        "edge-projection": "training.edge_projection:EdgeProjection",
        "two-stages": "recommendation.rerank_fit:TwoStages",
        **_CLASSES,
    }
)
"""The baselines, and arcvec's own methods first."""

CHEAP_BASELINES: tuple[Baseline, ...] = (
    "degree-product",
    "adamic-adar",
    "item-cosine",
    "three-paths",
    "pagerank",
)
"""Baselines without training, the strongest of them by rank or by AUC on some kind of graph."""
