"""`fit --workers`: killed, stopped, wrong; and what it leaves behind."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import roc_auc
from arcvec.parallel.launch import is_worker
from tests.cli.commands import arcvec
from tests.faults.processes import finished, run, write_communities

DEFAULT = [
    *("--dim", "8", "--quiet", "--model.start", "random", "--walks.window", "3"),
    *("--training.steps", "60", "--training.evaluate-every", "10", "--training.patience", "50"),
    *("--training.checkpoint-every", "5"),
]
FIT = [*DEFAULT, "--preset", "auc"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    return write_communities(tmp_path_factory.mktemp("graph") / "edges.csv", 400, 3000)


@pytest.fixture(scope="module")
def undisturbed(edges, tmp_path_factory):
    """A result of two workers, with which nothing happened."""
    out = tmp_path_factory.mktemp("undisturbed") / "result"
    code, error = run("fit", edges, "-o", out, *FIT, "--workers", "2")
    assert code == 0, error
    assert [path.name for path in out.parent.iterdir()] == ["result"]
    return out


def workers_of(launcher):
    """Return the processes that a launcher started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:  # it has just ended
            continue
        if parent == launcher.pid:
            found.append(int(stat.parent.name))
    return found


def _number(path):
    return int(path.name.removeprefix("running-"))


def wait_for_running(launcher, checkpoint, number):
    end = time.monotonic() + 120
    while time.monotonic() < end and launcher.poll() is None:
        if any(_number(path) >= number for path in checkpoint.glob("running-*")):
            return
        time.sleep(0.01)
    raise AssertionError(f"no checkpoint {number}: {launcher.communicate()}")


