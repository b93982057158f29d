"""Commands killed at random moments: what was finished stays, what was begun is never seen."""

import hashlib
import time

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import load_graph
from arcvec.graph.names import NodeNames
from arcvec.storage.headers import read_json, unsealed
from tests.cli.commands import QUICK
from tests.faults.processes import finished, killed_after, write_communities


def digest(path):
    """Return what tells the contents of a file or folder from others."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    parts = [(file.name, file.read_bytes()) for file in files if file.is_file()]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def leftovers(folder):
    """Return what killed processes left beside their outputs; the next writer clears it away."""
    return [path.name for path in folder.iterdir() if ".partial-" in path.name]


@pytest.fixture
def kill(times):
    """Give a function that kills a command at many moments of its life, and looks after each.

    It returns how often the command was alive when killed.
    """

    def many(command, look, before=lambda: ()):
        start = time.monotonic()
        code, error = finished(*command)
        assert code == 0, error
        lasts = time.monotonic() - start
        generator = np.random.default_rng(0)
        wanted, hit, tried = times(1, 50), 0, 0
        while hit < wanted and tried < 4 * wanted + 8:
            tried += 1
            hit += killed_after(generator.uniform(0.1, 1) * lasts, *command, *before())
            look()
        assert hit >= wanted
        return hit

    return many


def test_ingest(tmp_path, kill, record):
    files = [write_communities(tmp_path / f"{i}.csv", 20_000, 60_000, seed=i) for i in range(2)]
    out = tmp_path / "graph"
    code, error = finished("ingest", files[0], "-o", out)
    assert code == 0, error
    old = load_graph(out).fingerprint
    assert finished("ingest", files[1], "-o", tmp_path / "other")[0] == 0
    new = load_graph(tmp_path / "other").fingerprint
    seen = set()

    def look():
        seen.add(load_graph(out).fingerprint)

    hit = kill(("ingest", files[1], "-o", out, "--overwrite"), look)
    assert seen <= {old, new}
    assert finished("ingest", files[1], "-o", out, "--overwrite")[0] == 0
    assert load_graph(out).fingerprint == new
    assert not leftovers(tmp_path)
    record("Faults", fault="kill -9 of ingest --overwrite", times=hit, lost="nothing")


def test_fit(tmp_path, kill, record):
    edges = write_communities(tmp_path / "edges.csv")
    settings = (*QUICK, "--training.checkpoint-every", 3, "--walks.window", 5)
    out, checkpoint = tmp_path / "result", tmp_path / "result.checkpoint"
    code, error = finished("fit", edges, "-o", tmp_path / "whole", *settings)
    assert code == 0, error
    whole = digest(tmp_path / "whole")

    def look():
        if out.exists():  # it was quicker than usual, and is whole
            EdgeEmbeddings.load(out)
            assert digest(out) == whole

    def resume():
        return ("--overwrite", "--resume") if checkpoint.is_dir() else ("--overwrite",)

    hit = kill(("fit", edges, "-o", out, *settings), look, resume)
    code, error = finished("fit", edges, "-o", out, *settings, *resume())
    assert code == 0, error
    assert digest(out) == whole
    assert not leftovers(tmp_path)
    record("Faults", fault="kill -9 of fit, then fit --resume", times=hit, lost="nothing")


EXPERIMENT = """
name = "small"
title = "Small"
datasets = ["split"]
dims = [4, 8]
seeds = [0]
ranking = false
"""
METHODS = ("svd", "hope", "eigenmaps")


def test_experiment(tmp_path, kill, record):
    edges = write_communities(tmp_path / "edges.csv")
    assert finished("split", edges, "-o", tmp_path / "split", "--test-fraction", 0.2)[0] == 0
    rows = [f'[[methods]]\nlabel = "{name}"\nmethod = "{name}"\n' for name in METHODS]
    (tmp_path / "small.toml").write_text(EXPERIMENT + "".join(rows))
    common = ("experiment", tmp_path / "small.toml", "--data", tmp_path, "--quiet")
    cells = tmp_path / "cells"
    known = {}

    def look():
        # A name with a dot before it is a cell that was being written.
        now = {path.name: path.read_bytes() for path in cells.glob("[!.]*.json")}
        for name in now:
            assert unsealed(read_json(cells / name), cells / name)["status"] == "done"
        assert known.items() <= now.items()
        known.update(now)
        if len(now) == len(METHODS) * 2:
            known.clear()
            for path in cells.glob("*.json"):
                path.unlink()

    # The cells of the first run, which tells how long one lasts, are its own.
    assert finished(*common, "-o", tmp_path / "first")[0] == 0
    hit = kill((*common, "-o", tmp_path / "out", "--cells", cells), look)
    assert finished(*common, "-o", tmp_path / "out", "--cells", cells)[0] == 0
    look()
    tables = [(tmp_path / name / "results.csv").read_text() for name in ("first", "out")]
    aucs = [[line.split(",")[5] for line in text.splitlines()] for text in tables]
    assert aucs[0] == aucs[1]
    record("Faults", fault="kill -9 of experiment", times=hit, lost="nothing")


def test_recommend(tmp_path, kill, record):
    vectors = np.random.default_rng(0).normal(size=(2, 3000, 8)).astype(np.float32)
    EdgeEmbeddings(*vectors, NodeNames.numbered(3000)).save(tmp_path / "result")
    command = ("recommend", tmp_path / "result", "--all", "-k", 10, "--overwrite", "-o")
    assert finished(*command, tmp_path / "whole.csv")[0] == 0
    whole, old, out = (tmp_path / "whole.csv").read_text(), "an older file\n", tmp_path / "best.csv"
    out.write_text(old)

    def look():
        assert out.read_text() in (old, whole)

    hit = kill((*command, out), look)
    assert finished(*command, out)[0] == 0
    assert out.read_text() == whole
    assert not leftovers(tmp_path)
    record("Faults", fault="kill -9 of recommend --all", times=hit, lost="nothing")
