"""Settings: declared once, layered, refused with a helpful line."""

import pytest
from pydantic import Field, ValidationError, model_validator

from arcvec.settings import Settings, merge_settings, read_settings_file, setting_meanings


class Inner(Settings):
    window: int = Field(2, ge=1, description="how far")
    length: int = 100


class Outer(Settings):
    dim: int = Field(32, ge=2)
    walks: Inner = Inner()

    @model_validator(mode="after")
    def check_dim(self):
        if self.dim % 2:
            raise ValueError("dim must be even")
        return self


def test_later_layers_win_and_leave_the_rest():
    merged = merge_settings(Outer, {"walks": {"window": 3, "length": 5}}, {"walks": {"window": 7}})
    assert merged == Outer(walks=Inner(window=7, length=5))
    assert merge_settings(Outer) == Outer()


def test_of_settings_only_what_was_set_counts():
    base = {"dim": 64, "walks": {"window": 5}}
    assert merge_settings(Outer, base, Outer(walks=Inner(length=9))) == Outer(
        dim=64, walks=Inner(window=5, length=9)
    )


def test_layers_are_left_as_they_were():
    first = {"walks": {"window": 3}}
    merge_settings(Outer, first, {"walks": {"window": 4}})
    assert first == {"walks": {"window": 3}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"walks": {"windw": 3}}, 'unknown setting "walks.windw"; did you mean "walks.window"?'),
        ({"zzz": 1}, 'unknown setting "zzz"'),
        (
            {"walks": {"window": 0}},
            'setting "walks.window": expected greater than or equal to 1, got 0',
        ),
        (
            {"dim": "many"},
            'setting "dim": expected a valid integer, unable to parse string as an integer, '
            "got 'many'",
        ),
        ({"dim": 33}, "dim must be even"),
    ],
)
def test_faults_are_one_line(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole text is compared
        merge_settings(Outer, values)
    assert str(error.value) == message


def test_settings_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Outer().dim = 4


def test_names_of_settings_are_dotted_and_have_a_meaning():
    expected = {"dim": "", "walks.window": "how far", "walks.length": ""}
    assert list(setting_meanings(Outer)) == list(expected.items())


def test_files(tmp_path):
    (tmp_path / "a.toml").write_text("dim = 8\n[walks]\nwindow = 3\n")
    (tmp_path / "a.json").write_text('{"dim": 8, "walks": {"window": 3}}')
    expected = {"dim": 8, "walks": {"window": 3}}
    assert read_settings_file(tmp_path / "a.toml") == expected
    assert read_settings_file(tmp_path / "a.json") == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "dim = ", r"a\.toml: expected TOML"),
        ("a.json", "{", r"a\.json: expected JSON"),
        ("a.json", "[1]", r"a\.json: expected a table of settings, got list"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_settings_file(tmp_path / name)
