"""What a bug report needs: the machine, the versions, and whether this installation computes right.

Every check holds a part of arcvec against a slow and simple computation of the same thing.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from arcvec import __version__
from arcvec.cores import num_cores
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "duckdb", "pydantic")
_OPTIONAL = ("pyarrow", "matplotlib", "fastapi", "uvicorn", "gensim")
_SIMD = ("sse4.2", "avx2", "avx512f", "amx-tile", "neon", "sve")
_NUM_NODES = 40


@dataclass(frozen=True)
class Check:
    """What came of holding a part against a simple computation.

    Attributes:
        problem: what went wrong; empty if nothing did.
    """

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
    """Return what is known of this installation, every check run once."""
    checks = [
        _run("compiled walks", _check_walks),
        _run("compiled top-k", _check_top_k),
        _run("training", _check_training),
        _run("files", _check_files),
    ]
    # After the checks: numba knows its threads only when something has run in them.
    return Diagnosis(_facts(), checks)


def _run(name: str, check: Callable[[], None]) -> Check:
    start, problem = time.perf_counter(), ""
    try:
        check()
    except Exception as error:  # whatever it is, it is what the report is for
        problem = f"{type(error).__name__}: {error}"
    return Check(name, problem, round(time.perf_counter() - start, 3))


def _facts() -> dict[str, str]:
    cores = num_cores()
    return {
        "arcvec": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "processor": _told(lambda: f"{_llvm().get_host_cpu_name()}, {cores} cores to use"),
        "SIMD": _told(_simd),
        "memory": _memory(),
        "packages": " ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "optional": " ".join(f"{name} {_version(name)}" for name in _OPTIONAL),
        "torch": _told(_torch),
        "numba": _told(_numba),
        "compiled code": _told(_cache_folder),
    }


def _told(fact: Callable[[], str]) -> str:
    """Return a fact that a broken installation may fail to give: then, how it fails."""
    try:
        return fact()
    except Exception as error:
        return f"unknown: {type(error).__name__}: {error}"


def _llvm() -> Any:
    from llvmlite import binding

    return binding


def _simd() -> str:
    features = _llvm().get_host_cpu_features()
    return " ".join(name for name in _SIMD if features.get(name)) or "none of note"


def _torch() -> str:
    from arcvec.methods.training_plan import describe_torch

    return describe_torch()


def _numba() -> str:
    import numba

    layer = numba.threading_layer()  # type: ignore[attr-defined]
    return f"{numba.get_num_threads()} threads, {layer}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not there)"


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{total / 2**30:.1f} GiB"


def _cache_folder() -> str:
    """Return where compiled code is kept from run to run."""
    from arcvec.kernels import topk

    # Public neither in numba's documentation nor elsewhere; missing, it is only not told.
    folder = getattr(getattr(topk.keep_best, "_cache", None), "cache_path", None)
    if folder is None:
        return "unknown"
    writable = os.access(folder, os.W_OK)
    return str(folder) if writable else f"{folder} (not writable: compiled anew in every run)"


def _graph() -> Graph:
    sources, targets = np.random.default_rng(0).integers(_NUM_NODES, size=(2, 400))
    return Graph.from_edges(sources, targets, nodes=_NUM_NODES)


def _check_walks() -> None:
    from arcvec.sampling.pairs import WalkPairs
    from arcvec.sampling.settings import WalkSettings

    graph = _graph()
    walks = WalkPairs(graph, WalkSettings(kind="forward", walk_length=10), seed=0).walks(0, 200)
    edges = set(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    for walk in walks.tolist():
        for here, there in pairwise(walk):
            if there >= 0 and (here, there) not in edges:
                raise ValueError(f"a walk went from {here} to {there}, which is no edge")


def _check_top_k() -> None:
    from arcvec.recommendation.exact import top_k

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
    from arcvec.kernels.curves import roc_auc
    from arcvec.methods.edge_projection import EdgeProjection
    from arcvec.training.settings import TrainSettings

    # Two groups; edges go from the first to the second and never back.
    first, second = np.meshgrid(np.arange(20), np.arange(20, 40))
    kept = np.random.default_rng(2).random(first.size) < 0.6
    ends = first.ravel(), second.ravel()
    graph = Graph.from_edges(ends[0][kept], ends[1][kept], nodes=_NUM_NODES)
    training = TrainSettings(steps=40, batch_pairs=2000, validation_fraction=0)
    embeddings = EdgeProjection(dim=4, seed=0, training=training).fit(graph)
    auc = roc_auc(
        embeddings.score(ends[0][~kept], ends[1][~kept]), embeddings.score(ends[1], ends[0])
    )
    if not auc > 0.9:
        raise ValueError(f"expected edges to be told from their reverses, got an AUC of {auc:.3f}")


def _check_files() -> None:
    vectors = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)
    embeddings = EdgeEmbeddings(vectors, -vectors, NodeNames.from_strings(["a", "ü", "two words"]))
    with tempfile.TemporaryDirectory() as folder:
        embeddings.save(Path(folder) / "result")
        loaded = EdgeEmbeddings.load(Path(folder) / "result", mmap=False)
    same = np.array_equal(loaded.source, vectors) and list(loaded.nodes) == list(embeddings.nodes)
    if not same:
        raise ValueError(f"a result written in {tempfile.gettempdir()} was not read as it was")
