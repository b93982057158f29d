"""Tables from results: AUC by dim, test over train AUC, spread of norms; beside the paper's."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind

from arcvec.lab.cells import Result
from arcvec.lab.grid import ComparisonSettings, ExperimentSettings
from arcvec.view.table_text import Bold, Table, short, signed

# Rows of a csv of the paper's numbers, as text; empty where the paper has none.
PaperRows: TypeAlias = Sequence[Mapping[str, str]]

RANKS = ("mrr", "recall@10", "ndcg@10")  # shown beside the AUC where test edges are ranked
_TOLERANCE = 0.015  # how far below the paper a cell may be to count as reproduced

_TITLES = {
    "auc": "AUC on test edges",
    "auc_random": "AUC against random negatives alone",
    "auc_reversed": "AUC against reversed one-way edges alone",
    "train_auc": "AUC on the edges trained on",
    "average_precision": "Average precision",
    "mrr": "Mean reciprocal rank of test edges among all nodes",
    "recall@10": "Recall of the ten best nodes of each source",
    "ndcg@10": "nDCG of the ten best nodes of each source",
    "map@10": "Average precision of the ten best nodes of each source",
    "coverage@10": "Nodes among the ten best of any source",
    "popular_share@10": "Part of the ten best nodes that is in the most popular tenth",
    "fit_seconds": "Seconds of one fit",
    "fit_cpu_seconds": "CPU seconds of one fit, all threads together",
}
_AMOUNTS = (
    *("fit_seconds", "fit_cpu_seconds", "evaluation_seconds", "peak_memory_mb"),
    *("steps_done", "norm_std", "popularity@10", "target_popularity"),
)
_NOT_BEST_IF_HIGH = (*_AMOUNTS, "popular_share@10")


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
    runs = [run for run in _runs_of(results, dataset, method) if run.dim in (dim, None)]
    done = [run for run in runs if run.numbers.get(number) is not None]
    values = values_of(runs, number)
    unfinished = (run for run in runs if run.status in ("failed", "refused", "missing"))
    return Summary(
        mean=float(values.mean()) if values.size else None,
        spread=float(values.std(ddof=1)) if values.size > 1 else None,
        one_seed=len(done) == 1 and done[0].seed is not None,
        problems=tuple(dict.fromkeys(f"{run.status}: {run.error}" for run in unfinished)),
    )


def values_of(runs: Sequence[Result], number: str) -> NDArray[np.float64]:
    """Return a number of all finished runs among these."""
    values = (run.numbers.get(number) for run in runs)
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _runs_of(results: Sequence[Result], dataset: str, method: str) -> list[Result]:
    return [run for run in results if (run.dataset, run.method) == (dataset, method)]


def _by_dim(
    results: Sequence[Result], number: str
) -> Iterator[tuple[str, str, int | None, Summary]]:
    """Yield dataset, method, dim and a number of every method on every dataset, dims ascending."""
    for dataset, method in product(_datasets(results), _methods(results)):
        dims = {run.dim for run in _runs_of(results, dataset, method)}
        for dim in sorted(dims, key=lambda dim: dim or 0):
            yield dataset, method, dim, summarise(results, dataset, method, dim, number)


@dataclass
class Notes:
    """Notes below a table, collected while its entries are written."""

    shown: str = ""
    letters: dict[str, str] = field(default_factory=dict)

    def show(self, summary: Summary, form: Callable[[float], str]) -> str:
        """Return the text of an entry with its marks, and remember what they stand for."""
        text = "-" if summary.mean is None else form(summary.mean)
        text += "" if summary.spread is None else f" ± {form(summary.spread)}"
        text += "¹" if summary.one_seed else ""
        self.shown += text
        for problem in summary.problems:
            self.letters.setdefault(problem, _letter(len(self.letters)))
        letters = ",".join(self.letters[problem] for problem in summary.problems)
        return f"{text} ({letters})" if letters else text

    def lines(self) -> list[str]:
        """Return what the marks stand for."""
        marks = ("± standard deviation over seeds", "¹ one seed")
        lines = [line for line in marks if line[0] in self.shown]
        return [*lines, *(f"({letter}) {problem}" for problem, letter in self.letters.items())]


def _letter(index: int) -> str:
    more, last = divmod(index, 26)
    return ("" if more == 0 else _letter(more - 1)) + ascii_lowercase[last]


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
        names = {entry.label: entry.counterpart or entry.label for entry in experiment.methods}
        tables += paper_tables(results, paper, names)
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
        means = {m: s.mean for m, s in summaries.items() if s.mean is not None}
        best = None if number in _NOT_BEST_IF_HIGH else max(means.values(), default=None)
        row = [dataset, "" if dim is None else str(dim)]
        for method, summary in summaries.items():
            text = notes.show(summary, _form(number))
            row.append(Bold(text) if best is not None and means.get(method) == best else text)
        rows.append(row if compared is None else [*row, _error_reduction(means, compared)])
    header, explained = ["dataset", "dim", *methods], notes.lines()
    if compared is not None:
        header.append("error reduction")
        others = ", ".join(m for m in compared.against if m in methods)
        explained += [f"error reduction: of {compared.ours} over the best of {others} in the row"]
    above = [groups.get(name, "") for name in header]
    return Table(_TITLES.get(number, number), header, rows, explained, above)


def _error_reduction(aucs: Mapping[str, float], compared: ComparisonSettings) -> str:
    best = max((aucs[label] for label in compared.against if label in aucs), default=None)
    if compared.ours not in aucs or best is None:
        return "-"
    reduction = (aucs[compared.ours] - best) / (1 - best) if best < 1 else 0.0
    return f"{100 * reduction:.1f} %"


def ablation_table(results: Sequence[Result], number: str = "auc") -> Table:
    """Return methods down and datasets across; all but the first with the difference to it."""
    notes, columns = Notes(), _row_keys(results)
    one_dim = len({dim for _, dim in columns}) == 1
    has_difference = number not in _NOT_BEST_IF_HIGH
    first, *_ = methods = _methods(results)
    rows = []
    for method in methods:
        row = [method]
        for dataset, dim in columns:
            ours = summarise(results, dataset, method, dim, number)
            usual = summarise(results, dataset, first, dim, number).mean
            text = notes.show(ours, _form(number))
            if method != first and has_difference and ours.mean is not None and usual is not None:
                text += f" ({signed(ours.mean - usual)})"
            row.append(text)
        rows.append(row)
    explained = [f"in brackets: difference to {first}"] if has_difference else []
    header = ("method", *(d if one_dim else f"{d}, {dim}" for d, dim in columns))
    return Table(_TITLES.get(number, number), header, rows, [*explained, *notes.lines()])


def generalisation_table(
    results: Sequence[Result], comparison: ComparisonSettings, paper: PaperRows = ()
) -> Table:
    """Return the mean of test AUC / train AUC over all runs of two methods, with Welch's t-test."""
    methods = comparison.against[0], comparison.ours
    printed = {row["dataset"]: row for row in paper}
    beside = ("shallow", "deep", "t", "p") if printed else ()
    rows = []
    for dataset in _datasets(results):
        both = [_runs_of(results, dataset, method) for method in methods]
        ratios = [values_of(runs, "auc") / values_of(runs, "train_auc") for runs in both]
        means = [short(float(values.mean())) if values.size else "-" for values in ratios]
        test = ["-", "-"]
        if min(values.size for values in ratios) > 1:
            outcome = ttest_ind(ratios[1], ratios[0], equal_var=False)
            test = [f"{outcome.statistic:.2f}", f"{outcome.pvalue:.1e}"]
        num_runs = "/".join(str(values.size) for values in ratios)
        theirs = [printed.get(dataset, {}).get(name, "") for name in beside]
        rows.append((dataset, *means, *test, num_runs, *theirs))
    return Table(
        "Generalisation: mean of test AUC / train AUC",
        ("dataset", *methods, "t", "p", "runs", *(f"paper: {name}" for name in beside)),
        rows,
        ["t, p: Welch's t-test, two-sided, over all runs (dims and seeds)"],
    )


