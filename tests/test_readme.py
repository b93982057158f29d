"""README and docs are true: their Python runs, their commands run, the tree is the tree."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from arcvec.cli import main
from arcvec.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PACKAGE = ROOT / "src" / "arcvec"
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if not p.name.endswith(".template.md"))
HOW_TOS = [page for page in PAGES if page.parent.name == "howto"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("demo", "explore", "serve")
"""Commands that have tests of their own."""

EXPERIMENT = """
name = "small"
title = "As small as can be"
datasets = ["split"]  # which the command above has written
data = ".."
methods = [{ label = "degrees", method = "degree-product" }]
"""


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A folder with what the examples read."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files that the examples read, once for all of them."""
    folder = tmp_path_factory.mktemp("files")
    people = ["alice", "bob", *(f"p{i}" for i in range(60))]
    generator = np.random.default_rng(0)
    edges = {(s, t) for s, t in generator.integers(62, size=(900, 2)).tolist() if s < t}
    lines = [f"{people[s]},{people[t]}" for s, t in sorted(edges)]
    (folder / "follows.csv").write_text("\n".join(["source,target", *lines]) + "\n")
    (folder / "pairs.csv").write_text("source,target\nalice,bob\nbob,p3\n")
    (folder / "new_edges.csv").write_text("source,target\ncarol,alice\ncarol,bob\np3,carol\n")
    (folder / "calls.tsv").write_text("alice\tbob\t3\nbob\tcarol\t1\n")
    (folder / "items.txt").write_text("bob\np3\np4\n")
    (folder / "blocked.txt").write_text("p3\n")
    frame = pd.read_csv(folder / "follows.csv")
    frame.columns = ["follower", "followee"]
    frame.to_parquet(folder / "follows.parquet")
    (folder / "experiments").mkdir()
    (folder / "experiments/table1.toml").write_text(EXPERIMENT)
    return folder


def test_python_of_the_readme(folder):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0.5 < float(done.stdout) < 1


def test_commands_of_the_readme(folder):
    commands = re.findall(r"^\| `arcvec (.+?)` \|", README, re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        *("demo", "datasets", "ingest", "split", "fit", "evaluate", "score", "recommend"),
        *("index", "rerank", "calibrate", "add", "explain", "export", "plot"),
        *("report", "explore", "serve", "experiment", "doctor"),
    ]
    for command in (text for text in commands if text.split()[0] not in ELSEWHERE):
        done = subprocess.run(
            [sys.executable, "-m", "arcvec", *shlex.split(command)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout.strip(), command


def test_tree_of_the_readme():
    (tree,) = re.findall(r"```text\nsrc/arcvec/\n(.*?)```", README, re.DOTALL)
    listed = set(re.findall(r"^[├└]── (\S+?)/? ", tree, re.MULTILINE))
    there = {
        path.name
        for path in PACKAGE.iterdir()
        if path.name not in ("__pycache__", "py.typed") and (path.is_dir() or path.suffix == ".py")
    }
    assert listed == there


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the blocks of code of a page, each with its language."""
    return BLOCK.findall(page.read_text())


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands in a block, each with what is shown below it."""
    parts = re.split(r"^\$ arcvec (.+)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def run(arguments: list[str], capsys) -> str:
    """Run a command in this process and return what it printed."""
    for i, argument in enumerate(arguments):
        if argument == "-o" and Path(arguments[i + 1]).is_dir():
            shutil.rmtree(arguments[i + 1])  # a page begins where its reader does
    capsys.readouterr()
    main(arguments)
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def flags():
    return set(re.findall(r"--[\w.-]+", app.generate_docs()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_docs_exist(page, flags):
    """Every command can be parsed, and every flag in the text is a flag of some command."""
    for _, text in blocks(page):
        for line in re.findall(r"^\s*(?:\$ )?arcvec (.+)$", text, re.MULTILINE):
            tokens = shlex.split(line, comments=True)
            app.parse_args(tokens, exit_on_error=False, print_error=False)
    prose = BLOCK.sub("", page.read_text())
    assert set(re.findall(r"`(--[\w.-]+)", prose)) <= flags


@pytest.fixture(scope="module")
def fitted(files):
    """The same files with the graph, the split and the result that pages begin with."""
    paths = {name: str(files / name) for name in ("follows.csv", "graph", "split", "result")}
    main(["ingest", paths["follows.csv"], "-o", paths["graph"]])
    main(["split", paths["graph"], "-o", paths["split"]])
    main(["fit", paths["graph"], "-o", paths["result"], "--quiet", "--training.steps", "20"])


@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_how_to_pages_run(page, fitted, folder, capsys):
    """From top to bottom, in a folder with a graph, a split and a result."""
    named = {text.split()[1]: text for language, text in blocks(page) if language == "toml"}
    for name, text in named.items():
        Path(name).write_text(text)
    for language, text in blocks(page):
        if language == "python":
            exec(text, {})
        for command, _ in commands(text) if language == "console" else ():
            arguments = shlex.split(command)
            if arguments[0] == "fit" and "--training.steps" not in arguments:
                arguments += ["--training.steps", "20"]  # that it runs is what counts here
            if arguments[0] not in ELSEWHERE:
                assert run(arguments, capsys).strip() or "-o" in arguments, command


@pytest.mark.slow
def test_the_tutorial_is_true(tmp_path, monkeypatch, capsys):
    """Line by line as shown; digits may differ between machines, and so may who is recommended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shown = []
    for language, text in blocks(ROOT / "docs/index.md"):
        if language == "python":
            exec(text, {})
        for command, expected in commands(text) if language == "console" else ():
            printed = run(shlex.split(command), capsys)
            shown.append(command.split()[0])
            if shown[-1] in ("ingest", "split"):
                assert printed == expected
            else:
                assert _shape(printed) == _shape(expected), command
    assert shown == ["ingest", "split", "fit", "evaluate", "fit", "recommend", "explain"]


def _shape(text: str) -> list[int]:
    """Return how many words each line has, of those that have any."""
    return [len(line.split()) for line in text.splitlines() if line.strip()]
