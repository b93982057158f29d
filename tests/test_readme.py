"""The README is true: its Python runs, its commands run, its tree is the tree."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
PACKAGE = Path(__file__).parent.parent / "src" / "arcvec"

EXPERIMENT = """
name = "small"
title = "As small as can be"
datasets = ["split"]  # which the command above has written
data = ".."
methods = [{ label = "degrees", method = "degree-product" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the README's examples read."""
    people = ["alice", "bob", *(f"p{i}" for i in range(60))]
    generator = np.random.default_rng(0)
    edges = {(s, t) for s, t in generator.integers(62, size=(900, 2)).tolist() if s < t}
    lines = [f"{people[s]},{people[t]}" for s, t in sorted(edges)]
    (tmp_path / "follows.csv").write_text("\n".join(["source,target", *lines]) + "\n")
    (tmp_path / "pairs.csv").write_text("source,target\nalice,bob\nbob,p3\n")
    (tmp_path / "new_edges.csv").write_text("source,target\ncarol,alice\ncarol,bob\np3,carol\n")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments/table1.toml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_readme(folder):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0.5 < float(done.stdout) < 1


def test_commands_of_the_readme(folder):
    commands = re.findall(r"^\| `arcvec (.+?)` \|", README, re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        *("demo", "ingest", "split", "fit", "evaluate", "score", "recommend"),
        *("index", "calibrate", "add", "explain", "export", "plot"),
        *("report", "explore", "serve", "experiment"),
    ]
    elsewhere = ("demo", "explore", "serve")  # have tests of their own
    for command in (text for text in commands if text.split()[0] not in elsewhere):
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
