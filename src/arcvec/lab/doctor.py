"""What a bug report needs: the machine, the versions, and whether this installation computes right.

Every check compares a part of arcvec with a slow and simple computation of the same thing. The
installation may be broken, so whatever loads compiled code is imported where it is used.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from arcvec import __version__
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.parallel.threads import num_cores
from arcvec.recommendation.exact import top_k
from arcvec.sampling.settings import WalkSettings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "duckdb", "pydantic")
_OPTIONAL = ("pyarrow", "matplotlib", "fastapi", "uvicorn", "gensim")
_SIMD = ("sse4.2", "avx2", "avx512f", "amx-tile", "neon", "sve")
_NUM_NODES = 40


def diagnose() -> dict[str, Any]:
    """Return whether every check passed, facts by name, and the outcomes of the checks."""
    checks = []
    for name, check in _CHECKS.items():
        start, problem = time.perf_counter(), ""
        try:
            check()
        except Exception as error:  # any error belongs in the report
            problem = _describe(error)
        seconds = round(time.perf_counter() - start, 3)
        checks.append({"name": name, "problem": problem, "seconds": seconds})
    facts = {}
    # After the checks: numba has no threading layer before a parallel kernel has run.
    for name, fact in _FACTS.items():
        try:
            facts[name] = fact()
        except Exception as error:
            facts[name] = f"unknown: {_describe(error)}"
    healthy = not any(check["problem"] for check in checks)
    return {"healthy": healthy, "facts": facts, "checks": checks}


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _processor() -> str:
    return f"{import_module('llvmlite.binding').get_host_cpu_name()}, {num_cores()} cores to use"


def _simd() -> str:
    features = import_module("llvmlite.binding").get_host_cpu_features()
    return " ".join(name for name in _SIMD if features.get(name)) or "none of note"


def _numba() -> str:
    numba = import_module("numba")
    return f"{numba.get_num_threads()} threads, {numba.threading_layer()}"


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} (not installed)"


def _cache_folder() -> str:
    # Not public in numba; if it goes, the fact is reported as unknown.
    folder = import_module("arcvec.kernels.topk").keep_best._cache.cache_path
    writable = os.access(folder, os.W_OK)
    return str(folder) if writable else f"{folder} (not writable: compiled again in every run)"


_FACTS: dict[str, Callable[[], str]] = {
    "arcvec": lambda: __version__,
    "python": lambda: f"{platform.python_version()} ({sys.executable})",
    "system": platform.platform,
    "processor": _processor,
    "SIMD": _simd,
    "memory": lambda: f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
    "packages": lambda: " ".join(map(_version, _PACKAGES)),
    "optional": lambda: " ".join(map(_version, _OPTIONAL)),
    "torch": lambda: str(import_module("arcvec.training.start").describe_torch()),
    "numba": _numba,
    "compiled code": _cache_folder,
}


def _check_walks() -> None:
    pairs = import_module("arcvec.sampling.pairs")
    sources, targets = np.random.default_rng(0).integers(_NUM_NODES, size=(2, 400))
    graph = Graph.from_edges(sources, targets, nodes=_NUM_NODES)
    settings = WalkSettings(kind="forward", walk_length=10)
    walks = pairs.WalkPairs(graph, settings, seed=0).walks(0, 200)
    steps = np.stack([walks[:, :-1], walks[:, 1:]], axis=-1).reshape(-1, 2)
    edges = set(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    for here, there in steps[steps[:, 1] >= 0].tolist():
        if (here, there) not in edges:
            raise ValueError(f"a walk went from {here} to {there}, which is no edge")


def _check_top_k() -> None:
    # Small integers: their products are exact, and full of ties.
    source, target = np.random.default_rng(1).integers(-2, 3, size=(2, _NUM_NODES, 8))
    nodes = NodeNames.numbered(_NUM_NODES)
    embeddings = EdgeEmbeddings(source.astype(np.float32), target.astype(np.float32), nodes)
    found, _ = top_k(embeddings, np.arange(_NUM_NODES), 5)
    for node, scores in enumerate(source @ target.T):
        order = np.argsort(-scores, kind="stable")
        expected = order[order != node][:5].tolist()
        if found[node].tolist() != expected:
            raise ValueError(f"the best of node {node} are {expected}, got {found[node].tolist()}")


def _check_training() -> None:
    # Two groups; edges go from the first to the second and never back.
    first, second = np.meshgrid(np.arange(20), np.arange(20, 40))
    ends = np.stack([first.ravel(), second.ravel()])
    kept = np.random.default_rng(2).random(first.size) < 0.6
    training = TrainSettings(steps=40, batch_pairs=2000, validation_fraction=0)
    graph = Graph.from_edges(*ends[:, kept], nodes=_NUM_NODES)
    embeddings = EdgeProjection(dim=4, seed=0, training=training).fit(graph)
    auc = roc_auc(embeddings.score(*ends[:, ~kept]), embeddings.score(*ends[::-1]))
    if not auc > 0.9:
        raise ValueError(f"expected edges to score above their reverses, got an AUC of {auc:.3f}")


def _check_files() -> None:
    vectors = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)
    embeddings = EdgeEmbeddings(vectors, -vectors, NodeNames.from_strings(["a", "ü", "two words"]))
    with tempfile.TemporaryDirectory() as folder:
        embeddings.save(Path(folder) / "result")
        loaded = EdgeEmbeddings.load(Path(folder) / "result", mmap=False)
    if not np.array_equal(loaded.source, vectors) or list(loaded.nodes) != list(embeddings.nodes):
        raise ValueError(f"a result in {tempfile.gettempdir()} was not read as it was written")


_CHECKS: dict[str, Callable[[], None]] = {
    "compiled walks": _check_walks,
    "compiled top-k": _check_top_k,
    "training": _check_training,
    "files": _check_files,
}