def norms_table(results: Sequence[Result], paper: PaperRows = ()) -> Table:
    """Return the quartiles, over all runs, of the standard deviation of the nodes' norms."""
    printed = {(row["dataset"], row["method"]): row for row in paper}
    beside = ("25", "50", "75") if printed else ()
    rows = []
    for place in product(_datasets(results), _methods(results)):
        spreads = values_of(_runs_of(results, *place), "norm_std")
        quartiles = np.percentile(spreads, [25, 50, 75]) if spreads.size else ()
        ours = [f"{value:.3f}" for value in quartiles] or ["-"] * 3
        theirs = [printed.get(place, {}).get(quartile, "") for quartile in beside]
        rows.append((*place, *ours, str(spreads.size), *theirs))
    return Table(
        "Standard deviation of the embedding norms: quartiles over all runs",
        ("dataset", "method", "25th", "50th", "75th", "runs", *(f"paper: {q}th" for q in beside)),
        rows,
        ["norms of f(Y_u) for deep models, of Y_u for shallow ones"],
    )


def paper_tables(
    results: Sequence[Result], paper: PaperRows, names: Mapping[str, str]
) -> list[Table]:
    """Return our AUC, the paper's and the difference by dim, and how far each method is from it.

    `names` has the paper's name for each of our methods; those that it does not know are left out.
    """
    printed = {(row["dataset"], row["method"], row["dim"]): row["auc"] for row in paper}
    known = {row["method"] for row in paper}
    methods = [method for method in _methods(results) if names.get(method) in known]
    dims = sorted({r.dim for r in results if r.method in methods and r.dim is not None})
    notes = Notes()
    cells = {key: [""] * max(1, len(dims)) for key in product(_datasets(results), methods)}
    differences: dict[str, list[float]] = {method: [] for method in methods}
    for dataset, method, dim, ours in _by_dim(results, "auc"):
        if method not in methods:
            continue
        text = notes.show(ours, short)
        theirs = printed.get((dataset, names[method], "" if dim is None else str(dim)))
        if theirs and ours.mean is not None:
            difference = ours.mean - float(theirs)
            differences[method].append(difference)
            text += f" ({short(float(theirs))}, {signed(difference)})"
        elif theirs is not None:  # we have no number, or the paper has none
            text += f" ({short(float(theirs)) if theirs else '†'})"
        cells[dataset, method][0 if dim is None else dims.index(dim)] = text
    rows = []
    for method, found in differences.items():
        if found:
            spread = (signed(float(of(found))) for of in (np.mean, np.min, np.max))
            met = sum(difference >= -_TOLERANCE for difference in found)
            rows.append((method, *spread, f"{met} of {len(found)}"))
    within = f"within {short(_TOLERANCE)} or above"
    header = ("method", "mean difference", "lowest", "highest", within)
    explained = (
        "ours (the paper's, difference); † the paper ran out of memory; methods without a dim "
        "stand in the first column"
    )
    return [
        Table(
            "AUC beside the paper's",
            ("dataset", "method", *(map(str, dims) if dims else ("auc",))),
            [(*key, *texts) for key, texts in cells.items()],
            [explained, *notes.lines()],
        ),
        Table("Agreement with the paper", header, rows),
    ]


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
