"""Hostile settings: each file ends as settings, or in a line that names file and setting."""

from collections import Counter
from pathlib import Path

import pytest

from arcvec.lab.grid import ExperimentSettings, read_experiment
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.presets import load_method
from tests.faults.damage import fuzz, refusal

PROJECT = Path(__file__).parents[2]
TOML = [
    b"dim = 8\nseed = 3\n[walks]\nwindow = 3\n",
    b"[training]\nlearning_rates = [0.1, 0.05]\nsteps = 100\n[model]\nhidden = [16]\n",
    b'[negatives]\nkind = "fixed"\nper_pair = 5\n',
]
JSON = [
    b'{"dim": 8, "seed": 3, "walks": {"window": 3}}',
    b'{"format": "arcvec-result", "settings": {"dim": 8}, "seed": 0}',
]
EXPERIMENTS = [
    path.read_bytes()
    for path in sorted(PROJECT.glob("experiments/*.toml"))
    if path.stat().st_size < 3000
]


def load_settings(path):
    assert isinstance(load_method("default", path), EdgeProjection)


def load_experiment(path):
    assert isinstance(read_experiment(path), ExperimentSettings)
    assert isinstance(read_experiment(path, quick=True), ExperimentSettings)


@pytest.mark.parametrize(
    ("name", "valid", "read"),
    [
        ("settings.toml", TOML, load_settings),
        ("settings.json", JSON, load_settings),
        ("experiment.toml", EXPERIMENTS, load_experiment),
    ],
)
def test_damaged_files_are_read_or_refused(tmp_path, times, record, name, valid, read):
    path = tmp_path / name
    counts = Counter()

    def check(data):
        path.write_bytes(data)
        counts["refused" if refusal(path, read) else "read"] += 1

    for data in valid:
        path.write_bytes(data)
        assert refusal(path, read) is None
    fuzz(check, valid, times, 200, 8_000)
    outcome = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
    record("Input", input=f"damaged {name}", cases=sum(counts.values()), outcome=outcome)


REFUSED = {
    "brackets in JSON": ("a.json", "[" * 100_000, "nested too deeply"),
    "tables in JSON": ("a.json", '{"a":' * 100_000, "nested too deeply"),
    "brackets in TOML": ("a.toml", "dim = " + "[" * 100_000, "nested too deeply"),
    "tables in TOML": ("a.toml", "dim = " + "{a=" * 100_000, "nested too deeply"),
    "dots in TOML": ("a.toml", f"dim.{'a.' * 2000}a = 1", 'setting "dim": expected a valid int'),
    "a long value": ("a.toml", f'dim = "{"x" * 100_000}"', 'setting "dim": expected a valid int'),
    "a long name": ("a.toml", f'"{"x" * 100_000}" = 1', 'unknown setting "xxx'),
    "a name of two lines": ("a.toml", '"a\\nb" = 1', 'unknown setting "a b"'),
    "no name": ("a.toml", '"" = 1', 'unknown setting ""'),
    "half a character": ("a.json", '{"\\ud800": 1}', "expected a valid string"),
    "many digits": ("a.toml", f"dim = {'8' * 5000}", "expected TOML"),
    "a large number": ("a.json", f'{{"seed": {"8" * 50}}}', 'setting "seed": expected less than'),
    "not a number": ("a.json", '{"dim": NaN}', 'setting "dim": expected a finite number, got nan'),
    "no end": ("a.json", '{"dim": 1e999}', 'setting "dim": expected a finite number, got inf'),
    "a date": ("a.toml", "dim = 2020-01-01", 'setting "dim": expected a valid integer'),
    "a list of tables": ("a.toml", "[[walks]]\nwindow = 3", 'setting "walks": expected a valid'),
    "null": ("a.json", '{"walks": null}', 'setting "walks": expected a valid'),
    "a result without settings": ("a.json", '{"format": "arcvec-result"}', "expected settings and"),
    "a result with odd ones": (
        "a.json",
        '{"format": "arcvec-result", "settings": 3, "seed": 0}',
        "expected settings and a seed",
    ),
    "UTF-16": ("a.toml", "dim = 8".encode("utf-16"), "expected TOML"),
    "a folder": ("a.toml", None, "a directory"),
}


def test_odd_settings_name_their_file(tmp_path, record):
    for number, (name, data, expected) in enumerate(REFUSED.values()):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        with pytest.raises((ValueError, OSError)) as error:
            load_method("default", path)
        assert str(path) in str(error.value)
        assert expected in str(error.value)
        assert len(str(error.value).splitlines()) == 1
        assert len(str(error.value)) < 1000
    cases = len(REFUSED)
    record("Input", input="odd settings", cases=cases, outcome="refused in one line by file")


def test_a_mark_of_byte_order_is_no_part_of_the_settings(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_bytes(b"\xef\xbb\xbf" + b"dim = 8\r\n[walks]\r\nwindow = 3\r\n")
    chosen = load_method("default", path)
    assert (chosen.dim, chosen.walks.window) == (8, 3)


def test_missing_settings_of_an_experiment_are_named(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text('name = "a"\n')
    with pytest.raises(ValueError, match=r'toml: expected the setting "title", got none'):
        read_experiment(path)
