"""Real processes, where it matters: imports, interrupts, kills."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.commands import QUICK, arcvec, write


def test_raw_files_are_read_with_notes(edges, tmp_path):
    write(tmp_path / "loop.csv", edges.read_text() + "p1,p1\n")
    done = arcvec("fit", tmp_path / "loop.csv", "-o", tmp_path / "result", *QUICK)
    _, error = done.communicate(timeout=120)
    assert "note: " in error
    assert "1 self-loop dropped" in error


@pytest.mark.parametrize(
    "command",
    [
        *((), ("fit",), ("add",), ("calibrate",), ("index",), ("recommend",), ("plot",)),
        *(("report",), ("serve",), ("explore",)),
    ],
)
def test_help_needs_neither_torch_nor_numba(command):
    code = (
        "import sys; from arcvec.cli import main; main(sys.argv[1:]);"
        "heavy = {'torch', 'numba', 'scipy', 'sklearn', 'duckdb', 'matplotlib', 'fastapi'};"
        "heavy = (heavy | {'jinja2'}) & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: arcvec" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "follows.csv"),
        ("recommend", "--node", "p3"),
        ("recommend", "--node", "p3", "--approximate"),
    ],
)
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
