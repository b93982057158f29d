"""Graphs at the edges of what a graph is: all lines alike, one hub, two nodes, no edges."""

import numpy as np
import pytest

from arcvec.cli import main
from arcvec.cli.app import COMMANDS
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.convert import graph_from
from arcvec.graph.files import load_graph
from arcvec.graph.names import NodeNames
from arcvec.ingest.ingest import EdgeFileSettings, ingest_edges
from arcvec.recommendation.exact import recommend
from arcvec.sampling.pairs import WalkPairs
from arcvec.settings import merge_settings
from arcvec.training.edge_projection import EdgeProjection
from tests.cli.commands import QUICK
from tests.serve.processes import running

BRIEF = {"dim": 8, "members": 1, "training": {"steps": 3, "batch_pairs": 1000}}


def walk_fit_recommend(graph, names):
    """Go all the way with a graph, briefly; nothing known is recommended."""
    method = merge_settings(EdgeProjection, BRIEF)
    walks = WalkPairs(graph, method.walks, seed=0).walks(0, 1000)
    assert walks.min() >= -1
    assert walks.max() < graph.num_nodes
    embeddings = method.fit(graph)
    assert np.isfinite(embeddings.source[:]).all()
    assert np.isfinite(embeddings.target[:]).all()
    found, scores = recommend(embeddings, names, k=5, exclude=graph)
    for name, targets in zip(names, found, strict=True):
        targets = graph.nodes.ids(targets[targets != ""])
        sources = np.full(targets.size, graph.nodes.ids([name])[0])
        assert not graph.has_edges(sources, targets).any()
    assert np.isfinite(scores[found != ""]).all()


def test_many_times_the_same_edges(tmp_path, times, record):
    num_lines = times(1_000_000, 10_000_000)
    distinct = [f"{i} {i * 3 % 10}" for i in range(10) if i * 3 % 10 != i]
    path = tmp_path / "edges.txt"
    path.write_text(("\n".join(distinct) + "\n") * (num_lines // len(distinct)))
    report = ingest_edges(path, tmp_path / "graph")
    assert report.num_lines == num_lines // len(distinct) * len(distinct)
    assert report.num_edges == len(distinct)
    assert report.num_duplicates == report.num_lines - len(distinct)
    walk_fit_recommend(load_graph(tmp_path / "graph"), ["1", "9"])
    outcome = f"{report.num_edges} edges, fitted"
    record("Input", input="lines that repeat few edges", cases=report.num_lines, outcome=outcome)


@pytest.mark.parametrize(("directed", "quick"), [(True, 100_000), (False, 10_000)])
def test_a_star(tmp_path, times, record, directed, quick):
    num_leaves = times(quick, 1_000_000)
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"hub {i}\n" for i in range(num_leaves)))
    ingest_edges(path, tmp_path / "graph", EdgeFileSettings(directed=directed))
    graph = load_graph(tmp_path / "graph")
    assert graph.num_edges == num_leaves
    assert graph.out_degrees.max() == num_leaves
    walk_fit_recommend(graph, ["hub", "0", str(num_leaves - 1)])
    kind = "directed" if directed else "undirected"
    record(
        "Input", input=f"star, {kind}", cases=num_leaves, outcome="fitted, hub and leaves served"
    )


@pytest.fixture
def ends(capsys):
    """Give a function that runs a command and tells how it ended: "done", or its one line."""

    def call(*arguments):
        capsys.readouterr()
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        lines = capsys.readouterr().err.splitlines()
        if not code:
            return "done"
        (error,) = [line for line in lines if not line.startswith("note: ")]
        assert code == 1
        assert error.startswith("arcvec: ")
        assert "unexpected" not in error
        return error.removeprefix("arcvec: ")

    return call


