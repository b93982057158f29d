"""The command line as users meet it: real files, and real processes where it matters."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest

from arcvec.cli import main
from arcvec.cli.fit import Preset
from arcvec.cli.results import Baseline
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from arcvec.methods.baselines import BASELINES
from arcvec.methods.presets import PRESETS

QUICK = ("--quiet", "--training.steps", "20", "--training.batch-pairs", "200", "--dim", "8")


@pytest.fixture
def edges(tmp_path) -> Path:
    """A csv of who follows whom among 60 people, in communities of twenty."""
    generator = np.random.default_rng(0)
    sources = generator.integers(60, size=400)
    targets = sources // 20 * 20 + generator.integers(20, size=400)
    lines = [f"p{s},p{t}" for s, t in zip(sources, targets, strict=True) if s != t]
    path = tmp_path / "follows.csv"
    path.write_text("\n".join(["source,target", *lines]) + "\n")
    return path


@pytest.fixture
def run(capsys):
    """Give a function that runs a command in this process and returns what it printed.

    Of a command that fails it returns the error, without the notes that came before.
    """

    def call(*arguments, fails=False):
        capsys.readouterr()
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        assert bool(code) == fails, captured.err
        lines = captured.err.splitlines(keepends=True)
        error = "".join(line for line in lines if not line.startswith("note: "))
        return error if fails else captured.out

    return call


def test_from_edge_list_to_recommendation(run, edges, tmp_path):
    graph, split, result = (tmp_path / name for name in ("graph", "split", "result"))
    assert re.search(r"60 nodes, \d+ edges, directed", run("ingest", edges, "-o", graph))
    assert "test edges" in run("split", graph, "-o", split, "--seed", "1")
    assert "60 nodes, dim 8, 20 steps" in run("fit", split, "-o", result, *QUICK)
    table = run("evaluate", result, "--split", split, "--method", "degree-product")
    assert "degree-product" in table
    report = json.loads(run("evaluate", result, "--split", split, "--json"))
    assert 0 <= report["auc"] <= 1
    assert {"auc_random", "auc_reversed", "average_precision", "mrr", "hits@10"} <= set(report)
    rows = run("recommend", result, "--node", "p3", "-k", "4", "--exclude", graph).splitlines()
    assert rows[0] == "node,rank,target,score"
    assert [row.split(",")[:2] for row in rows[1:]] == [["p3", str(i)] for i in range(1, 5)]
    known = {line.split(",")[1] for line in edges.read_text().split() if line.startswith("p3,")}
    assert not known & {row.split(",")[2] for row in rows[1:]}


def test_fit_reads_raw_files_and_only_the_train_part_of_a_split(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "raw", *QUICK)
    run("split", edges, "-o", tmp_path / "split")
    run("fit", tmp_path / "split", "-o", tmp_path / "trained", *QUICK)
    raw, trained = (EdgeEmbeddings.load(tmp_path / name) for name in ("raw", "trained"))
    assert raw.settings["graph_fingerprint"] != trained.settings["graph_fingerprint"]
    assert list(raw.nodes) == list(trained.nodes)


def test_undirected_files(run, edges, tmp_path):
    assert "undirected" in run("ingest", edges, "--undirected", "-o", tmp_path / "graph")
    run("fit", edges, "--undirected", "-o", tmp_path / "result", *QUICK)
    assert not EdgeEmbeddings.load(tmp_path / "result").directed


def test_score_keeps_the_order_of_the_pairs(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    (tmp_path / "pairs.csv").write_text("source,target\np9,p3\np3,p9\np9,p3\n")
    rows = run("score", tmp_path / "result", tmp_path / "pairs.csv").splitlines()
    assert rows[0] == "source,target,score"
    assert [row.rsplit(",", 1)[0] for row in rows[1:]] == ["p9,p3", "p3,p9", "p9,p3"]
    embeddings = EdgeEmbeddings.load(tmp_path / "result")
    expected = embeddings.score(*embeddings.nodes.ids(["p9", "p3"]).reshape(2, 1))
    assert float(rows[1].rsplit(",", 1)[1]) == pytest.approx(expected[0], rel=1e-5)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_recommendations_for_all_into_a_file(run, edges, tmp_path, suffix):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    out = tmp_path / f"recommendations{suffix}"
    run("recommend", tmp_path / "result", "--all", "-k", "3", "--direction", "sources", "-o", out)
    rows = duckdb.sql(f"SELECT * FROM '{out}'")
    assert rows.columns == ["node", "rank", "source", "score"]
    assert len(rows.fetchall()) == 180
    assert not list(tmp_path.glob(".*")), "something was left behind"


def test_settings_come_from_preset_then_file_then_flags(run, edges, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text("dim = 4\n[walks]\nwindow = 5\nwalk_length = 30\n[training]\nsteps = 3\n")
    run(
        *("fit", edges, "-o", tmp_path / "result", "--preset", "paper", "--config", config),
        *("--walks.window", "4", "--quiet"),
    )
    result = EdgeEmbeddings.load(tmp_path / "result").settings
    assert result["settings"]["dim"] == 4
    assert result["settings"]["walks"]["window"] == 4
    assert result["settings"]["walks"]["walk_length"] == 30
    assert result["settings"]["training"]["optimiser"] == "percent-delta"
    # The settings of a result are a settings file too.
    run("fit", edges, "-o", tmp_path / "again", "--config", tmp_path / "result/settings.json")
    again = EdgeEmbeddings.load(tmp_path / "again")
    assert again.settings == result
    first = (tmp_path / "result/source.npy").read_bytes()
    assert (tmp_path / "again/source.npy").read_bytes() == first


def test_float16_result(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", "--float16", *QUICK)
    assert EdgeEmbeddings.load(tmp_path / "result").source.dtype == np.float16


def write(path, text):
    path.write_text(text)
    return path


FIT_ERRORS = {
    "bad line": ("a b\nc\n", (), r"edges\.txt:2: expected 2 or 3 columns, got 1; .+"),
    "empty file": ("", (), r"edges\.txt: expected edges, got an empty file; .+"),
    "missing column": ("a b\nb c\n", ("--source", "nobody"), r'edges\.txt: .*"?nobody"?.*'),
    "one node": ("a a\n", (), r"expected a graph with an edge between two different nodes.*"),
    "negative weight": ("a b 1\nb c -2\n", (), r"edges\.txt:2: expected a positive.* got.*-2.*"),
    "nan weight": ("a b 1\nb c nan\n", (), r"edges\.txt:2: expected a positive.* got.*nan.*"),
    "odd dim": (
        "a b\nb c\n",
        ("--dim", "7"),
        r'setting "dim": expected a multiple of 2, got .*7.*',
    ),
    "no dim": ("a b\nb c\n", ("--dim", "0"), r'setting "dim": expected greater than .* got .*0.*'),
    "unknown setting": (
        "a b\nb c\n",
        ("--walks.windw", "3"),
        r"Unknown option: --walks\.windw\. Did you mean --walks\.window\?",
    ),
}


@pytest.mark.parametrize(("text", "flags", "message"), FIT_ERRORS.values(), ids=FIT_ERRORS)
def test_bad_input_to_fit_is_one_line_and_leaves_nothing(run, tmp_path, text, flags, message):
    edges = write(tmp_path / "edges.txt", text)
    error = run("fit", edges, "-o", tmp_path / "result", *flags, fails=True)
    assert re.fullmatch(rf"arcvec: (\S*/)?{message}\n", error), error
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"]


def test_unknown_setting_in_a_file(run, edges, tmp_path):
    config = write(tmp_path / "settings.toml", "[walks]\nwindw = 3\n")
    error = run("fit", edges, "-o", tmp_path / "result", "--config", config, fails=True)
    assert error == 'arcvec: unknown setting "walks.windw"; did you mean "walks.window"?\n'


def test_missing_file(run, tmp_path):
    error = run("fit", tmp_path / "none.txt", "-o", tmp_path / "result", fails=True)
    assert error.count("\n") == 1
    assert "none.txt" in error


def test_unwritable_output(run, edges, tmp_path):
    in_the_way = write(tmp_path / "file", "")
    error = run("fit", edges, "-o", in_the_way / "result", *QUICK, fails=True)
    assert re.fullmatch(r"arcvec: cannot write to \S+: .+; choose another output\n", error)


def test_existing_output_is_kept_unless_told(run, edges, tmp_path):
    result = tmp_path / "result"
    run("fit", edges, "-o", result, *QUICK)
    before = (result / "source.npy").read_bytes()
    error = run("fit", edges, "-o", result, *QUICK, "--seed", "5", fails=True)
    assert "exists already; choose another name or pass --overwrite" in error
    assert (result / "source.npy").read_bytes() == before
    run("fit", edges, "-o", result, *QUICK, "--seed", "5", "--overwrite")
    assert (result / "source.npy").read_bytes() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["follows.csv", "result"]


@pytest.mark.parametrize("command", [("fit", *QUICK), ("split",), ("ingest",)])
def test_overwrite_spares_what_arcvec_did_not_write(run, edges, tmp_path, command):
    (tmp_path / "precious").mkdir()
    write(tmp_path / "precious" / "thesis.txt", "years of work")
    name, *flags = command
    error = run(name, edges, "-o", tmp_path / "precious", "--overwrite", *flags, fails=True)
    assert "did not write" in error
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_overwrite_spares_the_input(run, edges, tmp_path):
    run("ingest", edges, "-o", tmp_path / "graph")
    for command in (("fit", *QUICK), ("split",)):
        name, *flags = command
        error = run(
            name, tmp_path / "graph", "-o", tmp_path / "graph", "--overwrite", *flags, fails=True
        )
        assert "the input" in error
    run("split", tmp_path / "graph", "-o", tmp_path / "split")


def test_shallow_model_by_flag(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK, "--model.empty-hidden")
    assert EdgeEmbeddings.load(tmp_path / "result").settings["settings"]["model"]["hidden"] == []


def test_raw_files_are_read_with_notes(edges, tmp_path):
    write(tmp_path / "loop.csv", edges.read_text() + "p1,p1\n")
    done = arcvec("fit", tmp_path / "loop.csv", "-o", tmp_path / "result", *QUICK)
    _, error = done.communicate(timeout=120)
    assert "note: " in error
    assert "1 self-loop dropped" in error


def test_names_with_line_breaks_survive_tables(run, tmp_path):
    names = ["a\rb", 'q"u,o', "two\nlines", "plain"]
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], nodes=names)
    save_graph(graph, tmp_path / "graph")
    run("fit", tmp_path / "graph", "-o", tmp_path / "result", *QUICK)
    for suffix in (".csv", ".parquet"):
        out = tmp_path / f"all{suffix}"
        run("recommend", tmp_path / "result", "--all", "-k", "3", "-o", out)
        rows = duckdb.sql(f"SELECT node, target FROM '{out}'").fetchall()
        assert {name for row in rows for name in row} == set(names)


def test_evaluating_a_result_of_another_graph_says_so(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    run("split", edges, "-o", tmp_path / "split")
    report = json.loads(
        run("evaluate", tmp_path / "result", "--split", tmp_path / "split", "--json")
    )
    assert report["fitted_on_train"] is False


def test_unknown_node_offers_close_names(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    error = run("recommend", tmp_path / "result", "--node", "p3x", fails=True)
    assert re.search(r"unknown node 'p3x': not among the 60 nodes; did you mean 'p3", error)


@pytest.mark.parametrize(
    "arguments",
    [
        ("recommend", "result"),
        ("recommend", "result", "--node", "p1", "--all"),
        ("recommend", "result", "--node", "p1", "-k", "0"),
        ("recommend", "result", "--node", "p1", "-o", "out.xlsx"),
        ("evaluate", "--split", "result"),
        ("evaluate", "result", "--split", "nowhere"),
        ("score", "nowhere", "follows.csv"),
        ("split", "follows.csv", "-o", "new", "--test-fraction", "2"),
        ("fit", "follows.csv"),
        ("fit", "result", "-o", "new"),
        ("fit", "follows.csv", "-o", "new", "--training.device", "abacus"),
        ("fit", "follows.csv", "-o", "new", "--model.hidden", "0"),
        ("fit", "follows.csv", "-o", "new", "--training.learning-rates", "-1"),
        ("fit", "follows.csv", "-o", "new", "--negatives.weight", "inf"),
        ("fit", "follows.csv", "-o", "new", "--resume"),
        ("fit", "follows.csv", "-o", "new", "--seed", "-1"),
        ("fit", "nowhere.csv", "-o", "deep/new"),
        ("recommend", "result", "--node", "p1", "-k", "-1"),
        ("nonsense",),
    ],
)
def test_wrong_use_is_one_line(run, edges, tmp_path, monkeypatch, arguments):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    monkeypatch.chdir(tmp_path)
    error = run(*arguments, fails=True)
    assert error.startswith("arcvec: ")
    assert error.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["follows.csv", "result"]


def test_choices_of_flags_are_all_there_is():
    assert set(Baseline.__args__) == set(BASELINES)
    assert set(Preset.__args__) == set(PRESETS)


def arcvec(*arguments, **options):
    command = [sys.executable, "-m", "arcvec", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.parametrize("arguments", [("--help",), ("fit", "--help"), ("recommend", "--help")])
def test_help_needs_neither_torch_nor_numba(arguments):
    code = (
        "import sys; from arcvec.cli import main; main(sys.argv[1:]);"
        "heavy = {'torch', 'numba', 'scipy', 'sklearn', 'duckdb', 'matplotlib'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: arcvec" in done.stdout


@pytest.mark.parametrize("arguments", [("score", "follows.csv"), ("recommend", "--node", "p3")])
def test_using_a_result_needs_no_torch(run, edges, tmp_path, arguments):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    code = (
        "import sys; from arcvec.cli import main; main(sys.argv[1:]);"
        "sys.exit('torch' in sys.modules)"
    )
    command, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-c", code, command, "result", *rest],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 5


def test_ctrl_c_leaves_a_checkpoint_and_resume_gives_the_same_bytes(edges, tmp_path):
    settings = ("--dim", 8, "--training.steps", 400, "--training.batch-pairs", 5000)
    settings = (*settings, "--training.validation-fraction", 0)
    stopped = arcvec("fit", edges, "-o", tmp_path / "result", *settings)
    checkpoint = tmp_path / "result.checkpoint"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < deadline:
        assert stopped.poll() is None, stopped.stderr.read()
        time.sleep(0.02)
    os.kill(stopped.pid, signal.SIGINT)
    _, error = stopped.communicate(timeout=60)
    assert stopped.returncode == 130
    assert re.search(r"stopped after step \d+; continue with:\n  arcvec fit .+ --resume", error)
    assert checkpoint.is_file()
    assert not (tmp_path / "result").exists()
    for name, flags in (("result", ["--resume"]), ("whole", [])):
        done = arcvec("fit", edges, "-o", tmp_path / name, *settings, *flags)
        _, error = done.communicate(timeout=120)
        assert done.returncode == 0, error
    assert not checkpoint.exists()
    resumed, whole = (tmp_path / name / "source.npy" for name in ("result", "whole"))
    assert resumed.read_bytes() == whole.read_bytes()


def test_a_killed_fit_leaves_no_result(edges, tmp_path):
    process = arcvec("fit", edges, "-o", tmp_path / "result", "--training.steps", 100_000)
    deadline = time.monotonic() + 120
    while not (tmp_path / "result.checkpoint").exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert not (tmp_path / "result").exists()


def test_python_api_of_the_readme(tmp_path):
    import arcvec

    assert isinstance(arcvec.Graph.from_edges([0], [1]), Graph)
    assert "EdgeProjection" in dir(arcvec)
    for name in arcvec.__all__:
        assert getattr(arcvec, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        arcvec.nothing  # noqa: B018
