"""The examples run as they are, each in its own process, on the input that they make."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb

PROJECT = Path(__file__).parent.parent


def run_example(script, folder, **environment):
    """Return what an example printed, with a folder to work in."""
    done = subprocess.run(
        [sys.executable, script, folder],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_edges(tmp_path):
    printed = run_example(PROJECT / "examples/own_edges.py", tmp_path)
    ours, degrees = map(float, re.findall(r"AUC ([\d.]+)", printed))
    assert ours > degrees + 0.03
    assert (tmp_path / "result/source.npy").is_file()
    assert "Citations · arcvec report" in (tmp_path / "report.html").read_text()


def test_follow_recommendations(tmp_path):
    run_example(PROJECT / "examples/follow_recommendations.py", tmp_path)
    follows = duckdb.read_parquet(str(tmp_path / "follows.parquet")).fetchall()
    rows = duckdb.read_parquet(str(tmp_path / "recommendations.parquet")).fetchall()
    assert len(rows) == 5 * len({user for pair in follows for user in pair})
    assert not {(user, follow) for user, _, follow, *_ in rows} & set(follows)
    assert all(0 < probability < 1 for *_, probability in rows)
    first = rows[:5]
    assert [rank for _, rank, *_ in first] == [1, 2, 3, 4, 5]
    assert sorted(first, key=lambda row: -row[4]) == first


def test_table_row(tmp_path, shared_data):
    data = shared_data("splits/ppi").parent.parent
    printed = run_example(PROJECT / "examples/table_row.py", tmp_path, ARCVEC_DATA=str(data))
    assert re.search(r"^ +ppi +8 +\.776 +\.[678]\d\d", printed, re.MULTILINE), printed
    assert "(2 done)" in printed
    # Common neighbours need no training: ours is the paper's number.
    assert ".776" in (tmp_path / "out/table.md").read_text()


def test_table_row_without_data(tmp_path):
    nowhere = tmp_path / "project/examples"
    nowhere.mkdir(parents=True)
    shutil.copy(PROJECT / "examples/table_row.py", nowhere)
    printed = run_example(nowhere / "table_row.py", tmp_path, ARCVEC_DATA=str(tmp_path))
    assert printed.startswith(f"skipped: no split folder {tmp_path}/splits/ppi; set ARCVEC_DATA")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]


def test_all_examples_are_here_and_in_the_readme():
    readme = (PROJECT / "README.md").read_text()
    tested = Path(__file__).read_text()
    scripts = sorted((PROJECT / "examples").glob("*.py"))
    assert len(scripts) >= 3
    for script in scripts:
        assert f"examples/{script.name}" in readme
        assert f"examples/{script.name}" in tested
        assert 20 <= len(script.read_text().splitlines()) <= 50