def every_command(tmp_path, edges):
    """Return a call of each command that reads a graph or a result, in the order of the data."""
    graph, split, result = tmp_path / "graph", tmp_path / "split", tmp_path / "result"
    more = tmp_path / "more.txt"
    more.write_text("new a\n")
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(
        'name = "x"\ntitle = "x"\ndatasets = ["split"]\ndata = "."\n'
        '[[methods]]\nlabel = "degrees"\nmethod = "degree-product"\n'
    )
    return {
        "ingest": (edges, "-o", graph),
        "split": (graph, "-o", split),
        "fit": (graph, "-o", result, *QUICK),
        "evaluate": (result, "--split", split),
        "calibrate": (result, "--graph", graph),
        "score": (result, edges),
        "rerank": (result, "--graph", graph),
        "recommend": (result, "--all", "--exclude", graph),
        "index": (result,),
        "explain": (result, "a", "b", "--graph", graph),
        "export": (result, "-o", tmp_path / "vectors.parquet"),
        "plot": (result, "--graph", graph, "-o", tmp_path / "spaces.png"),
        "report": (result, "--graph", graph, "-o", tmp_path / "report.html"),
        "add": (result, more, "-o", tmp_path / "larger"),
        "experiment": (experiment, "-o", tmp_path / "tables", "--quiet"),
    }


def test_every_command_with_two_nodes(tmp_path, ends, times, record):
    edges = tmp_path / "edges.txt"
    edges.write_text("a b\n")
    calls = every_command(tmp_path, edges)
    assert set(COMMANDS) - set(calls) == {"demo", "datasets", "doctor", "serve", "explore"}
    outcomes = {name: ends(name, *arguments) for name, arguments in calls.items()}
    refused = {name for name, outcome in outcomes.items() if outcome != "done"}
    few = {"split", "evaluate", "calibrate", "rerank", "plot", "report", "experiment"}
    assert refused <= few, outcomes
    assert "large enough to hold out edges" in outcomes["split"]
    assert len(EdgeEmbeddings.load(tmp_path / "larger").nodes) == 3
    servers = times({}, {"serve": "/healthz", "explore": "/"})  # tests/serve starts them anyway
    for name, page in servers.items():
        with running(tmp_path, name, tmp_path / "result", "--graph", edges) as server:
            assert server.get(page).status == 200
    cases = len(calls) + len(servers)
    outcome = f"{cases - len(refused)} commands done, {len(refused)} refused in one line"
    record("Input", input="graph of two nodes", cases=cases, outcome=outcome)


def test_every_command_without_edges(tmp_path, ends, record):
    edges = tmp_path / "edges.txt"
    edges.write_text("a a\nb b\n")
    calls = every_command(tmp_path, edges)
    for name in ("serve", "explore"):
        calls[name] = (tmp_path / "result", "--port", "0")
    outcomes = {name: ends(name, *arguments) for name, arguments in calls.items()}
    assert outcomes.pop("ingest") == "done"
    assert "done" not in outcomes.values()
    assert "edge between two different nodes" in outcomes["fit"]
    outcome = f"1 command done, {len(outcomes)} refused in one line"
    record("Input", input="graph without edges", cases=len(calls), outcome=outcome)


def test_objects_of_other_libraries(record):
    import pandas as pd

    names = ["a", "b"]
    odd_weights = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e-46, "text", [1], {}]
    for weight in odd_weights:
        frame = pd.DataFrame({"u": names, "v": ["b", "c"], "w": [1.0, weight]}, dtype=object)
        with pytest.raises(ValueError, match=r"expected .*weights"):
            graph_from(frame, weight="w")
    frame = pd.DataFrame({"u": ["a", "a"], "v": ["b", "b"], "w": [3e38, 3e38]})
    with pytest.raises(ValueError, match=r"a repeated edge add up to 6e\+38"):
        graph_from(frame, weight="w")
    half = ["\ud800", "x\udcff"]
    for name in half:
        with pytest.raises(ValueError, match=r"expected names that are text, got .*half of a char"):
            NodeNames.from_strings(["a", name, "b"])
        with pytest.raises(ValueError, match="expected names that are text"):
            graph_from((np.array(names), np.array([name, "c"])))
    cases = len(odd_weights) + 1 + len(half)
    record("Input", input="frames and arrays", cases=cases, outcome=f"{cases} refused")
