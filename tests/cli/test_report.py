"""Reports from the command line."""

import pytest

from tests.cli.commands import QUICK
from tests.view.report.reading import Page


@pytest.fixture
def fitted(run, edges, tmp_path, monkeypatch):
    """The folder with a split and a result fitted on it."""
    run("split", edges, "-o", tmp_path / "split")
    run("fit", tmp_path / "split", "-o", tmp_path / "result", *QUICK)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_report_on_a_split(run, fitted):
    flags = ("--graph", "split", "-o", "report.html")
    said = run("report", "result", *flags, "--baselines", "jaccard", "katz", "--node", "p3")
    assert said.startswith("report.html: ")
    page = Page((fitted / "report.html").read_text())
    assert page.text.strip().startswith("result · arcvec report")
    (table,) = page.tables_in("test").values()
    assert [row[0] for row in table[1:]] == ["arcvec, dim 8", "jaccard", "katz"]
    assert list(page.tables_in("samples")) == ["p3"]
    assert "Settings that differ from the preset default" in page.tables_in("settings")
    assert "exists already" in run("report", "result", *flags, fails=True)
    run("calibrate", "result", "--graph", "split")
    run("report", "result", *flags, "--overwrite", "--no-baselines", "--title", "Mine", "-k", 2)
    page = Page((fitted / "report.html").read_text())
    assert page.text.strip().startswith("Mine · arcvec report")
    assert len(page.tables_in("test").popitem()[1]) == 2
    assert "that arcvec calibrate was given" in page.said("probabilities")
    assert all(len(rows) == 3 for rows in page.tables_in("samples").values())


def test_what_cannot_be_reported(run, fitted):
    def error(*flags):
        return run("report", "result", *flags, fails=True)

    assert "expected a name ending in .html" in error("--graph", "split", "-o", "report.pdf")
    flags = ("-o", "report.html", "--graph")
    assert "is undirected" in error(*flags, "follows.csv", "--undirected")
    assert "expected none of --undirected" in error(*flags, "split", "--undirected")
    assert "unknown node 'p3x'" in error(*flags, "split", "--node", "p3x")
    assert sorted(path.name for path in fitted.iterdir()) == ["follows.csv", "result", "split"]
