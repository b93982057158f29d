"""The methods without hyper-parameters, by the names the command line and the tables use."""

from __future__ import annotations

from arcvec.methods.degree import DegreeProduct
from arcvec.methods.method import Method
from arcvec.methods.neighbours import AdamicAdar, CommonNeighbours, Jaccard

BASELINES: dict[str, type[Method]] = {
    "degree-product": DegreeProduct,
    "common-neighbours": CommonNeighbours,
    "jaccard": Jaccard,
    "adamic-adar": AdamicAdar,
}
