"""The paper's numbers beside ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from arcvec.evaluation.results import Result
from arcvec.evaluation.summary import in_order, row_keys, summarise
from arcvec.evaluation.table_text import Entry, Table, short, signed

PaperRows: TypeAlias = Sequence[Mapping[str, str]]
"""Rows of a csv of the paper's numbers, as text; empty where the paper has none."""

TOLERANCE = 0.015
"""How far below the paper a cell may be to count as reproduced."""


def read_paper(path: Path) -> list[dict[str, str]]:
    """Return the rows of a csv of the paper's numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def paper_table(results: Sequence[Result], paper: PaperRows, groups: Mapping[str, str]) -> Table:
    """Return the paper's AUC, ours, and the difference: dataset and dim down, methods across.

    Args:
        paper: columns dataset, method, dim (empty for a method without), auc.
        groups: heading above each method.
    """
    printed = {(row["dataset"], row["method"], row["dim"]): row["auc"] for row in paper}
    there = {method for _, method, _ in printed}
    methods = [method for method in in_order(r.method for r in results) if method in there]
    rows = []
    for dataset, dim in row_keys(results):
        at = "" if dim is None else str(dim)
        entries = []
        for method in methods:
            theirs = printed.get((dataset, method, at), printed.get((dataset, method, "")))
            ours = summarise(results, dataset, method, dim, "auc").mean
            entries.append(Entry(_beside(theirs, ours)))
        rows.append((Entry(dataset), Entry(at), *entries))
    return Table(
        title="AUC beside the paper's",
        header=("dataset", "dim", *methods),
        groups=("", "", *(groups.get(method, "") for method in methods)),
        rows=tuple(rows),
        notes=("paper → ours (difference); † the paper ran out of memory",),
    )


def agreement_table(results: Sequence[Result], paper: PaperRows) -> Table:
    """Return how far each method is from the paper, over all cells that both have."""
    printed = {(row["dataset"], row["method"], row["dim"]): row["auc"] for row in paper}
    rows = []
    for method in in_order(result.method for result in results):
        keys = in_order((r.dataset, r.dim) for r in results if r.method == method)
        apart = []
        for dataset, dim in keys:
            theirs = printed.get((dataset, method, "" if dim is None else str(dim)))
            ours = summarise(results, dataset, method, dim, "auc").mean
            if theirs and ours is not None:
                apart.append(ours - float(theirs))
        if apart:
            middle = (signed(float(f(apart))) for f in (np.mean, np.min, np.max))
            met = f"{sum(difference >= -TOLERANCE for difference in apart)} of {len(apart)}"
            rows.append(tuple(map(Entry, (method, *middle, met))))
    last = f"within {short(TOLERANCE)} or above"
    header = ("method", "mean difference", "lowest", "highest", last)
    return Table("Agreement with the paper", header, tuple(rows))


def _beside(theirs: str | None, ours: float | None) -> str:
    """Return one entry; `theirs` is None if the paper has no such cell, empty if it failed."""
    if theirs is None:
        return "" if ours is None else f"→ {short(ours)}"
    left = short(float(theirs)) if theirs else "†"
    if ours is None:
        return f"{left} → -"
    right = f"{left} → {short(ours)}"
    return f"{right} ({signed(ours - float(theirs))})" if theirs else right
