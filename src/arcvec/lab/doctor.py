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
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from itertools import pairwise
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


@dataclass(frozen=True)
class Check:
    """The outcome of a check; `problem` is empty if it passed."""

    name: str
    problem: str
    seconds: float


@dataclass(frozen=True)
class Diagnosis:
    """Facts by name, and the checks."""

    facts: dict[str, str]
    checks: list[Check]

    @property
    def healthy(self) -> bool:
        """Whether all checks passed."""
        return not any(check.problem for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"healthy": self.healthy, **asdict(self)}


def diagnose() -> Diagnosis:
    """Run every check once, and return the facts about this installation."""
    checks = {
        "compiled walks": _check_walks,
        "compiled top-k": _check_top_k,
        "training": _check_training,
        "files": _check_files,
    }
    outcomes = [_run(name, check) for name, check in checks.items()]
    # After the checks: numba has no threading layer before a parallel kernel has run.
    return Diagnosis({name: _try(fact) for name, fact in _FACTS.items()}, outcomes)


def _run(name: str, check: Callable[[], None]) -> Check:
    start, problem = time.perf_counter(), ""
    try:
        check()
    except Exception as error:  # any error belongs in the report
        problem = f"{type(error).__name__}: {error}"
    return Check(name, problem, round(time.perf_counter() - start, 3))


def _try(fact: Callable[[], str]) -> str:
    """Return a fact, or the error that a broken installation raises instead."""
    try:
        return fact()
    except Exception as error:
        return f"unknown: {type(error).__name__}: {error}"


def _simd() -> str:
    features = import_module("llvmlite.binding").get_host_cpu_features()
    return " ".join(name for name in _SIMD if features.get(name)) or "none of note"


def _numba() -> str:
    import numba

    layer = numba.threading_layer()  # type: ignore[attr-defined]
    return f"{numba.get_num_threads()} threads, {layer}"


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} (not installed)"


def _cache_folder() -> str:
    """Return the folder of numba's cache."""
    from arcvec.kernels import topk

    # Not public in numba; if it goes, the fact is reported as unknown.
    folder = topk.keep_best._cache.cache_path  # type: ignore[attr-defined]
    writable = os.access(folder, os.W_OK)
    return str(folder) if writable else f"{folder} (not writable: compiled again in every run)"


_FACTS: dict[str, Callable[[], str]] = {
    "arcvec": lambda: __version__,
    "python": lambda: f"{platform.python_version()} ({sys.executable})",
    "system": platform.platform,
    "processor": lambda: (
        f"{import_module('llvmlite.binding').get_host_cpu_name()}, {num_cores()} cores to use"
    ),
    "SIMD": _simd,
    "memory": lambda: f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
    "packages": lambda: " ".join(map(_version, _PACKAGES)),
    "optional": lambda: " ".join(map(_version, _OPTIONAL)),
    "torch": lambda: str(import_module("arcvec.training.start").describe_torch()),
    "numba": _numba,
    "compiled code": _cache_folder,
}


def _check_walks() -> None:
    from arcvec.sampling.pairs import WalkPairs

    sources, targets = np.random.default_rng(0).integers(_NUM_NODES, size=(2, 400))
    graph = Graph.from_edges(sources, targets, nodes=_NUM_NODES)
    walks = WalkPairs(graph, WalkSettings(kind="forward", walk_length=10), seed=0).walks(0, 200)
    edges = set(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    for walk in walks.tolist():
        for here, there in pairwise(walk):
            if there >= 0 and (here, there) not in edges:
                raise ValueError(f"a walk went from {here} to {there}, which is no edge")


def _check_top_k() -> None:
    # Small integers: their products are exact, and full of ties.
    source, target = np.random.default_rng(1).integers(-2, 3, size=(2, _NUM_NODES, 8))
    nodes = NodeNames.numbered(_NUM_NODES)
    embeddings = EdgeEmbeddings(source.astype(np.float32), target.astype(np.float32), nodes)
    found, _ = top_k(embeddings, np.arange(_NUM_NODES), 5)
    for node, scores in enumerate(source @ target.T):
        others = [other for other in range(_NUM_NODES) if other != node]
        expected = sorted(others, key=lambda other: (-scores[other], other))[:5]
        if found[node].tolist() != expected:
            raise ValueError(f"the best of node {node} are {expected}, got {found[node].tolist()}")


def _check_training() -> None:
    # Two groups; edges go from the first to the second and never back.
    first, second = np.meshgrid(np.arange(20), np.arange(20, 40))
    kept = np.random.default_rng(2).random(first.size) < 0.6
    ends = first.ravel(), second.ravel()
    graph = Graph.from_edges(ends[0][kept], ends[1][kept], nodes=_NUM_NODES)
    training = TrainSettings(steps=40, batch_pairs=2000, validation_fraction=0)
    embeddings = EdgeProjection(dim=4, seed=0, training=training).fit(graph)
    held_out = embeddings.score(ends[0][~kept], ends[1][~kept])
    auc = roc_auc(held_out, embeddings.score(ends[1], ends[0]))
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
