"""The second stage on the command line: fitted once, then used wherever the graph is given."""

import json

import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.recommendation.rerank import FILE, load_reranker
from arcvec.serve.result import load_served
from arcvec.training.sketch import SpectralSketch
from tests.cli.commands import QUICK


@pytest.fixture
def edges(tmp_path):
    """A csv of 300 people who follow a few popular ones of their twenty."""
    generator = np.random.default_rng(0)
    sources = generator.integers(300, size=2400)
    targets = sources // 20 * 20 + (20 * generator.random(2400) ** 2).astype(int)
    pairs = {(s, t) for s, t in zip(sources.tolist(), targets.tolist(), strict=True) if s != t}
    path = tmp_path / "follows.csv"
    path.write_text("source,target\n" + "".join(f"p{s},p{t}\n" for s, t in sorted(pairs)))
    return path


@pytest.fixture
def result(run, edges, tmp_path):
    """A result whose second stage is used."""
    path = tmp_path / "result"
    run("split", edges, "-o", tmp_path / "split", "--test-fraction", "0.2")
    run("fit", tmp_path / "split", "-o", path, "--budget", "2s", "--dim", "4", "--quiet")
    shown = run("rerank", path, "--graph", tmp_path / "split", "--num-best", "20")
    assert "targets: MRR on held-out edges" in shown
    assert json.loads((path / FILE).read_text())["heads"]["targets"]["is_used"]
    return path


def test_it_is_used_where_the_graph_is_given(run, result, tmp_path):
    asked = ("recommend", result, "--node", "p3", "-k", "5")
    split = tmp_path / "split"
    ranked = run(*asked, "--exclude", split)
    alone = run(*asked, "--exclude", split, "--no-rerank")
    assert ranked != alone
    assert run(*asked) == run(*asked, "--no-rerank")
    for more in (["--direction", "sources"], ["--approximate"]):
        assert len(run(*asked, "--exclude", split, *more).splitlines()) == 6
    everyone = run("recommend", result, "--all", "-k", "5", "--exclude", split, "--quiet")
    assert set(ranked.splitlines()) <= set(everyone.splitlines())
    (tmp_path / "only.txt").write_text("p7\np9\n")
    some = run(*asked, "--exclude", split, "--only", tmp_path / "only.txt").splitlines()[1:]
    assert {row.split(",")[2] for row in some} <= {"p7", "p9"}
    served = load_served(result, split)
    assert served.second_stage is not None


def test_probabilities_are_those_of_the_vectors(run, result, tmp_path):
    split = tmp_path / "split"
    run("calibrate", result, "--graph", split)
    asked = ("recommend", result, "--node", "p3", "--exclude", split, "--probability", "even")
    assert run(*asked) == run(*asked, "--no-rerank")
    (tmp_path / "pairs.csv").write_text("source,target\np1,p2\np2,p1\n")
    scored = run("score", result, tmp_path / "pairs.csv", "--rerank", split)
    assert scored != run("score", result, tmp_path / "pairs.csv")
    wrong = ("score", result, tmp_path / "pairs.csv", "--rerank", split, "--probability", "even")
    assert "leave --probability" in run(*wrong, fails=True)


def test_evaluate_and_explain(run, result, tmp_path):
    split = tmp_path / "split"
    reports = json.loads(run("evaluate", result, "--split", split, "--rerank", "--json", "--quiet"))
    assert reports["re-ranked"]["mrr"] > reports["arcvec, dim 4"]["mrr"]
    shown = run("explain", result, "p3", "p5", "--graph", split)
    assert "second stage" in shown
    assert "short walks" in shown
    found = json.loads(run("explain", result, "p3", "p5", "--graph", split, "--json"))
    assert "the vectors" in found["second_stage"]


def test_results_without_a_second_stage(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    (tmp_path / "pairs.csv").write_text("source,target\np1,p2\n")
    asked = ("score", tmp_path / "result", tmp_path / "pairs.csv", "--rerank", edges)
    assert "arcvec rerank" in run(*asked, fails=True)


def test_structureless_graphs_keep_their_vectors(tmp_path):
    """On a random graph nothing can be gained, and nothing is lost."""
    from arcvec.recommendation.rerank_fit import fit_reranker

    generator = np.random.default_rng(1)
    graph = Graph.from_edges(*generator.integers(500, size=(2, 4000)), nodes=500)
    model = fit_reranker(
        SpectralSketch(dim=8).fit(graph),
        graph,
        lambda seen: SpectralSketch(dim=8).fit(seen),
        num_best=50,
    )
    head = model.heads["targets"]
    assert not head.is_used or head.gain < 0.01
    assert load_reranker(tmp_path, SpectralSketch(dim=8).fit(graph), graph) is None
