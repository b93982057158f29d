"""Many workers train as one process does, with the same pairs, to the rounding of float32."""

import numpy as np
import pytest

from tests.scaleout.processes import run_workers
from tests.scaleout.tasks import CONFIGS, make_plan, trained


@pytest.fixture(scope="module")
def alone():
    return {name: trained(make_plan(name)) for name in CONFIGS}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_workers_train_as_one_process(tmp_path, alone, count):
    parts = run_workers(count, "same_training", tmp_path, names=list(CONFIGS))
    for name, expected in alone.items():
        nodes = np.concatenate([part[f"{name}.nodes"] for part in parts])
        np.testing.assert_array_equal(np.sort(nodes), np.arange(nodes.size))
        for part in parts:
            np.testing.assert_allclose(
                part[f"{name}.losses"], expected["losses"], rtol=1e-4, err_msg=name
            )
            np.testing.assert_allclose(part[f"{name}.aucs"], expected["aucs"], atol=2e-4)
            np.testing.assert_allclose(part[f"{name}.spread"], expected["spread"], rtol=1e-3)
        for key in ("rows", "source", "target"):
            found = np.concatenate([part[f"{name}.{key}"] for part in parts])
            np.testing.assert_allclose(
                found, expected[key][nodes], atol=2e-3, err_msg=f"{name} {key}"
            )
