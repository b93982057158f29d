"""Files and folders that appear whole or not at all."""

import csv
import errno
import fcntl
import os

import duckdb
import numpy as np
import pytest

from arcvec.storage.arrays import ArrayOnDisk, open_binary
from arcvec.storage.atomic import TABLE_MARKER, new_file, new_folder, require_writable, sole_writer
from arcvec.storage.headers import read_json, write_json
from arcvec.storage.tables import write_table


def test_a_folder_appears_at_the_end(tmp_path):
    with new_folder(tmp_path / "deep" / "out") as folder:
        (folder / "a.txt").write_text("1")
        assert not (tmp_path / "deep" / "out").exists()
    assert (tmp_path / "deep" / "out" / "a.txt").read_text() == "1"
    assert os.listdir(tmp_path / "deep") == ["out"]


def write_and_fail(folder):
    (folder / "a.txt").write_text("new")
    raise RuntimeError


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out") as folder:
        write_and_fail(folder)
    assert os.listdir(tmp_path) == []


def write_header(folder):
    write_json(folder / "meta.json", {"format": "arcvec-graph"})


def test_a_failure_leaves_the_old_folder(tmp_path):
    with new_folder(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("old")
        write_header(folder)
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", overwrite=True) as folder:
        write_and_fail(folder)
    assert (tmp_path / "out" / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_overwriting_replaces_the_whole_folder(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "stale.txt").write_text("old")
    write_header(tmp_path / "out")
    with pytest.raises(FileExistsError, match="--overwrite"), new_folder(tmp_path / "out"):
        pass
    with new_folder(tmp_path / "out", overwrite=True) as folder:
        (folder / "a.txt").write_text("new")
    assert sorted(os.listdir(tmp_path / "out")) == ["a.txt", "checksums.txt"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_table_in_parts_is_overwritten_and_has_no_checksums(tmp_path):
    for overwrite in (False, True):
        with new_folder(tmp_path / "out", overwrite=overwrite, checksums=False) as folder:
            (folder / TABLE_MARKER).touch()
    assert os.listdir(tmp_path / "out") == [TABLE_MARKER]


def test_a_folder_replaces_no_file(tmp_path):
    (tmp_path / "out").write_text("a table")
    with (
        pytest.raises(FileExistsError, match="is a file; expected the name of a folder"),
        new_folder(tmp_path / "out", overwrite=True),
    ):
        pass
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("header", [None, "not json", "[]", '{"format": "other"}'])
def test_overwriting_spares_a_folder_of_others(tmp_path, header):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    if header is not None:
        (tmp_path / "out" / "meta.json").write_text(header)
    with (
        pytest.raises(FileExistsError, match="did not write"),
        new_folder(tmp_path / "out", overwrite=True),
    ):
        pass
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"


def test_a_file_appears_at_the_end_with_its_suffix(tmp_path):
    with new_file(tmp_path / "a.csv") as partial:
        partial.write_text("1")
        assert partial.suffix == ".csv"
        assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv").read_text() == "1"
    with pytest.raises(FileExistsError), new_file(tmp_path / "a.csv"):
        pass
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "a.csv", overwrite=True):
        pass  # nothing was written, so nothing may replace the old file
    assert (tmp_path / "a.csv").read_text() == "1"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_what_cannot_be_written_is_said_early(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write to .*; choose another output"):
        require_writable(tmp_path / "file" / "out")


def test_a_lock_is_taken_again_by_the_same_process(tmp_path):
    with sole_writer(tmp_path / "out") as alone, sole_writer(tmp_path / "out") as again:
        assert alone
        assert again
        assert (tmp_path / ".out.lock").read_text() == f"{os.getpid()}\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with sole_writer(tmp_path / "out") as alone:
        assert not alone
    with new_file(tmp_path / "out") as partial:
        partial.write_text("1")
    assert os.listdir(tmp_path) == ["out"]


def test_an_array_grows_in_its_file(tmp_path):
    with ArrayOnDisk(open_binary(tmp_path, "a.npy"), np.int32) as array:
        for start in range(0, 1200, 100):
            array.append(np.arange(start, start + 100))
    values = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert values.dtype == np.int32
    assert values.tolist() == list(range(1200))
    with ArrayOnDisk(open_binary(tmp_path, "empty.npy"), np.float32, (2,)):
        pass
    assert np.load(tmp_path / "empty.npy").shape == (0, 2)


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
def test_an_array_is_read_in_parts(tmp_path, on_disk):
    array = ArrayOnDisk(open_binary(tmp_path if on_disk else None), np.int64, (2,))
    array.append(np.arange(6).reshape(3, 2))
    array.append(np.array([[6, 7]]))
    assert array.read(slice(1, 3)).tolist() == [[2, 3], [4, 5]]
    array.truncate(3)
    assert array.read().tolist() == [[0, 1], [2, 3], [4, 5]]
    array.truncate(0)
    assert array.read().shape == (0, 2)
    assert not list(tmp_path.iterdir())


def test_json(tmp_path):
    write_json(tmp_path / "a.json", {"name": "🦆", "values": [1, None]})
    assert read_json(tmp_path / "a.json") == {"name": "🦆", "values": [1, None]}
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json: expected JSON"):
        read_json(tmp_path / "a.json")


ROWS = [("007", "x,y", 0.5), ('say "hi"', "two\nlines", 1.0), ("NULL", "🦆", 2.0)]
COLUMNS = {"source": "VARCHAR", "target": "VARCHAR", "score": "FLOAT"}


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_tables_of_text(tmp_path, suffix, separator):
    path = tmp_path / f"table{suffix}"
    write_table(path, COLUMNS, iter(ROWS))
    with path.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    assert header == list(COLUMNS)
    assert [(source, target, float(score)) for source, target, score in rows] == ROWS
    assert os.listdir(tmp_path) == [path.name]


def test_tables_of_parquet(tmp_path):
    write_table(tmp_path / "table.parquet", COLUMNS, iter(ROWS))
    found = duckdb.read_parquet(str(tmp_path / "table.parquet"))
    assert (found.columns, found.fetchall()) == (list(COLUMNS), ROWS)
    assert os.listdir(tmp_path) == ["table.parquet"]


def test_tables_elsewhere(tmp_path, capsys):
    write_table(None, {"node": "VARCHAR"}, [("a",)])
    assert capsys.readouterr().out == "node\na\n"
    with pytest.raises(ValueError, match=r"ending in \.csv, \.tsv or \.parquet"):
        write_table(tmp_path / "table.xlsx", COLUMNS, ROWS)
