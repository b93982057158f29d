"""Real processes, where it matters: imports, interrupts, kills."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from benchmarks.rmat import rmat_edges
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
    assert checkpoint.is_dir()
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


# A process between, as that of the tests would lend its own peak to those it starts.
PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "arcvec", *sys.argv[1:]], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def peak_of_split(folder):
    command = [sys.executable, "-c", PEAK, "split", folder, "-o", folder.with_suffix(".split")]
    done = subprocess.run([*command, "--overwrite"], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_memory_of_a_split_is_about_twice_the_graph(tmp_path, directed):
    for name, scale in (("small", 8), ("large", 17)):
        edges = rmat_edges(scale, 20, seed=0)
        graph = Graph.from_edges(*edges, nodes=1 << scale, directed=directed)
        save_graph(graph, tmp_path / name)
    peak_of_split(tmp_path / "small")  # which may compile kernels
    libraries = peak_of_split(tmp_path / "small")
    of_the_graph = graph.indices.nbytes + graph.indptr.nbytes
    allowed = 2.5 * of_the_graph + 100 * graph.num_nodes + (32 << 20)
    assert peak_of_split(tmp_path / "large") - libraries < allowed
