"""Tables from results: AUC by dim, test over train AUC, spread of norms; beside the paper's."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind

from arcvec.lab.cells import Result
from arcvec.lab.grid import ComparisonSettings, ExperimentSettings
from arcvec.view.table_text import Entry, Table, short, signed

PaperRows: TypeAlias = Sequence[Mapping[str, str]]
"""Rows of a csv of the paper's numbers, as text; empty where the paper has none."""

TOLERANCE = 0.015
"""How far below the paper a cell may be to count as reproduced."""

_TITLES = {
    "auc": "AUC on test edges",
    "auc_random": "AUC against random negatives alone",
    "auc_reversed": "AUC against reversed one-way edges alone",
    "train_auc": "AUC on the edges trained on",
    "average_precision": "Average precision",
    "mrr": "Mean reciprocal rank of test edges among all nodes",
    "recall@10": "Recall of the ten best nodes of each source",
    "precision@10": "Precision of the ten best nodes of each source",
    "ndcg@10": "nDCG of the ten best nodes of each source",
    "map@10": "Average precision of the ten best nodes of each source",
    "hit_rate@10": "Sources with a test edge to one of their ten best nodes",
    "source_mrr": "Reciprocal rank of the first test edge of each source",
    "coverage@10": "Nodes among the ten best of any source",
    "popular_share@10": "Part of the ten best nodes that is in the most popular tenth",
    "popularity@10": "Mean in-degree of the ten best nodes of each source",
    "fit_seconds": "Seconds of one fit",
    "fit_cpu_seconds": "CPU seconds of one fit, all threads together",
    "peak_memory_mb": "Peak memory of fit and evaluation, MB",
}
_AMOUNTS = (
    *("fit_seconds", "fit_cpu_seconds", "evaluation_seconds", "peak_memory_mb"),
    *("steps_done", "norm_std", "popularity@10", "target_popularity"),
)
_NOT_BEST_IF_HIGH = (*_AMOUNTS, "popular_share@10")
RANKS = ("mrr", "recall@10", "ndcg@10")
"""Numbers that are shown beside the AUC where test edges are ranked."""


@dataclass(frozen=True)
class Summary:
    """One number of a method on a dataset at a dim, over seeds."""

    mean: float | None
    spread: float | None  # standard deviation (n - 1); None with fewer than two seeds
    one_seed: bool  # whether this is a single run of a method that has a seed
    problems: tuple[str, ...]  # why runs are not finished


def summarise(
    results: Sequence[Result], dataset: str, method: str, dim: int | None, number: str
) -> Summary:
    """Return a number over the seeds; a method without a dim counts at every dim."""
    runs = [r for r in _runs_of(results, dataset, method) if r.dim in (dim, None)]
    done = [(run, value) for run in runs if (value := run.numbers.get(number)) is not None]
    values = np.array([value for _, value in done])
    unfinished = (run for run in runs if run.status in ("failed", "refused", "missing"))
    return Summary(
        mean=float(values.mean()) if values.size else None,
        spread=float(values.std(ddof=1)) if values.size > 1 else None,
        one_seed=len(done) == 1 and done[0][0].seed is not None,
        problems=tuple(dict.fromkeys(f"{run.status}: {run.error}" for run in unfinished)),
    )


def values_of(
    results: Sequence[Result], dataset: str, method: str, number: str
) -> NDArray[np.float64]:
    """Return a number of all finished runs of a method on a dataset, at all dims and seeds."""
    values = (run.numbers.get(number) for run in _runs_of(results, dataset, method))
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _runs_of(results: Sequence[Result], dataset: str, method: str) -> list[Result]:
    return [r for r in results if (r.dataset, r.method) == (dataset, method)]


def _by_dim(
    results: Sequence[Result], number: str = "auc"
) -> Iterator[tuple[str, str, int | None, Summary]]:
    """Yield dataset, method, dim and a number of every method on every dataset, dims ascending."""
    for dataset, method in product(_datasets(results), _methods(results)):
        dims = {run.dim for run in _runs_of(results, dataset, method)}
        for dim in sorted(dims, key=lambda dim: dim or 0):
            yield dataset, method, dim, summarise(results, dataset, method, dim, number)


