"""Many workers train as one process does, with the same pairs, to the rounding of float32.

Deep models differ a little more: BatchNorm normalises over the nodes of each worker.
"""

import json

import numpy as np
import pytest

from arcvec.training.spectral import spectral_rows
from tests.parallel.processes import run_workers
from tests.parallel.tasks import CONFIGS, make_fit, make_graph, trained


@pytest.fixture(scope="module")
def alone():
    return {name: trained(*make_fit(name)) for name in CONFIGS}


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Results of each of 1, 2 and 3 workers, who begin with the checkpoint of those before."""
    folder = tmp_path_factory.mktemp("workers")
    path = str(folder / "checkpoint")
    results, load = {}, {}
    for count in (1, 2, 3):
        results[count] = run_workers(
            count,
            folder,
            same_training={"names": list(CONFIGS)},
            starts={},
            **load,
            save_checkpoints={"path": path},
            exchanged={"sizes": [0, 1, 1000]},
        )
        load = {"load_checkpoint": {"path": path}}
        if count == 2:
            # The newest one is torn: a file was cut off, as by a full disk.
            file = folder / "checkpoint" / "running-3" / "rows-1.safetensors"
            file.write_bytes(file.read_bytes()[:-100])
    return results


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_workers_train_as_one_process(alone, workers, name, count):
    expected, parts = alone[name], workers[count]
    nodes = np.concatenate([part[f"{name}.nodes"] for part in parts])
    np.testing.assert_array_equal(np.sort(nodes), np.arange(nodes.size))
    exact = count == 1 or not name.startswith("deep")
    for part in parts:
        loss, auc = part[f"{name}.losses"], part[f"{name}.aucs"]
        np.testing.assert_allclose(loss, expected["losses"], rtol=1e-4 if exact else 0.03)
        np.testing.assert_allclose(auc, expected["aucs"], atol=2e-4 if exact else 0.02)
        np.testing.assert_allclose(
            part[f"{name}.spread"], expected["spread"], rtol=1e-3 if exact else 0.1
        )
    for key in ("rows", "source", "target"):
        found = np.concatenate([part[f"{name}.{key}"] for part in parts])
        if exact:
            np.testing.assert_allclose(found, expected[key][nodes], atol=1e-3)
        else:
            assert np.corrcoef(found.ravel(), expected[key][nodes].ravel())[0, 1] > 0.95


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_worker_gets_what_the_others_have_for_it(workers, count):
    for rank, part in enumerate(workers[count]):
        for size in (0, 1, 1000):
            expected = np.repeat(np.arange(count), size * rank)
            np.testing.assert_array_equal(part[f"exchange.{size}"], np.stack([expected] * 2, 1))
        assert json.loads(str(part["agreed"])) == {"rank": 0, "text": "a\u00fc"}
        np.testing.assert_array_equal(part["sum"], count * np.arange(3.0))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_starts_are_those_of_one_process(workers, count, directed):
    """Up to signs: of singular vectors, and of rounding where two are nearly as large."""
    parts = workers[count]
    nodes = np.concatenate([part["start.nodes"] for part in parts])
    found = np.empty((nodes.size, 20), dtype=np.float32)
    found[nodes] = np.concatenate([part[f"start.{directed}"] for part in parts])
    expected = spectral_rows(make_graph(directed), 20, 3)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=0.01)


@pytest.mark.parametrize(("count", "number"), [(2, 2), (3, 1)])
def test_checkpoints_are_for_any_number_of_workers(workers, count, number):
    """The newest is read, or the one before where it is torn."""
    for part in workers[count]:
        assert part["loaded.number"] == number
        expected = part["loaded.nodes"][:, None] + 1000 * number + np.array([0, 0.25])
        np.testing.assert_array_equal(part["loaded.rows"], expected)


def test_checkpoints_are_no_pickles(tmp_path):
    run_workers(1, tmp_path, save_checkpoints={"path": str(tmp_path / "checkpoint")})
    names = {path.name for path in (tmp_path / "checkpoint").iterdir()}
    assert names == {"checkpoint.json", "running-2", "running-3"}
    names = {path.name for path in (tmp_path / "checkpoint" / "running-3").iterdir()}
    files = {"rows-0.safetensors", "shared.safetensors", "checkpoint.json", "checksums.txt"}
    assert names == files
