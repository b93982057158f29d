"""Explanations on the command line."""

import json
import re

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import read_split
from arcvec.recommendation.explain import explain
from tests.cli.commands import QUICK


@pytest.fixture
def result(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    return tmp_path / "result"


def test_json_is_the_explanation(run, edges, result, tmp_path):
    run("split", edges, "-o", tmp_path / "split")
    said = run("explain", result, "p3", "p9", "--graph", tmp_path / "split", "--json", "-k", "1")
    train = read_split(tmp_path / "split").train
    found = explain(EdgeEmbeddings.load(result), "p3", "p9", graph=train, k=1)
    assert json.loads(said) == json.loads(json.dumps(found.as_dict()))
    assert len(found.similar_sources) == len(found.similar_targets) == 1
    whole = json.loads(run("explain", result, "p3", "p9", "--graph", edges, "--json"))
    assert whole["num_left_out"] > found.num_left_out  # of a split, train alone is known


def test_text_says_what_was_left_out(run, edges, result):
    said = run("explain", result, "p3", "p9", "--graph", edges)
    known = {line.split(",")[1] for line in edges.read_text().split() if line.startswith("p3,")}
    num_known = len(known - {"p9"})
    assert said.startswith("p3 -> p9")
    assert re.search(rf"rank +\d+ of {59 - num_known} candidates, above [\d.]+ % of", said)
    assert f"left out: p3 itself and {num_known} other known targets" in said
    assert "Known sources linked to p9, by nearness to p3" in said
    assert "Known targets linked from p3, by nearness to p9" in said


def test_without_a_graph(run, result):
    said = run("explain", result, "p3", "p9")
    assert "of 59 candidates" in said
    assert said.rstrip().endswith("left out: p3 itself")


def test_a_known_edge_says_so(run, edges, result):
    source, target = edges.read_text().split()[1].split(",")
    assert "(a known edge)" in run("explain", result, source, target, "--graph", edges)


def test_any_name_is_printed_as_it_is(run, tmp_path):
    names = ["[bold]a[/]", "[red]", "[dim]c d", "e"]
    vectors = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    EdgeEmbeddings(vectors, vectors, NodeNames.from_strings(names)).save(tmp_path / "result")
    save_graph(Graph.from_edges([0, 2], [2, 1], nodes=names), tmp_path / "graph")
    arguments = ("explain", tmp_path / "result", *names[:2], "--graph", tmp_path / "graph")
    said = run(*arguments)
    assert said.startswith("[bold]a[/] -> [red]\n")
    assert said.count("[dim]c d") == 2
    said = run("explain", tmp_path / "result", "e", names[2], "--graph", tmp_path / "graph")
    assert "Known targets linked from e, by nearness to [dim]c d: none" in said


ERRORS = {
    "unknown": (("p3x", "p9"), "unknown node 'p3x': not among the 60 nodes; did you mean 'p3"),
    "before the graph": (("p3", "p99", "--graph", "nowhere"), "unknown node 'p99'"),
    "same": (("p3", "p3"), "expected two different nodes, got 'p3' twice"),
    "k": (("p3", "p9", "-k", "0"), "expected k of at least 1, got 0"),
    "no graph there": (("p3", "p9", "--graph", "nowhere"), "nowhere"),
    "one node": (("p3",), ".*"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_use_is_one_line(run, result, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    error = run("explain", result, *arguments, fails=True)
    assert re.fullmatch(rf"arcvec: .*{message}.*\n", error), error