@dataclass
class Notes:
    """Notes below a table, collected while its entries are written."""

    spread: bool = False
    one_seed: bool = False
    letters: dict[str, str] = field(default_factory=dict)

    def show(self, summary: Summary, form: Callable[[float], str]) -> str:
        """Return the text of an entry with its marks, and remember what they stand for."""
        text = "-" if summary.mean is None else form(summary.mean)
        if summary.spread is not None:
            self.spread = True
            text += f" ± {form(summary.spread)}"
        if summary.one_seed:
            self.one_seed = True
            text += "¹"
        for problem in summary.problems:
            self.letters.setdefault(problem, _letter(len(self.letters)))
        letters = ",".join(self.letters[problem] for problem in summary.problems)
        return f"{text} ({letters})" if letters else text

    def lines(self) -> list[str]:
        """Return what the marks stand for."""
        lines = ["± standard deviation over seeds"] if self.spread else []
        lines += ["¹ one seed"] if self.one_seed else []
        return [*lines, *(f"({letter}) {problem}" for problem, letter in self.letters.items())]


def _letter(index: int) -> str:
    more, last = divmod(index, 26)
    return ("" if more == 0 else _letter(more - 1)) + "abcdefghijklmnopqrstuvwxyz"[last]


def experiment_tables(experiment: ExperimentSettings, results: Sequence[Result]) -> list[Table]:
    """Return the tables of an experiment, the main one first, then those of `RANKS` if it ranks."""
    ranks = RANKS if experiment.ranking else ()
    also = [name for name in experiment.also if name not in ranks]
    paper = [] if experiment.paper is None else read_paper(experiment.paper)
    if experiment.kind == "generalisation" and experiment.comparison is not None:
        return [generalisation_table(results, experiment.comparison, paper)]
    if experiment.kind == "norms":
        return [norms_table(results, paper)]
    if experiment.kind == "ablation":
        return [ablation_table(results, number) for number in ("auc", *ranks, *also)]
    tables = [grid_table(experiment, results, number) for number in ("auc", *ranks)]
    if experiment.paper is not None:
        there = {row["method"] for row in paper}
        names = {entry.label: entry.counterpart or entry.label for entry in experiment.methods}
        counterparts = {label: name for label, name in names.items() if name in there}
        tables += [table(results, paper, counterparts) for table in (paper_table, agreement_table)]
    return [*tables, *(grid_table(experiment, results, name) for name in also)]


