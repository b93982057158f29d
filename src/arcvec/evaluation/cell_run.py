"""One cell, run: fit, measure, and report in plain values."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from arcvec.embeddings import EdgeScorer
from arcvec.evaluation.grid import METHODS
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.split import Split, read_split
from arcvec.kernels.curves import roc_auc


@dataclass(frozen=True)
class Task:
    """What a worker is told; plain values, so that it travels as JSON.

    Attributes:
        settings: of the method, complete.
    """

    split: str
    method: str
    settings: dict[str, Any]
    ranking: bool


def run_task(task: Task) -> dict[str, Any]:
    """Return the outcome of a cell: status "done" with its numbers, or "failed" with the error."""
    try:
        return {"status": "done", "error": "", "numbers": _measure(task)}
    except Exception as error:  # whatever a method does, the other cells go on
        text = " ".join(str(error).split())
        name = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return {
            "status": "failed",
            "error": f"{name}{text}".removesuffix(": "),
            "traceback": traceback.format_exc(),
        }


def _measure(task: Task) -> dict[str, Any]:
    split = _read_split_once(task.split)
    _import_ahead(task.method)
    reset_peak_memory()
    started, busy = time.perf_counter(), time.process_time()
    scorer = METHODS[task.method].model_validate(task.settings).fit(split.train)
    fitted, worked = time.perf_counter(), time.process_time()
    report = link_prediction(scorer, split, ranking=task.ranking)
    known = getattr(scorer, "settings", {})
    return {
        **report.as_dict(),
        "train_auc": train_auc(scorer, split),
        "norm_std": known.get("norm_std"),
        "validation_auc": known.get("validation_auc"),
        "steps_done": known.get("steps_done"),
        "fit_seconds": round(fitted - started, 3),
        "fit_cpu_seconds": round(worked - busy, 3),
        "evaluation_seconds": round(time.perf_counter() - fitted, 3),
        "peak_memory_mb": peak_memory_mb(),
    }


def train_auc(scorer: EdgeScorer, split: Split) -> float:
    """Return the ROC-AUC of the train edges against the train negatives."""
    positive = scorer.score(*split.train.edges())
    negative = scorer.score(split.train_negatives[:, 0], split.train_negatives[:, 1])
    return roc_auc(positive, negative)


def reset_peak_memory() -> None:
    """Start the measure of peak memory anew, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float | None:
    """Return the most memory this process held since the last reset; None where unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return round(int(kilobytes[0]) / 1024, 1) if kilobytes else None


@lru_cache(maxsize=1)
def _read_split_once(path: str) -> Split:
    return read_split(path)


def _import_ahead(method: str) -> None:
    # So that the first fit of a worker is not charged for the import of torch.
    if method == "edge-projection":
        import arcvec.training.loop  # noqa: F401
