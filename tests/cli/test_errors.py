"""What goes wrong is told in one line, and leaves nothing behind."""

import re

import pytest

from tests.cli.commands import QUICK, write

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
    assert (
        error == f'arcvec: {config}: unknown setting "walks.windw"; did you mean "walks.window"?\n'
    )


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
    (array, *_) = sorted(result.glob("*.npy"))
    before = array.read_bytes()
    error = run("fit", edges, "-o", result, *QUICK, "--seed", "5", fails=True)
    assert "exists already; choose another name or pass --overwrite" in error
    assert array.read_bytes() == before
    run("fit", edges, "-o", result, *QUICK, "--seed", "5", "--overwrite")
    (array, *_) = sorted(result.glob("*.npy"))
    assert array.read_bytes() != before
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
        ("recommend", "result", "--node", "p1", "--popularity", "1.5"),
        ("recommend", "result", "--node", "p1", "--popularity", "nan"),
        ("recommend", "result", "--node", "p1", "--popularity", "0", "--probability", "even"),
        ("recommend", "result", "--node", "p1", "-o", "out.xlsx"),
        ("recommend", "result", "--node", "p1", "--only", "nowhere.txt"),
        ("recommend", "result", "--node", "p1", "--without", "result/source.npy"),
        ("recommend", "result", "--node", "p1", "--only", "follows.csv"),
        ("index", "result", "--recall", "1.5"),
        ("index", "nowhere"),
        ("calibrate", "result", "--graph", "nowhere.csv"),
        ("score", "result", "follows.csv", "--probability", "even"),
        ("recommend", "result", "--all", "--probability", "odd"),
        ("add", "result", "follows.csv", "-o", "new"),
        ("add", "result", "nowhere.csv", "-o", "new"),
        ("add", "result", "follows.csv", "-o", "result", "--overwrite"),
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
        ("fit", "follows.csv", "-o", "new", "--budget", "0s"),
        ("fit", "follows.csv", "-o", "new", "--budget", "soon"),
        ("fit", "follows.csv", "-o", "new", "--budget", "5s", "--resume"),
        ("fit", "follows.csv", "-o", "new", "--from", "nowhere"),
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
