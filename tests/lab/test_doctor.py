import json
import os
import subprocess
import sys

import numba
import pytest

from arcvec import __version__
from arcvec.cli import main
from arcvec.lab import doctor


def test_this_installation_is_healthy(capsys):
    main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"]
    assert told["problems"] == {}
    assert told["facts"]["arcvec"] == __version__
    assert f"numba {numba.__version__}" in told["facts"]["packages"]
    assert f"{numba.get_num_threads()} threads" in told["facts"]["numba"]
    assert "parquet" in told["facts"]["extras"]
    assert "GiB in " in told["facts"]["free disk"]


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


def test_a_package_that_cannot_be_imported_is_told(monkeypatch, capsys):
    usual = doctor.import_module

    def broken(name):
        if name == "torch":
            raise ImportError("libtorch.so: no such file")
        return usual(name)

    monkeypatch.setattr(doctor, "import_module", broken)
    found = doctor.diagnose()
    assert found["problems"] == {"torch": "ImportError: libtorch.so: no such file"}
    assert "torch" not in found["facts"]
    assert found["facts"]["arcvec"] == __version__
    with pytest.raises(SystemExit) as exit_:
        main(["doctor"])
    assert exit_.value.code == 1
    assert "failed: ImportError" in capsys.readouterr().out
