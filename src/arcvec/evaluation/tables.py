"""Tables from results: AUC by dim, test over train AUC, spread of norms; beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.experiment_file import ComparisonSettings, ExperimentSettings
from arcvec.evaluation.paper import agreement_table, paper_table, read_paper
from arcvec.evaluation.results import Result
from arcvec.evaluation.summary import (
    Notes,
    Summary,
    in_order,
    row_keys,
    show_summary,
    summarise,
    values_of,
)
from arcvec.evaluation.table_text import Entry, Table, short, signed

_TITLES = {
    "auc": "AUC on test edges",
    "auc_random": "AUC against random negatives alone",
    "auc_reversed": "AUC against reversed one-way edges alone",
    "train_auc": "AUC on the edges trained on",
    "average_precision": "Average precision",
    "mrr": "Mean reciprocal rank of test edges among all nodes",
    "fit_seconds": "Seconds of one fit",
    "fit_cpu_seconds": "CPU seconds of one fit, all threads together",
    "peak_memory_mb": "Peak memory of fit and evaluation, MB",
}
_AMOUNTS = (
    *("fit_seconds", "fit_cpu_seconds", "evaluation_seconds", "peak_memory_mb"),
    *("steps_done", "norm_std"),
)


def experiment_tables(experiment: ExperimentSettings, results: Sequence[Result]) -> list[Table]:
    """Return the tables of an experiment, the one it is about first."""
    paper = None if experiment.paper is None else read_paper(experiment.paper)
    if experiment.kind == "generalisation" and experiment.comparison is not None:
        return [generalisation_table(results, experiment.comparison, paper)]
    if experiment.kind == "norms":
        return [norms_table(results, paper)]
    if experiment.kind == "ablation":
        return [ablation_table(results, number) for number in ("auc", *experiment.also)]
    tables = [grid_table(experiment, results, "auc")]
    if paper is not None:
        there = {row["method"] for row in paper}
        names = {entry.label: entry.counterpart or entry.label for entry in experiment.methods}
        counterparts = {label: name for label, name in names.items() if name in there}
        tables += [table(results, paper, counterparts) for table in (paper_table, agreement_table)]
    return [*tables, *(grid_table(experiment, results, name) for name in experiment.also)]


def grid_table(
    experiment: ExperimentSettings, results: Sequence[Result], number: str = "auc"
) -> Table:
    """Return a row for every dataset and dim, a column for every method; the best of a row bold.

    Entries are means over seeds, with the standard deviation where there are several. AUC has a
    last column: by what part ours lowers the error (1 - AUC) of the best compared method.
    """
    notes = Notes()
    compared = experiment.comparison if number == "auc" else None
    methods = in_order(result.method for result in results)
    groups = {entry.label: entry.group for entry in experiment.methods}
    rows = []
    for dataset, dim in row_keys(results):
        summaries = {m: summarise(results, dataset, m, dim, number) for m in methods}
        entries = [
            Entry(
                show_summary(summary, _form(number), notes),
                bold=_is_best(summary, summaries, number),
            )
            for summary in summaries.values()
        ]
        last = [] if compared is None else [Entry(_reduction(summaries, compared))]
        rows.append((Entry(dataset), Entry("" if dim is None else str(dim)), *entries, *last))
    return Table(
        title=_TITLES.get(number, number),
        header=("dataset", "dim", *methods, *(() if compared is None else ("error reduction",))),
        groups=(
            "",
            "",
            *(groups.get(m, "") for m in methods),
            *(() if compared is None else ("",)),
        ),
        rows=tuple(rows),
        notes=(*notes.lines(), *_explain(compared)),
    )


def ablation_table(results: Sequence[Result], number: str = "auc") -> Table:
    """Return methods down and datasets across; all but the first with what they differ from it."""
    notes = Notes()
    places = row_keys(results)
    one_dim = len({dim for _, dim in places}) == 1
    rows = []
    for i, method in enumerate(in_order(result.method for result in results)):
        entries = []
        for dataset, dim in places:
            ours = summarise(results, dataset, method, dim, number)
            first = summarise(results, dataset, results[0].method, dim, number)
            text = show_summary(ours, _form(number), notes)
            if i > 0 and number not in _AMOUNTS and None not in (ours.mean, first.mean):
                text += f" ({signed((ours.mean or 0) - (first.mean or 0))})"
            entries.append(Entry(text))
        rows.append((Entry(method), *entries))
    return Table(
        title=_TITLES.get(number, number),
        header=("method", *(d if one_dim else f"{d}, {dim}" for d, dim in places)),
        rows=tuple(rows),
        notes=(f"in brackets: difference to {results[0].method}", *notes.lines())
        if number not in _AMOUNTS
        else tuple(notes.lines()),
    )


def generalisation_table(
    results: Sequence[Result],
    comparison: ComparisonSettings,
    paper: Sequence[Mapping[str, str]] | None = None,
) -> Table:
    """Return the mean of test AUC / train AUC over all runs of two methods, with a t-test.

    The t-test is Welch's, two-sided. The paper does not name its own, but the degrees of freedom
    behind its p-values are not whole numbers, as in Welch's.
    """
    from scipy.stats import ttest_ind

    shallow, deep = comparison.against[0], comparison.ours
    printed = {row["dataset"]: row for row in paper or ()}
    beside = ("shallow", "deep", "t", "p") if printed else ()
    rows = []
    for dataset in in_order(result.dataset for result in results):
        ratios = {method: auc_ratios(results, dataset, method) for method in (shallow, deep)}
        entries = [
            short(float(values.mean())) if values.size else "-" for values in ratios.values()
        ]
        test = ["-", "-"]
        if min(values.size for values in ratios.values()) > 1:
            outcome = ttest_ind(ratios[deep], ratios[shallow], equal_var=False)
            test = [f"{outcome.statistic:.2f}", f"{outcome.pvalue:.1e}"]
        runs = "/".join(str(values.size) for values in ratios.values())
        theirs = [printed.get(dataset, {}).get(name, "") for name in beside]
        rows.append(tuple(map(Entry, (dataset, *entries, *test, runs, *theirs))))
    return Table(
        "Generalisation: mean of test AUC / train AUC",
        ("dataset", shallow, deep, "t", "p", "runs", *(f"paper: {name}" for name in beside)),
        tuple(rows),
        notes=("t, p: Welch's t-test, two-sided, over all runs (dims and seeds)",),
    )


def norms_table(
    results: Sequence[Result], paper: Sequence[Mapping[str, str]] | None = None
) -> Table:
    """Return the quartiles, over all runs, of the standard deviation of the nodes' norms."""
    printed = {(row["dataset"], row["method"]): row for row in paper or ()}
    quartiles = ("25", "50", "75")
    rows = []
    for dataset in in_order(result.dataset for result in results):
        for method in in_order(result.method for result in results):
            spreads = values_of(results, dataset, method, "norm_std")
            ours = (
                [f"{v:.3f}" for v in np.percentile(spreads, [25, 50, 75])] if spreads.size else []
            )
            row = printed.get((dataset, method), {})
            theirs = [row.get(quartile, "") for quartile in quartiles] if printed else []
            texts = (dataset, method, *(ours or ["-"] * 3), str(spreads.size), *theirs)
            rows.append(tuple(map(Entry, texts)))
    beside = tuple(f"paper: {q}th" for q in quartiles) if printed else ()
    return Table(
        "Standard deviation of the embedding norms: quartiles over all runs",
        ("dataset", "method", "25th", "50th", "75th", "runs", *beside),
        tuple(rows),
        notes=("norms of f(Y_u) for deep models, of Y_u for shallow ones",),
    )


