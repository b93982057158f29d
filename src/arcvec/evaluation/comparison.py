"""The reports of several scorers on one split, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    errors = {
        "MRR": [r.mrr_standard_error for r in reports.values()],
        "hits@10": [r.hits_at_10_standard_error for r in reports.values()],
        "hits@100": [r.hits_at_100_standard_error for r in reports.values()],
    }
    shown = {name: values for name, values in columns.items() if values[0] is not None}
    note = "AP: average precision"
    if "reversed" in shown:
        note = "random, reversed: AUC against these negatives alone; " + note
    else:
        del shown["random"]  # the only negatives there are, so that AUC says the same
    rows = tuple(
        (Entry(method), *(_entry(values, row, errors.get(name)) for name, values in shown.items()))
        for row, method in enumerate(reports)
    )
    return Table(title, ("method", *shown), rows, notes=(note, *_sample_notes(reports)))


def _entry(column: list[float | None], row: int, errors: list[float | None] | None) -> Entry:
    value, error = column[row], errors[row] if errors else None
    if value is None:
        return Entry("-")
    text = f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"
    return Entry(text, bold=value == max(v for v in column if v is not None))


def _sample_notes(reports: Mapping[str, LinkPredictionReport]) -> Iterator[str]:
    report = next(iter(reports.values()))
    if report.mrr_standard_error is not None:
        yield (
            f"MRR, hits: of {report.num_ranked:,} of {report.num_test_edges:,} test edges, drawn "
            "at random, with standard errors"
        )
