"""Workers as real processes, each with the same tasks of `tests.parallel.tasks`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).parent.parent.parent
RUN = "import sys; from tests.parallel import tasks; tasks.run(*sys.argv[1:])"


def run_workers(count, folder, **tasks):
    """Return what tasks give on each of `count` workers: a dictionary of arrays.

    Args:
        tasks: functions of `tests.parallel.tasks` by name, with their arguments.
    """
    folder = Path(folder) / f"workers-{count}"
    folder.mkdir(parents=True)
    paths = os.pathsep.join([str(PROJECT / "src"), str(PROJECT)])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(rank), str(count), folder, json.dumps(tasks)],
            env=environment,
            cwd=PROJECT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    for process, error in zip(processes, errors, strict=True):
        assert process.returncode == 0, error[-3000:]
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(count)]


def assert_same_report(found, expected):
    """Check that reports agree: areas of whole numbers exactly, sums to rounding."""
    assert found.keys() == expected.keys()
    numbers = [np.array(list(report.values()), dtype=float) for report in (found, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-12)
    for name in ("auc", "auc_random", "auc_reversed"):
        assert found[name] == expected[name]
