"""The reports of several scorers on one split, side by side."""

from __future__ import annotations

from collections.abc import Mapping

from arcvec.evaluation.link_prediction import LinkPredictionReport
from arcvec.evaluation.table_text import Entry, Table


def compare_reports(reports: Mapping[str, LinkPredictionReport], title: str) -> Table:
    """Return a table with a row for every scorer, by name; the best number of a column is bold."""
    columns: dict[str, list[float | None]] = {
        "AUC": [r.auc for r in reports.values()],
        "random": [r.auc_random for r in reports.values()],
        "reversed": [r.auc_reversed for r in reports.values()],
        "AP": [r.average_precision for r in reports.values()],
        "MRR": [r.mrr for r in reports.values()],
        "hits@10": [r.hits_at_10 for r in reports.values()],
        "hits@100": [r.hits_at_100 for r in reports.values()],
    }
    shown = {name: values for name, values in columns.items() if values[0] is not None}
    note = "AP: average precision"
    if "reversed" in shown:
        note = "random, reversed: AUC against these negatives alone; " + note
    else:
        del shown["random"]  # the only negatives there are, so that AUC says the same
    rows = tuple(
        (Entry(method), *(_entry(values[row], values) for values in shown.values()))
        for row, method in enumerate(reports)
    )
    return Table(title, ("method", *shown), rows, notes=(note,))


def _entry(value: float | None, column: list[float | None]) -> Entry:
    if value is None:
        return Entry("-")
    return Entry(f"{value:.3f}", bold=value == max(v for v in column if v is not None))
