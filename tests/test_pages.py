"""The pages of docs/ that show results are those that the committed results give."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.template.md"))


@pytest.fixture(scope="module")
def build_docs():
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "scripts/build_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("template", PAGES, ids=[page.name for page in PAGES])
def test_page_is_what_its_results_give(build_docs, template):
    page = template.with_name(template.name.replace(".template", ""))
    assert page.read_text() == build_docs.build_page(template.read_text()), "run: make pages"
    assert "{{" not in page.read_text()


def test_there_are_pages():
    assert [page.name for page in PAGES] == [
        "benchmarks.template.md",
        "choices.template.md",
        "reliability.template.md",
        "reproduction.template.md",
        "results.template.md",
        "scale.template.md",
    ]


def test_a_frontier_of_each_number_is_drawn(build_docs, tmp_path):
    assert build_docs.fill("peers", "curves") == "![AUC against seconds](figures/peers.png)"
    assert build_docs.fill("peers", "MRR curves") == "![MRR against seconds](figures/peers-mrr.png)"
    run = {"graph": "ppi", "library": "arcvec, 2 s", "seconds": 2.0, "AUC": 0.9, "MRR": 0.1}
    report = {"tables": [{"title": "All runs", "rows": [run, {**run, "library": "SVD"}]}]}
    build_docs.draw_frontier(report, "MRR", [tmp_path / "mrr.svg"])
    assert "MRR against seconds" in (tmp_path / "mrr.svg").read_text()