def auc_curves(results: Sequence[Result]) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return, by dataset and method, a (dims, 3) array of dim, mean AUC and spread over seeds.

    A method without a dim has one row, whose dim is NaN; one without finished runs has none. The
    spread of a single run is 0.
    """
    curves: dict[str, dict[str, NDArray[np.float64]]] = {}
    for dataset in in_order(result.dataset for result in results):
        curves[dataset] = {}
        for method in in_order(result.method for result in results):
            mine = [r for r in results if (r.dataset, r.method) == (dataset, method)]
            dims = sorted({r.dim for r in mine}, key=lambda dim: dim or 0)
            summaries = [(dim, summarise(mine, dataset, method, dim, "auc")) for dim in dims]
            points = [
                (np.nan if dim is None else dim, summary.mean, summary.spread or 0.0)
                for dim, summary in summaries
                if summary.mean is not None
            ]
            curves[dataset][method] = np.array(points, dtype=np.float64).reshape(-1, 3)
    return curves


def auc_ratios(results: Sequence[Result], dataset: str, method: str) -> NDArray[np.float64]:
    """Return test AUC / train AUC of every finished run of a method on a dataset."""
    test = values_of(results, dataset, method, "auc")
    return test / values_of(results, dataset, method, "train_auc")


def error_reduction(ours: float, best: float) -> float:
    """Return by what part of the error, 1 - AUC, ours is below the best other.

    >>> round(error_reduction(0.9, 0.8), 3)
    0.5
    """
    return (ours - best) / (1 - best) if best < 1 else 0.0


def _reduction(summaries: Mapping[str, Summary], compared: ComparisonSettings) -> str:
    ours = summaries[compared.ours].mean if compared.ours in summaries else None
    means = [summaries[label].mean for label in compared.against if label in summaries]
    others = [mean for mean in means if mean is not None]
    if ours is None or not others:
        return "-"
    return f"{100 * error_reduction(ours, max(others)):.1f} %"


def _form(number: str) -> Callable[[float], str]:
    return (lambda value: f"{value:,.1f}") if number in _AMOUNTS else short


def _is_best(summary: Summary, summaries: Mapping[str, Summary], number: str) -> bool:
    if summary.mean is None or number in _AMOUNTS:
        return False
    return summary.mean == max(s.mean for s in summaries.values() if s.mean is not None)


def _explain(compared: ComparisonSettings | None) -> list[str]:
    if compared is None:
        return []
    others = ", ".join(compared.against)
    return [f"error reduction: of {compared.ours} over the best of {others} in the row"]
