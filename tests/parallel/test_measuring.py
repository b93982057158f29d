"""Workers that measure edges together get the numbers of one process."""

import json

import numpy as np
import pytest

from arcvec.evaluation.curves import Areas
from arcvec.evaluation.link_prediction import link_prediction
from tests.parallel.processes import assert_same_report, run_workers
from tests.parallel.tasks import make_evaluation, make_scores

SCORES = ("all differ", "many ties", "all equal")
SPLITS = ("directed", "undirected", "one source")
SAMPLE = {"max_ranked_edges": 500, "seed": 3}


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    return run_workers(
        3,
        tmp_path_factory.mktemp("measuring"),
        measured={"cases": SCORES},
        evaluated={"cases": SPLITS, **SAMPLE},
        walked_in_step={},
    )


@pytest.mark.parametrize("case", SCORES)
def test_areas_and_means_are_those_of_all_scores(workers, case):
    positive, negative = make_scores(case)
    expected = Areas.of(positive, negative)
    for worker in workers:
        auc, average_precision = worker[f"{case}.areas"]
        assert auc == expected.auc
        assert average_precision == pytest.approx(expected.average_precision, rel=1e-12)
        np.testing.assert_array_equal(worker[f"{case}.no negatives"], [np.nan, 1])
        assert worker[f"{case}.mean"] == (negative > 0.5).mean()
        error = negative.astype(float).std(ddof=1) / np.sqrt(negative.size)
        assert worker[f"{case}.error"] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("case", SPLITS)
def test_every_worker_has_the_report_of_one_process(workers, case):
    expected = link_prediction(*make_evaluation(case), **SAMPLE).as_dict()
    assert (expected["mrr_standard_error"] is None) == (case == "one source")
    for worker in workers:
        assert_same_report(json.loads(str(worker[f"{case}.report"])), expected)


def test_nobody_runs_ahead_or_waits_in_vain(workers):
    assert [worker["items"].tolist() for worker in workers] == [[], [0, 1], [0, 1, 2, 3]]
