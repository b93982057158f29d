import json
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from arcvec import __version__
from arcvec.cli import main
from arcvec.embeddings import EdgeEmbeddings
from arcvec.kernels import topk, walks
from arcvec.lab.doctor import diagnose
from arcvec.training.edge_projection import EdgeProjection


def test_this_installation_is_healthy(capsys):
    main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"]
    assert told["facts"]["arcvec"] == __version__
    assert f"numba {numba.__version__}" in told["facts"]["packages"]
    assert f"{numba.get_num_threads()} threads" in told["facts"]["numba"]
    assert [check["problem"] for check in told["checks"]] == [""] * 4


def test_one_thread_is_enough_if_no_more_are_asked_for():
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-m", "arcvec", "doctor", "--json"],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
    )
    facts = json.loads(done.stdout)["facts"]
    assert facts["torch"].startswith("1 threads")
    assert facts["numba"].startswith("1 threads")


def stuck_walks(indptr, indices, cumulative, starts, length, seed, first):
    return np.repeat(starts[:, None], length, axis=1)


def no_top_k(*arguments):
    """Leave the heaps empty."""


def nothing_learned(self, graph):
    vectors = np.zeros((graph.num_nodes, 2), dtype=np.float32)
    return EdgeEmbeddings(vectors, vectors, graph.nodes)


def lost(self, path):
    raise OSError("disk full")


BROKEN = {
    "compiled walks": (walks, "first_order_walks", stuck_walks, "which is no edge"),
    "compiled top-k": (topk, "keep_best", no_top_k, "the best of node 0 are"),
    "training": (EdgeProjection, "fit", nothing_learned, "AUC of 0.500"),
    "files": (EdgeEmbeddings, "save", lost, "OSError: disk full"),
}


def test_facts_that_cannot_be_had_say_why(monkeypatch):
    def no_threads():
        raise ValueError("no threading layer could be loaded")

    monkeypatch.setattr(numba, "threading_layer", no_threads)
    facts = diagnose()["facts"]
    assert facts["numba"] == "unknown: ValueError: no threading layer could be loaded"
    assert facts["arcvec"] == __version__


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_told(monkeypatch, capsys, name):
    place, attribute, broken, message = BROKEN[name]
    monkeypatch.setattr(place, attribute, broken)
    problems = {check["name"]: check["problem"] for check in diagnose()["checks"]}
    assert message in problems.pop(name)
    assert set(problems.values()) == {""}
    with pytest.raises(SystemExit) as exit_:
        main(["doctor"])
    assert exit_.value.code == 1
    assert "failed" in capsys.readouterr().out
