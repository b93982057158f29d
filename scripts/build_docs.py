"""Build the pages of docs/ that show results; no number in them is typed by hand.

    python scripts/build_docs.py            # or: make pages

The words of docs/NAME.md are those of docs/NAME.template.md. In it

- {{table1: AUC beside the paper's}} becomes that table of experiments/table1.toml,
- {{table1: auc, ppi, asymmetric deep, 32}} becomes the mean of one number over seeds,
- {{sensitivity: curves}} becomes a picture of AUC against dim,
- {{table1: progress}} becomes how many of its runs are finished,
- {{walks: First order}} becomes that table of benchmarks/walks.py, {{walks: command}} what made it,
- {{peers: curves}} becomes a picture of AUC against seconds, {{peers: MRR curves}} of MRR.

Results lie in results/, as `arcvec experiment` and the benchmarks wrote them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arcvec.lab.cells import NUMBERS, Result, read_results
from arcvec.lab.grid import ExperimentSettings, read_experiment
from arcvec.lab.tables import curves_of, experiment_tables, summarise
from arcvec.storage.atomic import new_file
from arcvec.view.figures import draw_curves
from arcvec.view.table_text import Table, figure, short, to_markdown

ROOT = Path(__file__).parent.parent
PLACEHOLDER = re.compile(r"\{\{(\w+): (.+?)\}\}")

SECONDS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300)

# Tables 2 and 3 look at the runs of Table 1 from another side.
SAME_RUNS = {"table2": "table1", "table3": "table1"}


def main() -> None:
    """Write every page that has a template, and the curves that it shows."""
    for template in sorted((ROOT / "docs").glob("*.template.md")):
        words = template.read_text(encoding="utf-8")
        page = template.with_name(template.name.replace(".template", ""))
        with new_file(page, overwrite=True) as partial:
            partial.write_text(build_page(words), encoding="utf-8")
        for name, number in re.findall(r"\{\{(\w+): (\w+ )?curves\}\}", words):
            draw(name, number.strip() or "AUC")
        print(page)


def build_page(template: str) -> str:
    """Return the template with every {{...}} replaced."""
    return PLACEHOLDER.sub(lambda match: fill(*match.groups()), template)


def fill(name: str, wanted: str) -> str:
    """Return what stands for a placeholder, of an experiment or of a benchmark."""
    return fill_benchmark(name, wanted) if is_benchmark(name) else fill_experiment(name, wanted)


def fill_experiment(name: str, wanted: str) -> str:
    """Return a table of an experiment by its title, one of its numbers, or a picture."""
    experiment, results = load(name)
    if wanted.endswith("curves"):
        return picture(name, wanted, f"{experiment.title}: ", "dim")
    if wanted == "progress":
        done, missing = (sum(r.status == status for r in results) for status in ("done", "missing"))
        return f"{done} of {done + missing} runs"
    number, *where = wanted.split(", ")
    if number in NUMBERS and where:
        return one_number(results, number, where)
    tables = {table.title: table for table in tables_of(name)}
    if wanted not in tables:
        raise ValueError(f'{name}: no table "{wanted}"; there are {", ".join(tables)}')
    return to_markdown(tables[wanted])


def one_number(results: Sequence[Result], number: str, where: Sequence[str]) -> str:
    """Return the mean over seeds at a place: dataset, method and, if it has one, dim."""
    dataset, method, *dim = where
    mean = summarise(results, dataset, method, int(dim[0]) if dim else None, number).mean
    if mean is None:
        raise ValueError(f"no finished run of {', '.join(where)}")
    return short(mean) if mean <= 1 else f"{mean:,.0f}"


def is_benchmark(name: str) -> bool:
    """Whether a name is that of a benchmark with figures."""
    return (ROOT / f"results/benchmarks/{name}.json").exists()


def fill_benchmark(name: str, wanted: str) -> str:
    """Return a table of a benchmark by its title, the command that made it, or a picture."""
    report = load_benchmark(name)
    if wanted == "command":
        return f"`{report['command']}`"
    if wanted.endswith("curves"):
        return picture(name, wanted, "", "seconds")
    tables = {table["title"]: table["rows"] for table in report["tables"]}
    if wanted not in tables:
        raise ValueError(f'{name}: no table "{wanted}"; there are {", ".join(tables)}')
    rows = tables[wanted]
    texts = [[figure(value) for value in row.values()] for row in rows]
    return to_markdown(Table(wanted, list(rows[0]), texts))


def picture(name: str, wanted: str, title: str, across: str) -> str:
    """Return the link to a picture: {{NAME: curves}} is of the AUC, {{NAME: MRR curves}} not."""
    number = wanted.removesuffix("curves").strip() or "AUC"
    return f"![{title}{number} against {across}](figures/{figure_name(name, number)}.png)"


def figure_name(name: str, number: str) -> str:
    """Return the name of the picture of a number: NAME of the AUC, NAME-mrr of the MRR."""
    return name if number == "AUC" else f"{name}-{number.lower()}"


def draw(name: str, number: str) -> None:
    """Draw a number, AUC or MRR, against dim or against seconds, as PNG and SVG."""
    stem = ROOT / "docs/figures" / figure_name(name, number)
    paths = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
    if is_benchmark(name):
        draw_frontier(load_benchmark(name), number, paths)
        return
    experiment, results = load(name)
    draw_curves(
        curves_of(results, number.lower()),
        paths,
        title=experiment.title,
        upwards=number,
        highlighted=experiment.comparison.ours if experiment.comparison else "",
        overwrite=True,
    )


def draw_frontier(report: dict[str, Any], number: str, paths: Sequence[Path]) -> None:
    """Draw what arcvec has after some seconds, and what other libraries have when done."""
    runs = next(t for t in report["tables"] if t["title"] == "All runs")["rows"]
    points: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for run in runs:
        library = re.sub(r", \d+ s$", "", run["library"])
        panel = points.setdefault(run["graph"], {})
        panel.setdefault(library, []).append((run["seconds"], run[number], 0.0))
    draw_curves(
        {
            graph: {library: np.array(sorted(some)) for library, some in panel.items()}
            for graph, panel in points.items()
        },
        paths,
        title=f"{number} against seconds from the start of the process",
        upwards=number,
        highlighted="arcvec",
        across="seconds",
        ticks=SECONDS,
        overwrite=True,
    )


@cache
def load(name: str) -> tuple[ExperimentSettings, list[Result]]:
    """Return an experiment and its finished runs."""
    experiment = read_experiment(ROOT / f"experiments/{name}.toml")
    labels = {entry.label for entry in experiment.methods}
    results = read_results(ROOT / f"results/{SAME_RUNS.get(name, name)}.csv")
    return experiment, [result for result in results if result.method in labels]


@cache
def load_benchmark(name: str) -> dict[str, Any]:
    """Return what the last run of a benchmark wrote."""
    path = ROOT / f"results/benchmarks/{name}.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


@cache
def tables_of(name: str) -> list[Table]:
    """Return the tables of an experiment."""
    return experiment_tables(*load(name))


if __name__ == "__main__":
    main()
