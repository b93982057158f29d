"""What a bug report needs: versions, threads, extras, free space, and what cannot be imported."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from arcvec import __version__
from arcvec.parallel.threads import num_cores

_PACKAGES = ("numpy", "scipy", "numba", "torch", "duckdb", "pydantic")
_EXTRAS = {
    "plot": ("matplotlib",),
    "parquet": ("pyarrow",),
    "baselines": ("gensim", "implicit"),
    "serve": ("fastapi", "prometheus_client", "uvicorn"),
}


def diagnose() -> dict[str, Any]:
    """Return whether all packages can be imported, facts by name, and the problems by package."""
    versions, problems = [], {}
    for package in _PACKAGES:
        try:
            import_module(package)
            versions.append(f"{package} {metadata.version(package)}")
        except Exception as error:  # any error belongs in the report
            problems[package] = f"{type(error).__name__}: {error}"
    facts = {
        "arcvec": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.platform()}, {num_cores()} cores to use",
        "packages": ", ".join(versions),
        "extras": ", ".join(filter(_is_installed, _EXTRAS)) or "none",
        "free memory": _free_memory(),
        "free disk": ", ".join(f"{_free_space(folder)} in {folder}" for folder in _folders()),
    }
    if "torch" not in problems:
        facts["torch"] = import_module("arcvec.training.start").describe_torch()
    if "numba" not in problems:
        facts["numba"] = f"{import_module('numba').get_num_threads()} threads"
    return {"healthy": not problems, "facts": facts, "problems": problems}


def _is_installed(extra: str) -> bool:
    return all(find_spec(package) for package in _EXTRAS[extra])


def _folders() -> list[str]:
    """Return where results and temporary files go."""
    return list(dict.fromkeys([os.getcwd(), tempfile.gettempdir()]))


def _free_space(folder: str) -> str:
    return f"{shutil.disk_usage(folder).free / 2**30:.1f} GiB"


def _free_memory() -> str:
    try:
        page, free, pages = map(os.sysconf, ("SC_PAGE_SIZE", "SC_AVPHYS_PAGES", "SC_PHYS_PAGES"))
    except (AttributeError, ValueError):  # not on every system
        return "unknown"
    return f"{page * free / 2**30:.1f} of {page * pages / 2**30:.1f} GiB"