def read_paper(path: Path) -> list[dict[str, str]]:
    """Return the rows of a csv of the paper's numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def grid_table(
    experiment: ExperimentSettings, results: Sequence[Result], number: str = "auc"
) -> Table:
    """Return a row for every dataset and dim, a column for every method; the best of a row bold.

    AUC has a last column: by what part ours lowers the error (1 - AUC) of the best compared method.
    """
    notes, methods = Notes(), _methods(results)
    compared = experiment.comparison if number == "auc" else None
    groups = {entry.label: entry.group for entry in experiment.methods}
    rows = []
    for dataset, dim in _row_keys(results):
        summaries = {m: summarise(results, dataset, m, dim, number) for m in methods}
        means = [s.mean for s in summaries.values() if s.mean is not None]
        best = None if number in _NOT_BEST_IF_HIGH else max(means, default=None)
        row = [Entry(dataset), Entry("" if dim is None else str(dim))]
        for summary in summaries.values():
            is_best = best is not None and summary.mean == best
            row.append(Entry(notes.show(summary, _form(number)), bold=is_best))
        rows.append((*row, *([] if compared is None else [_reduction(summaries, compared)])))
    header, explained = ["dataset", "dim", *methods], notes.lines()
    if compared is not None:
        header.append("error reduction")
        others = ", ".join(m for m in compared.against if m in methods)
        explained += [f"error reduction: of {compared.ours} over the best of {others} in the row"]
    return Table(
        title=_TITLES.get(number, number),
        header=tuple(header),
        groups=tuple(groups.get(name, "") for name in header),
        rows=tuple(rows),
        notes=tuple(explained),
    )


def ablation_table(results: Sequence[Result], number: str = "auc") -> Table:
    """Return methods down and datasets across; all but the first with the difference to it."""
    notes = Notes()
    columns = _row_keys(results)
    one_dim = len({dim for _, dim in columns}) == 1
    has_difference = number not in _NOT_BEST_IF_HIGH
    first, *_ = methods = _methods(results)
    rows = []
    for method in methods:
        row = [method]
        for dataset, dim in columns:
            ours = summarise(results, dataset, method, dim, number)
            usual = summarise(results, dataset, first, dim, number)
            text = notes.show(ours, _form(number))
            if method != first and has_difference and None not in (ours.mean, usual.mean):
                text += f" ({signed((ours.mean or 0) - (usual.mean or 0))})"
            row.append(text)
        rows.append(row)
    explained = [f"in brackets: difference to {first}"] if has_difference else []
    header = ("method", *(d if one_dim else f"{d}, {dim}" for d, dim in columns))
    return Table.of_texts(_TITLES.get(number, number), header, rows, *explained, *notes.lines())


def generalisation_table(
    results: Sequence[Result], comparison: ComparisonSettings, paper: PaperRows = ()
) -> Table:
    """Return the mean of test AUC / train AUC over all runs of two methods, with Welch's t-test."""
    shallow, deep = comparison.against[0], comparison.ours
    printed = {row["dataset"]: row for row in paper}
    beside = ("shallow", "deep", "t", "p") if printed else ()
    rows = []
    for dataset in _datasets(results):
        ratios = [auc_ratios(results, dataset, method) for method in (shallow, deep)]
        means = [short(float(values.mean())) if values.size else "-" for values in ratios]
        test = ["-", "-"]
        if min(values.size for values in ratios) > 1:
            outcome = ttest_ind(ratios[1], ratios[0], equal_var=False)
            test = [f"{outcome.statistic:.2f}", f"{outcome.pvalue:.1e}"]
        runs = "/".join(str(values.size) for values in ratios)
        theirs = [printed.get(dataset, {}).get(name, "") for name in beside]
        rows.append((dataset, *means, *test, runs, *theirs))
    return Table.of_texts(
        "Generalisation: mean of test AUC / train AUC",
        ("dataset", shallow, deep, "t", "p", "runs", *(f"paper: {name}" for name in beside)),
        rows,
        "t, p: Welch's t-test, two-sided, over all runs (dims and seeds)",
    )


def norms_table(results: Sequence[Result], paper: PaperRows = ()) -> Table:
    """Return the quartiles, over all runs, of the standard deviation of the nodes' norms."""
    printed = {(row["dataset"], row["method"]): row for row in paper}
    beside = ("25", "50", "75") if printed else ()
    rows = []
    for dataset, method in product(_datasets(results), _methods(results)):
        spreads = values_of(results, dataset, method, "norm_std")
        quartiles = np.percentile(spreads, [25, 50, 75]) if spreads.size else ()
        ours = [f"{value:.3f}" for value in quartiles] or ["-"] * 3
        theirs = [printed.get((dataset, method), {}).get(q, "") for q in beside]
        rows.append((dataset, method, *ours, str(spreads.size), *theirs))
    return Table.of_texts(
        "Standard deviation of the embedding norms: quartiles over all runs",
        ("dataset", "method", "25th", "50th", "75th", "runs", *(f"paper: {q}th" for q in beside)),
        rows,
        "norms of f(Y_u) for deep models, of Y_u for shallow ones",
    )


def paper_table(
    results: Sequence[Result], paper: PaperRows, counterparts: Mapping[str, str]
) -> Table:
    """Return our AUC, the paper's, and the difference: dataset and method down, dims across.

    `counterparts` has the paper's name for each of our methods; others are left out.
    """
    printed = _printed(paper)
    methods = [method for method in _methods(results) if method in counterparts]
    dims = sorted({r.dim for r in results if r.method in methods and r.dim is not None})
    notes = Notes()
    rows = {key: [""] * max(1, len(dims)) for key in product(_datasets(results), methods)}
    for dataset, method, dim, ours in _by_dim(results):
        if method in counterparts:
            theirs = printed.get((dataset, counterparts[method], dim))
            place = 0 if dim is None else dims.index(dim)
            rows[dataset, method][place] = _beside(ours, theirs, notes)
    return Table.of_texts(
        "AUC beside the paper's",
        ("dataset", "method", *(map(str, dims) if dims else ("auc",))),
        ((*key, *texts) for key, texts in rows.items()),
        "ours (the paper's, difference); † the paper ran out of memory; methods without a dim "
        "stand in the first column",
        *notes.lines(),
    )


