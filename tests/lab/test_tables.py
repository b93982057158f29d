"""Tables against numbers worked out by hand."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from arcvec.lab.cells import NUMBERS, Result, read_results, write_results
from arcvec.lab.grid import (
    ComparisonSettings,
    ExperimentSettings,
    MethodEntry,
    read_experiment,
)
from arcvec.lab.tables import (
    ablation_table,
    curves_of,
    experiment_tables,
    generalisation_table,
    grid_table,
    norms_table,
    paper_tables,
    read_paper,
)
from arcvec.view import console
from arcvec.view.table_text import Bold, Table, escape_latex, short, signed, to_latex, to_markdown

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"


def result(dataset, method, dim=None, seed=None, status="done", error="", **numbers):
    values = dict.fromkeys(NUMBERS) | numbers
    return Result(dataset, method, dim, seed, status, error, "0" * 16, values)


EXPERIMENT = ExperimentSettings(
    name="test",
    title="Test",
    datasets=("wiki",),
    comparison=ComparisonSettings(ours="ours", against=("rival", "gone")),
    methods=(
        MethodEntry(label="shared", method="jaccard", group="adjacency"),
        MethodEntry(label="rival", method="jaccard", group="embeddings"),
        MethodEntry(label="gone", method="jaccard", group="embeddings"),
        MethodEntry(label="ours", method="edge-projection"),
    ),
)
RESULTS = [
    result("wiki", "shared", auc=0.95),
    result("wiki", "rival", 8, 0, auc=0.8),
    result("wiki", "rival", 16, 0, "failed", "out of memory"),
    result("wiki", "gone", 8, 0, "refused", "more than 9 nodes"),
    result("wiki", "gone", 16, 0, "refused", "more than 9 nodes"),
    result("wiki", "ours", 8, 0, auc=0.90),
    result("wiki", "ours", 8, 1, auc=0.92),
    result("wiki", "ours", 16, 0, auc=0.98),
    result("wiki", "ours", 16, 1, "left-out", "the first seed took 120 s or more"),
]


def test_grid_table_by_hand():
    table = grid_table(EXPERIMENT, RESULTS)
    assert tuple(table.header) == (
        "dataset",
        "dim",
        "shared",
        "rival",
        "gone",
        "ours",
        "error reduction",
    )
    assert [list(row) for row in table.rows] == [
        # (.91 - .8) / (1 - .8); the standard deviation of .90 and .92 is .01 * sqrt(2)
        ["wiki", "8", ".950", ".800¹", "- (a)", ".910 ± .014", "55.0 %"],
        ["wiki", "16", ".950", "- (b)", "- (a)", ".980¹", "-"],
    ]
    assert [[isinstance(text, Bold) for text in row].index(True) for row in table.rows] == [2, 5]
    assert tuple(table.notes) == (
        "± standard deviation over seeds",
        "¹ one seed",
        "(a) refused: more than 9 nodes",
        "(b) failed: out of memory",
        "error reduction: of ours over the best of rival, gone in the row",
    )


def test_markdown_and_latex_of_a_table():
    table = grid_table(EXPERIMENT, RESULTS)
    lines = to_markdown(table).splitlines()
    assert (
        lines[0] == "| dataset | dim |   shared | rival |  gone |        ours | error reduction |"
    )
    assert (
        lines[1] == "|---------|----:|---------:|------:|------:|------------:|----------------:|"
    )
    assert (
        lines[2] == "| wiki    |   8 | **.950** | .800¹ | - (a) | .910 ± .014 |          55.0 % |"
    )
    assert "- (b) failed: out of memory" in lines
    latex = to_latex(table)
    headings = r"\multicolumn{1}{c}{adjacency} & \multicolumn{2}{c}{embeddings}"
    assert headings in latex
    assert r"\cmidrule(lr){3-3} \cmidrule(lr){4-5}" in latex
    row = r"wiki & 8 & \textbf{.950} & .800$^1$ & - (a) & .910 $\pm$ .014 & 55.0 \% \\"
    assert row in latex
    assert r" & 16 & .950 & - (b) & - (a) & \textbf{.980$^1$} & - \\" in latex
    assert latex.count(r"\midrule") == 1


@pytest.mark.parametrize(("width", "parts"), [(40, 2), (200, 1)])
def test_terminal_shows_every_entry_of_a_wide_table(monkeypatch, width, parts):
    screen = Console(width=width, record=True, file=io.StringIO())
    monkeypatch.setattr(console, "output", screen)
    table = grid_table(EXPERIMENT, RESULTS)
    shown = list(console.results_tables(table))
    assert len(shown) == parts
    screen.print(*shown)
    text = screen.export_text()
    assert "…" not in text
    assert all(entry in text for row in table.rows for entry in row)
    assert "(b) failed: out of memory" in text


def test_text_that_markup_would_misread():
    table = Table("50 % of a_b", ("dataset", "a|b"), [("x & y", "-.5*")])
    assert r"a\|b" in to_markdown(table)
    assert r"-.5\*" in to_markdown(table)
    assert r"\caption{50 \% of a\_b}" in to_latex(table)
    assert r"x \& y & $-$.5* \\" in to_latex(table)
    assert escape_latex(r"\{}#$~^") == (
        r"\textbackslash{}\{\}\#\$\textasciitilde{}\textasciicircum{}"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.9764, ".976"), (1.0, "1.000"), (0.99999, "1.000"), (0.0, ".000")]
)
def test_short_numbers(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "+.012"), (-0.1, "-.100"), (-0.0001, "+.000"), (-1.5, "-1.500")]
)
def test_signed_numbers(value, text):
    assert signed(value) == text


PRINTED_REDUCTIONS = {
    "soc-epinions": [36.5, 41.4, 45.9, 44.9, 44.5],
    "wiki-vote": [63.7, 71.9, 75.2, 76.7, 76.8],
    "ca-HepTh": [43.2, 51.9, 37.8, 21.3, 14.6],
    "ca-AstroPh": [44.1, 55.8, 46.1, 30.7],  # and n/a, where DNGR is better
    "ppi": [26.6, 36.7, 35.5, 30.0, 31.0],
}


@pytest.mark.parametrize("dataset", PRINTED_REDUCTIONS)
def test_the_papers_numbers_give_its_last_column(dataset):
    """They do so only if the best baseline is sought among embeddings, as table1.toml says."""
    experiment = read_experiment(EXPERIMENTS / "table1.toml")
    results = [
        result(
            row["dataset"], row["method"], int(row["dim"] or 0) or None, 0, auc=float(row["auc"])
        )
        for row in read_paper(experiment.paper)
        if row["dataset"] == dataset and row["auc"]
    ]
    shown = [row[-1].removesuffix(" %") for row in grid_table(experiment, results).rows]
    printed = PRINTED_REDUCTIONS[dataset]
    np.testing.assert_allclose([float(text) for text in shown][: len(printed)], printed, atol=0.7)


PAPER = [
    {"dataset": "wiki", "method": "shared", "dim": "", "auc": "0.951"},
    {"dataset": "wiki", "method": "rival", "dim": "8", "auc": ""},
    {"dataset": "wiki", "method": "theirs", "dim": "8", "auc": "0.900"},
    {"dataset": "wiki", "method": "theirs", "dim": "16", "auc": "0.996"},
]


def test_beside_the_paper_by_hand():
    names = {"shared": "shared", "rival": "rival", "ours": "theirs"}
    table, agreement = paper_tables(RESULTS, PAPER, names)
    assert table.header == ("dataset", "method", "8", "16")
    assert [list(row) for row in table.rows] == [
        ["wiki", "shared", ".950 (.951, -.001)", ""],
        ["wiki", "rival", ".800¹ (†)", "- (a)"],
        ["wiki", "ours", ".910 ± .014 (.900, +.010)", ".980¹ (.996, -.016)"],
    ]
    assert table.notes[-1] == "(a) failed: out of memory"
    assert [list(row) for row in agreement.rows] == [
        ["shared", "-.001", "-.001", "-.001", "1 of 1"],
        ["ours", "-.003", "-.016", "+.010", "1 of 2"],
    ]


def test_ablation_by_hand():
    results = [
        result("wiki", "all", 8, 0, auc=0.9, fit_seconds=3.0),
        result("wiki", "less", 8, 0, auc=0.875, fit_seconds=2.0),
        result("ppi", "all", 8, 0, auc=0.8, fit_seconds=1.0),
        result("ppi", "less", 8, 0, "failed", "too slow"),
    ]
    table = ablation_table(results)
    assert table.header == ("method", "wiki", "ppi")
    assert [list(row) for row in table.rows] == [
        ["all", ".900¹", ".800¹"],
        ["less", ".875¹ (-.025)", "- (a)"],
    ]
    assert table.notes[0] == "in brackets: difference to all"
    seconds = ablation_table(results, "fit_seconds").rows[1][1]
    assert seconds == "2.0¹"


def test_generalisation_by_hand():
    shallow, deep = [0.8, 0.82, 0.81], [0.9, 0.94, 0.91]
    results = [
        *(result("wiki", "shallow", 8, s, auc=v, train_auc=1.0) for s, v in enumerate(shallow)),
        *(result("wiki", "deep", 8, s, auc=v / 2, train_auc=0.5) for s, v in enumerate(deep)),
        result("wiki", "deep", 8, 3, "failed", "no"),
    ]
    comparison = ComparisonSettings(ours="deep", against=("shallow",))
    paper = [{"dataset": "wiki", "shallow": "0.908", "deep": "0.948", "t": "3.9", "p": "4E-04"}]
    table = generalisation_table(results, comparison, paper)
    first, second = np.var(shallow, ddof=1) / 3, np.var(deep, ddof=1) / 3
    t = (np.mean(deep) - np.mean(shallow)) / np.sqrt(first + second)
    freedom = (first + second) ** 2 / (first**2 / 2 + second**2 / 2)
    p = 2 * stats.t.sf(t, freedom)
    expected = ["wiki", ".810", ".917", f"{t:.2f}", f"{p:.1e}", "3/3", "0.908", "0.948", "3.9"]
    assert list(table.rows[0]) == [*expected, "4E-04"]
    assert len(table.header) == len(table.rows[0])


def test_generalisation_of_too_few_runs():
    comparison = ComparisonSettings(ours="deep", against=("shallow",))
    results = [result("wiki", "shallow", 8, 0, auc=0.8, train_auc=1.0)]
    row = generalisation_table(results, comparison).rows[0]
    assert list(row) == ["wiki", ".800", "-", "-", "-", "1/0"]


def test_norms_by_hand():
    results = [result("wiki", "deep", 8, s, norm_std=float(s)) for s in range(5)]
    results.append(result("wiki", "shallow", 8, 0))
    paper = [{"dataset": "wiki", "method": "deep", "25": "0.1", "50": "0.2", "75": "0.3"}]
    table = norms_table(results, paper)
    assert [list(row) for row in table.rows] == [
        ["wiki", "deep", "1.000", "2.000", "3.000", "5", "0.1", "0.2", "0.3"],
        ["wiki", "shallow", "-", "-", "-", "0", "", "", ""],
    ]


def test_further_numbers_get_tables_of_their_own():
    experiment = EXPERIMENT.model_copy(update={"also": ("fit_seconds", "mrr")})
    results = [result("wiki", "ours", 8, s, auc=0.9, fit_seconds=1000 + s) for s in (0, 2)]
    tables = experiment_tables(experiment, results)
    assert [table.title[:7] for table in tables] == ["AUC on ", "Seconds", "Mean re"]
    assert tables[1].rows[0] == ["wiki", "8", "1,001.0 ± 1.4"]
    assert tables[2].rows[0] == ["wiki", "8", "-"]


def test_ranks_stand_beside_the_auc():
    experiment = EXPERIMENT.model_copy(update={"ranking": True, "also": ("mrr", "coverage@10")})
    numbers = {"auc": 0.9, "mrr": 0.25, "recall@10": 0.5, "ndcg@10": 0.375, "coverage@10": 0.125}
    tables = experiment_tables(experiment, [result("wiki", "ours", 8, 0, **numbers)])
    assert [table.rows[0][2] for table in tables] == [
        ".900¹",
        ".250¹",
        ".500¹",
        ".375¹",
        ".125¹",
    ]
    assert tables[1].title == "Mean reciprocal rank of test edges among all nodes"


def test_curves():
    curves = curves_of(RESULTS)
    np.testing.assert_allclose(curves["wiki"]["shared"], [[np.nan, 0.95, 0]])
    np.testing.assert_allclose(curves["wiki"]["ours"], [[8, 0.91, 0.02**0.5 / 10], [16, 0.98, 0]])
    assert curves["wiki"]["gone"].shape == (0, 3)


def test_results_come_back_from_csv(tmp_path):
    write_results(tmp_path / "results.csv", RESULTS)
    assert read_results(tmp_path / "results.csv") == RESULTS
    with (tmp_path / "results.csv").open() as file:
        first = next(csv.DictReader(file))
    assert (first["dataset"], first["dim"], first["auc"]) == ("wiki", "", "0.95")
    older = [name for name in first if name != "recall@10"]
    with (tmp_path / "older.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, older, extrasaction="ignore")
        writer.writeheader()
        writer.writerow(first)
    assert read_results(tmp_path / "older.csv") == RESULTS[:1]
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected the columns of a results"):
        read_results(tmp_path / "other.csv")
