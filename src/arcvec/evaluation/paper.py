"""The paper's numbers beside ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from arcvec.evaluation.results import Result
from arcvec.evaluation.summary import Notes, Summary, in_order, show_summary, summarise
from arcvec.evaluation.table_text import Entry, Table, short, signed

PaperRows: TypeAlias = Sequence[Mapping[str, str]]
"""Rows of a csv of the paper's numbers, as text; empty where the paper has none."""

TOLERANCE = 0.015
"""How far below the paper a cell may be to count as reproduced."""


def read_paper(path: Path) -> list[dict[str, str]]:
    """Return the rows of a csv of the paper's numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def paper_table(
    results: Sequence[Result], paper: PaperRows, counterparts: Mapping[str, str]
) -> Table:
    """Return our AUC, the paper's, and the difference: dataset and method down, dims across.

    Args:
        paper: columns dataset, method, dim (empty for a method without), auc.
        counterparts: the paper's name for each of our methods; others are left out.
    """
    printed = _printed(paper)
    methods = [m for m in in_order(r.method for r in results) if m in counterparts]
    dims = sorted({r.dim for r in results if r.method in methods and r.dim is not None})
    notes = Notes()
    rows = []
    for dataset in in_order(result.dataset for result in results):
        for method in methods:
            runs = [r for r in results if (r.dataset, r.method) == (dataset, method)]
            entries = [Entry("")] * max(1, len(dims))
            for dim in sorted({run.dim for run in runs}, key=lambda dim: dim or 0):
                ours = summarise(runs, dataset, method, dim, "auc")
                theirs = printed.get((dataset, counterparts[method], dim))
                column = 0 if dim is None else dims.index(dim)
                entries[column] = Entry(_beside(ours, theirs, notes))
            rows.append((Entry(dataset), Entry(method), *entries))
    return Table(
        title="AUC beside the paper's",
        header=("dataset", "method", *(map(str, dims) if dims else ("auc",))),
        rows=tuple(rows),
        notes=(
            "ours (the paper's, difference); † the paper ran out of memory; methods without a dim "
            "stand in the first column",
            *notes.lines(),
        ),
    )


def agreement_table(
    results: Sequence[Result], paper: PaperRows, counterparts: Mapping[str, str]
) -> Table:
    """Return how far each method is from the paper, over all cells that both have."""
    printed = _printed(paper)
    rows = []
    for method in in_order(r.method for r in results if r.method in counterparts):
        keys = in_order((r.dataset, r.dim) for r in results if r.method == method)
        apart = []
        for dataset, dim in keys:
            theirs = printed.get((dataset, counterparts[method], dim))
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


def _printed(paper: PaperRows) -> dict[tuple[str, str, int | None], str]:
    return {
        (row["dataset"], row["method"], int(row["dim"]) if row["dim"] else None): row["auc"]
        for row in paper
    }


def _beside(ours: Summary, theirs: str | None, notes: Notes) -> str:
    """Return one entry; `theirs` is None if the paper has no such cell, empty if it failed."""
    text = show_summary(ours, short, notes)
    if theirs is None:
        return text
    if not theirs or ours.mean is None:
        return f"{text} ({short(float(theirs)) if theirs else '†'})"
    return f"{text} ({short(float(theirs))}, {signed(ours.mean - float(theirs))})"
