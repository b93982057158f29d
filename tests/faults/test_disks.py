"""Disks that are full, may only be read, or vanish: a clear error, and what was there stays."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import load_graph
from arcvec.graph.names import NodeNames
from tests.cli.commands import QUICK, arcvec
from tests.faults.processes import finished, write_communities

FULL = "no space left on the disk; make room or choose another output"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of three megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"needs the right to mount: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def result(tmp_path):
    """A result of 20,000 nodes, larger than the small disk when written as text."""
    vectors = np.random.default_rng(0).normal(size=(2, 20_000, 16)).astype(np.float32)
    EdgeEmbeddings(*vectors, NodeNames.numbered(20_000)).save(tmp_path / "large")
    return tmp_path / "large"


def test_a_full_disk(tmp_path, small_disk, result, record):
    edges = write_communities(tmp_path / "edges.csv")
    large = write_communities(tmp_path / "large.csv", 100_000, 150_000)
    larger = write_communities(tmp_path / "larger.csv", 200_000, 400_000)
    graph, vectors, best = (small_disk / name for name in ("graph", "result", "best.csv"))
    for command in (
        ("ingest", edges, "-o", graph),
        ("fit", edges, "-o", vectors, *QUICK),
        ("recommend", vectors, "--all", "-k", 3, "-o", best),
    ):
        code, error = finished(*command)
        assert code == 0, error
    before = load_graph(graph).fingerprint, EdgeEmbeddings.load(vectors).fingerprint("source")
    lines = best.read_text()
    commands = {
        "ingest": ("ingest", larger, "-o", graph),
        "fit": ("fit", large, "-o", vectors, *QUICK, "--preset", "auc"),
        "recommend --all": ("recommend", result, "--all", "-k", 20, "-o", best),
        "export": ("export", result, "--format", "word2vec", "-o", small_disk / "text.txt"),
    }
    for name, command in commands.items():
        code, error = finished(*command, "--overwrite")
        assert code == 1, name
        assert error.startswith("arcvec: "), error
        assert FULL in error, error
        after = load_graph(graph).fingerprint, EdgeEmbeddings.load(vectors).fingerprint("source")
        assert after == before
        assert best.read_text() == lines
        assert {path.name for path in small_disk.iterdir()} <= {
            *("graph", "result", "best.csv", "result.checkpoint")
        }
    record("Faults", fault="disk full in mid-run", times=len(commands), lost="nothing")


def test_an_output_that_may_only_be_read(tmp_path, result, record):
    if os.geteuid() == 0:
        # Root may write anywhere but below a file system that is mounted so.
        folder = "/proc/sys"
    else:
        folder = tmp_path / "locked"
        folder.mkdir()
        folder.chmod(0o500)
    edges = write_communities(tmp_path / "edges.csv")
    commands = (
        ("ingest", edges, "-o", f"{folder}/graph"),
        ("fit", edges, "-o", f"{folder}/result", *QUICK),
        ("recommend", result, "--all", "-o", f"{folder}/best.csv"),
        ("export", result, "--format", "parquet", "-o", f"{folder}/vectors.parquet"),
    )
    for command in commands:
        code, error = finished(*command)
        assert code == 1
        assert f"cannot write to {folder}: " in error, error
        assert "choose another output" in error
    record("Faults", fault="read-only output", times=len(commands), lost="nothing")


def test_a_folder_that_is_removed_in_mid_run(tmp_path, record):
    edges = write_communities(tmp_path / "edges.csv")
    out = tmp_path / "place" / "result"
    # A second apart: the folder goes between two checkpoints, not while one is written.
    settings = ("--dim", 8, "--training.steps", 100_000, "--training.checkpoint-every", 300)
    settings = (*settings, "--preset", "auc", "--training.patience", 100_000)
    checkpoint, deadline = out.with_name("result.checkpoint"), time.monotonic() + 240

    def wait_for_checkpoint(process):
        while not list(checkpoint.glob("running-*")) and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)

    with arcvec("fit", edges, "-o", out, *settings) as process:
        wait_for_checkpoint(process)
        time.sleep(0.1)
        out.parent.rename(tmp_path / "moved")
        # The next checkpoint makes the folder again, and training goes on.
        wait_for_checkpoint(process)
        process.kill()
        process.communicate()
    code, error = finished(
        *("fit", edges, "-o", out, *settings),
        *("--resume", "--training.evaluate-every", 3),
    )
    assert code == 1
    assert "cannot resume, the checkpoint was made with another" in error
    record("Faults", fault="output folder removed in mid-run", times=1, lost="nothing")


def test_two_writers(tmp_path, record):
    edges = write_communities(tmp_path / "edges.csv")
    out = tmp_path / "result"
    hold = (
        "import sys; from pathlib import Path; from arcvec.storage.atomic import sole_writer\n"
        "with sole_writer(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, out]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        for second in (("ingest", edges), ("fit", edges, *QUICK)):
            code, error = finished(*second, "-o", out)
            assert code == 1
            assert f"result: process {holder.pid} is writing it; wait for it" in error, error
        holder.kill()
    # The lock file is still there, and stops nobody.
    assert (tmp_path / ".result.lock").exists()
    code, error = finished("ingest", edges, "-o", out)
    assert code == 0, error
    assert not (tmp_path / ".result.lock").exists()
    record("Faults", fault="a second writer of the same output", times=2, lost="nothing")