def assert_same_vectors(one, other):
    for name in ("source.npy", "target.npy"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_result_is_a_usual_one(edges, undisturbed, tmp_path):
    alone = tmp_path / "alone"
    assert finished("fit", edges, "-o", alone, *FIT)[0] == 0
    one, many = EdgeEmbeddings.load(alone), EdgeEmbeddings.load(undisturbed)
    assert list(many.nodes) == list(one.nodes)
    assert many.source.shape == one.source.shape
    assert set(many.settings) == set(one.settings)
    assert many.settings["validation_auc"] == pytest.approx(one.settings["validation_auc"], abs=0.1)
    # Both learned the communities, as well as each other: a pair within one scores higher.
    community = np.array([int(name[1:]) // 20 for name in one.nodes])
    within = community[:, None] == community[None, :]
    scores = (result.score_all_targets(np.arange(len(one.nodes))) for result in (one, many))
    separations = [roc_auc(table[within], table[~within]) for table in scores]
    assert min(separations) > 0.8
    assert separations[1] == pytest.approx(separations[0], abs=0.03)


def test_workers_learn_an_order_as_well_as_one_process(edges, tmp_path):
    found = []
    for name, many in (("alone", ()), ("together", ("--workers", "2"))):
        fit = ("fit", edges, "-o", tmp_path / name, *DEFAULT, *many)
        code, error = run(*fit)
        assert code == 0, error
        found.append(EdgeEmbeddings.load(tmp_path / name).settings)
    alone, together = found
    assert set(alone) == set(together)
    assert together["validation_gain"] == pytest.approx(alone["validation_gain"], rel=0.15)
    assert together["validation_auc"] == pytest.approx(alone["validation_auc"], abs=0.1)


def test_killed_worker_changes_nothing(edges, undisturbed, tmp_path):
    """torchrun starts all again, from the last checkpoint, to the same bytes."""
    out = tmp_path / "result"
    with arcvec("fit", edges, "-o", out, *FIT, "--workers", "2") as launcher:
        wait_for_running(launcher, tmp_path / "result.checkpoint", 2)
        os.kill(max(workers_of(launcher)), signal.SIGKILL)
        _, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 0, error
    assert "started again, from the last checkpoint" in error
    assert_same_vectors(out, undisturbed)


def test_worker_lost_after_the_result_was_written(edges, undisturbed):
    """A worker that torchrun starts again finds the result and leaves it."""
    before = {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()}
    worker = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29400"}
    restarted = {**os.environ, **worker, "TORCHELASTIC_RESTART_COUNT": "1"}
    code, error = run("fit", edges, "-o", undisturbed, *FIT, env=restarted)
    assert (code, error) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()} == before


@pytest.mark.slow
def test_all_killed_and_resumed_by_another_number(edges, undisturbed, tmp_path):
    """Also where the newest checkpoint is torn: the one before is taken, and that is said."""
    out, checkpoint = tmp_path / "result", tmp_path / "result.checkpoint"
    with arcvec("fit", edges, "-o", out, *FIT, "--workers", "2") as launcher:
        wait_for_running(launcher, checkpoint, 3)
        for process in (launcher.pid, *workers_of(launcher)):
            os.kill(process, signal.SIGKILL)
        launcher.communicate()
    newest = max(checkpoint.glob("running-*"), key=_number)
    (newest / "rows-0.safetensors").write_bytes(b"torn")
    with arcvec("fit", edges, "-o", out, *FIT, "--workers", "3", "--resume") as launcher:
        _, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 0, error
    assert "torn or damaged: an earlier one is taken" in error
    found, expected = (EdgeEmbeddings.load(path).settings for path in (out, undisturbed))
    assert found["validation_auc"] == pytest.approx(expected["validation_auc"], abs=0.05)
    assert not checkpoint.exists()


@pytest.mark.slow
def test_interrupted_and_resumed(edges, undisturbed, tmp_path):
    out = tmp_path / "result"
    with arcvec("fit", edges, "-o", out, *FIT, "--workers", "2") as launcher:
        wait_for_running(launcher, tmp_path / "result.checkpoint", 1)
        launcher.send_signal(signal.SIGINT)
        _, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 130
    assert error.count("stopped after step") == 1
    assert "--resume" in error
    assert finished("fit", edges, "-o", out, *FIT, "--workers", "2", "--resume")[0] == 0
    assert_same_vectors(out, undisturbed)


def test_errors_are_told_once_and_end_all(edges, tmp_path):
    """Not after restarts, which would not help."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model": {"hidden": []}, "training": {"learning_rates": [1e30]}}))
    command = ["fit", edges, "-o", tmp_path / "r", *FIT, "--config", config, "--workers", "2"]
    with arcvec(*command) as launcher:
        _, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 1
    assert error.count("arcvec: the loss is") == 1
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1


def test_a_budget_is_refused(edges, tmp_path):
    code, error = finished("fit", edges, "-o", tmp_path / "r", "--budget", "5s", "--workers", "2")
    assert code == 1
    assert "--budget belongs to fits of one process" in error


def test_checkpoints_of_version_0_1_are_refused(edges, tmp_path):
    (tmp_path / "r.checkpoint").write_bytes(b"safetensors")
    code, error = finished("fit", edges, "-o", tmp_path / "r", *FIT)
    assert code == 1
    assert "was written by another version of arcvec" in error


def test_one_process_resumes_what_two_workers_began(edges, undisturbed, tmp_path):
    """A checkpoint has one format, whoever wrote it."""
    out = tmp_path / "result"
    with arcvec("fit", edges, "-o", out, *FIT, "--workers", "2") as launcher:
        wait_for_running(launcher, tmp_path / "result.checkpoint", 3)
        for process in (launcher.pid, *workers_of(launcher)):
            os.kill(process, signal.SIGKILL)
        launcher.communicate()
    code, error = finished("fit", edges, "-o", out, *FIT, "--resume")
    assert code == 0, error
    found, expected = (EdgeEmbeddings.load(path).settings for path in (out, undisturbed))
    assert found["validation_auc"] == pytest.approx(expected["validation_auc"], abs=0.05)


def test_tests_are_no_workers():
    assert not is_worker()
