"""Settings of a result, and which of them differ from the nearest preset."""

import pytest

from arcvec.baselines.by_name import BASELINES
from arcvec.training.presets import load_method
from arcvec.view.report.sections import fit_settings
from arcvec.view.table_text import Bold
from tests.view.report.conftest import METHOD


def remembered(method, name="edge-projection"):
    return {"method": name, "settings": method.model_dump(mode="json", exclude={"seed"})}


def texts(table):
    return [list(row) for row in table.rows]


def test_those_that_differ_are_marked():
    found = fit_settings(remembered(METHOD))
    assert found["preset"] == "auc"
    assert [row[:3] for row in texts(found["changed"])] == [
        ["dim", "8", "32"],
        ["walks.window", "3", "5"],
    ]
    assert texts(found["changed"])[1][3].startswith("largest distance in a walk")
    assert [row[0] for row in found["all"].rows if isinstance(row[0], Bold)] == [
        "dim",
        "walks.window",
    ]
    assert len(found["all"].rows) > 40


@pytest.mark.parametrize("preset", ["paper", "released-code"])
def test_the_nearest_preset(preset):
    method = load_method(preset)
    changed = method.model_copy(update={"dim": 64})
    assert fit_settings(remembered(method))["changed"].rows == []
    found = fit_settings(remembered(changed))
    assert found["preset"] == preset
    assert texts(found["changed"])[0][:3] == ["dim", "64", "32"]


def test_a_baseline_and_a_setting_that_is_no_more():
    values = remembered(BASELINES["hope"](), "hope")
    values["settings"]["forgotten"] = True
    assert [row[:3] for row in texts(fit_settings(values)["changed"])] == [
        ["forgotten", "yes", "-"]
    ]


@pytest.mark.parametrize("values", [{}, {"method": "by hand", "settings": {}}, {"method": "hope"}])
def test_nothing_to_say(values):
    assert fit_settings(values) is None
