"""Every method to compare with, by the names the command line and the tables use."""

from __future__ import annotations

from typing import Literal, TypeAlias

from arcvec.methods.degree import DegreeProduct
from arcvec.methods.dngr import DNGR
from arcvec.methods.eigenmaps import LaplacianEigenMaps
from arcvec.methods.hope import HOPE
from arcvec.methods.katz import Katz
from arcvec.methods.method import Method
from arcvec.methods.neighbours import AdamicAdar, CommonNeighbours, Jaccard, ResourceAllocation
from arcvec.methods.netmf import NetMF
from arcvec.methods.node2vec import Node2Vec
from arcvec.methods.strap import STRAP
from arcvec.methods.svd import NormalisedSVD
from arcvec.methods.three_paths import ThreePaths
from arcvec.methods.watch_your_step import WatchYourStep

Baseline: TypeAlias = Literal[
    "degree-product",
    "common-neighbours",
    "jaccard",
    "adamic-adar",
    "resource-allocation",
    "three-paths",
    "katz",
    "eigenmaps",
    "node2vec",
    "dngr",
    "svd",
    "hope",
    "strap",
    "netmf",
    "watch-your-step",
]

BASELINES: dict[str, type[Method]] = {
    "degree-product": DegreeProduct,
    "common-neighbours": CommonNeighbours,
    "jaccard": Jaccard,
    "adamic-adar": AdamicAdar,
    "resource-allocation": ResourceAllocation,
    "three-paths": ThreePaths,
    "katz": Katz,
    "eigenmaps": LaplacianEigenMaps,
    "node2vec": Node2Vec,
    "dngr": DNGR,
    "svd": NormalisedSVD,
    "hope": HOPE,
    "strap": STRAP,
    "netmf": NetMF,
    "watch-your-step": WatchYourStep,
}

CHEAP_BASELINES: tuple[Baseline, ...] = ("degree-product", "common-neighbours", "adamic-adar")
"""Those that take no training, and that a result must beat to be worth its own."""
