"""Figures from the command line."""

import re

import pytest

from arcvec.cli import main
from tests.cli.commands import QUICK

DIM_4 = (*QUICK[:-1], "4", "--goal", "pairs")  # for ranks, one vector may serve both sides


@pytest.fixture
def fitted(run, edges, tmp_path):
    """Give a function that fits the edges and returns the result folder."""

    def fit(name, *flags):
        run("fit", edges, "-o", tmp_path / name, *flags)
        return tmp_path / name

    return fit


@pytest.mark.parametrize(
    ("flags", "titles"),
    [
        (QUICK, ["as source (coloured by out-degree)", "as target (coloured by in-degree)"]),
        ((*DIM_4, "--model.unit-norm"), ["(a) source space, ticks: out-degree"]),
        (DIM_4, ["(b) target space, coloured by place"]),
    ],
    ids=["spaces", "circle", "colours"],
)
def test_the_figure_that_fits_the_result(run, fitted, edges, tmp_path, flags, titles):
    result = fitted("result", *flags)
    outputs = [tmp_path / f"figure.{suffix}" for suffix in ("png", "svg", "pdf")]
    asked = [argument for path in outputs for argument in ("-o", path)]
    said = run("plot", result, *asked, "--graph", edges)
    assert said.splitlines()[:3] == list(map(str, outputs))
    png, svg, pdf = (path.read_bytes() for path in outputs)
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    for title in titles:
        assert f"<!-- {title} -->".encode() in svg
    measured = re.search(r"edges whose ends are within 90 degrees: [\d.]+", said)
    assert bool(measured) == (flags is not QUICK)


def test_of_a_split_the_whole_graph_is_drawn(run, edges, tmp_path):
    run("split", edges, "-o", tmp_path / "split")
    run("fit", tmp_path / "split", "-o", tmp_path / "result", *DIM_4)
    nodes = ("--node", "p3", "--node", "p41")
    said = [
        run(
            "plot",
            tmp_path / "result",
            "-o",
            tmp_path / f"{graph.stem}.svg",
            "--graph",
            graph,
            *nodes,
        )
        for graph in (edges, tmp_path / "split")
    ]
    assert (tmp_path / "follows.svg").read_bytes() == (tmp_path / "split.svg").read_bytes()
    assert said[0].splitlines()[1:] == said[1].splitlines()[1:]
    run("plot", tmp_path / "result", "-o", tmp_path / "other.svg", "--graph", edges)
    assert (tmp_path / "follows.svg").read_bytes() != (tmp_path / "other.svg").read_bytes()


def test_training_needs_no_graph(run, fitted, tmp_path):
    result = fitted("result", *QUICK)
    run("plot", result, "--kind", "training", "-o", tmp_path / "training.svg")
    assert "<!-- loss -->" in (tmp_path / "training.svg").read_text()


ERRORS = {
    "no graph": ((), "expected a graph, got none; pass --graph"),
    "dim": (
        ("--graph", "follows.csv", "--kind", "circle"),
        "expected a result of dim 4, .* got dim 8.*; fit with --dim 4 .*--model.unit-norm",
    ),
    "dim of colours": (
        ("--graph", "follows.csv", "--kind", "colours"),
        "expected a result of dim 4, .* got dim 8.*; fit with --dim 4",
    ),
    "nodes of spaces": (
        ("--graph", "follows.csv", "--node", "p3"),
        'expected no nodes for the kind "spaces"',
    ),
    "suffix": (("--graph", "follows.csv", "-o", "figure.xlsx"), "expected a name ending in .png"),
    "no result": (("--graph", "nowhere"), "nowhere"),
}


@pytest.mark.parametrize(("flags", "message"), ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_drawn(run, fitted, tmp_path, monkeypatch, flags, message):
    fitted("result", *QUICK)
    monkeypatch.chdir(tmp_path)
    error = run("plot", "result", "-o", "figure.png", *flags, fails=True)
    assert re.fullmatch(rf"arcvec: .*{message}.*\n", error), error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["follows.csv", "result"]


def test_exit_code(fitted, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["plot", str(fitted("result", *QUICK)), "-o", str(tmp_path / "figure.png")])
    assert stop.value.code == 1


def test_unknown_node_and_free_norms(run, fitted, edges, tmp_path):
    result = fitted("result", *DIM_4)
    flags = ("-o", tmp_path / "figure.png", "--graph", edges)
    error = run("plot", result, *flags, "--node", "p3x", fails=True)
    assert "unknown node 'p3x'" in error
    error = run("plot", result, *flags, "--kind", "circle", fails=True)
    assert "expected vectors of norm 1" in error
    assert "--model.unit-norm" in error


def test_existing_figures_are_kept_unless_told(run, fitted, edges, tmp_path):
    result = fitted("result", *DIM_4)
    (tmp_path / "second.png").write_text("precious")
    flags = ("-o", tmp_path / "first.png", "-o", tmp_path / "second.png", "--graph", edges)
    assert "exists already" in run("plot", result, *flags, fails=True)
    assert not (tmp_path / "first.png").exists()
    run("plot", result, *flags, "--overwrite")
    assert (tmp_path / "second.png").read_bytes().startswith(b"\x89PNG")
