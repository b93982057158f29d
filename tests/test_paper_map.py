"""docs/paper.md is true: what it points at is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs/paper.md").read_text(), re.M)[
    1:
]


@pytest.mark.parametrize(("part", "code", "exercised"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_part_is_exercised(part, code, exercised):
    for path in re.findall(r"`(.+?)`", code):
        assert (ROOT / "src/arcvec" / path).is_file(), path
    exercises = re.findall(r"`(.+?)`", exercised)
    assert exercises
    for exercise in exercises:
        path, _, test = exercise.partition("::")
        assert (ROOT / path).is_file(), exercise
        assert not test or f"def {test}(" in (ROOT / path).read_text(), exercise


def test_all_parts_are_there():
    assert len(ROWS) == 21