def agreement_table(
    results: Sequence[Result], paper: PaperRows, counterparts: Mapping[str, str]
) -> Table:
    """Return how far each method is from the paper, over all cells that both have."""
    printed = _printed(paper)
    differences: dict[str, list[float]] = {method: [] for method in _methods(results)}
    for dataset, method, dim, ours in _by_dim(results):
        theirs = printed.get((dataset, counterparts.get(method, ""), dim))
        if theirs and ours.mean is not None:
            differences[method].append(ours.mean - float(theirs))
    rows = []
    for method, found in differences.items():
        if found:
            middle = (signed(float(f(found))) for f in (np.mean, np.min, np.max))
            met = sum(difference >= -TOLERANCE for difference in found)
            rows.append((method, *middle, f"{met} of {len(found)}"))
    last = f"within {short(TOLERANCE)} or above"
    header = ("method", "mean difference", "lowest", "highest", last)
    return Table.of_texts("Agreement with the paper", header, rows)


def curves_of(
    results: Sequence[Result], number: str = "auc"
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return, by dataset and method, a (dims, 3) array of dim, mean and spread over seeds.

    The dim is NaN for a method without one. The spread of a single run is 0.
    """
    nothing = np.empty((0, 3))
    curves = {d: dict.fromkeys(_methods(results), nothing) for d in _datasets(results)}
    for dataset, method, dim, summary in _by_dim(results, number):
        if summary.mean is not None:
            point = [np.nan if dim is None else dim, summary.mean, summary.spread or 0.0]
            curves[dataset][method] = np.vstack([curves[dataset][method], point])
    return curves


def auc_ratios(results: Sequence[Result], dataset: str, method: str) -> NDArray[np.float64]:
    """Return test AUC / train AUC of every finished run of a method on a dataset."""
    test = values_of(results, dataset, method, "auc")
    return test / values_of(results, dataset, method, "train_auc")


def error_reduction(ours: float, best: float) -> float:
    """Return by what part of the error, 1 - AUC, ours is below the best other."""
    return (ours - best) / (1 - best) if best < 1 else 0.0


def _reduction(summaries: Mapping[str, Summary], compared: ComparisonSettings) -> Entry:
    means = {label: s.mean for label, s in summaries.items() if s.mean is not None}
    ours = means.get(compared.ours)
    others = [means[label] for label in compared.against if label in means]
    if ours is None or not others:
        return Entry("-")
    return Entry(f"{100 * error_reduction(ours, max(others)):.1f} %")


def _printed(paper: PaperRows) -> dict[tuple[str, str, int | None], str]:
    return {
        (row["dataset"], row["method"], int(row["dim"]) if row["dim"] else None): row["auc"]
        for row in paper
    }


def _beside(ours: Summary, theirs: str | None, notes: Notes) -> str:
    """Return one entry; `theirs` is None if the paper has no such cell, empty if it failed."""
    text = notes.show(ours, short)
    if theirs is None:
        return text
    if not theirs or ours.mean is None:
        return f"{text} ({short(float(theirs)) if theirs else '†'})"
    return f"{text} ({short(float(theirs))}, {signed(ours.mean - float(theirs))})"


def _form(number: str) -> Callable[[float], str]:
    return "{:,.1f}".format if number in _AMOUNTS else short


def _datasets(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.dataset for result in results))


def _methods(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.method for result in results))


def _row_keys(results: Sequence[Result]) -> list[tuple[str, int | None]]:
    """Return dataset and dim of every row of a table; the dim is None if no method has one."""
    keys: list[tuple[str, int | None]] = []
    for dataset in _datasets(results):
        dims = {r.dim for r in results if r.dataset == dataset and r.dim is not None}
        keys += [(dataset, dim) for dim in sorted(dims)] or [(dataset, None)]
    return keys
