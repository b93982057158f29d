"""Vectors for other tools, from the command line."""

import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from tests.cli.commands import QUICK


@pytest.fixture
def result(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    return tmp_path / "result"


def test_the_format_follows_the_suffix(run, result, tmp_path):
    said = run("export", result, "-o", tmp_path / "out.parquet", "--precision", "float16")
    assert said == f"{tmp_path}/out.parquet: 60 nodes, float16, parquet\n"
    assert pl.read_parquet_schema(tmp_path / "out.parquet")["source"] == pl.Array(pl.Float16, 4)
    said = run("export", result, "-o", tmp_path / "out.vec", "--side", "target", "--equal-norms")
    assert said.endswith("60 nodes, float32, word2vec\n")
    assert (tmp_path / "out.vec").read_text().startswith("60 5\np")
    run("export", result, "-o", tmp_path / "out")
    embeddings = EdgeEmbeddings.load(result)
    np.testing.assert_array_equal(np.load(tmp_path / "out/target.npy"), embeddings.target)


def test_existing_outputs_are_kept_unless_told(run, result, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("precious")
    assert "exists already" in run("export", result, "-o", out, fails=True)
    assert out.read_text() == "precious"
    run("export", result, "-o", out, "--overwrite")
    assert out.read_text() != "precious"


ERRORS = {
    "suffix": (("-o", "out.xlsx"), r"out\.xlsx: expected a name ending in .parquet"),
    "format and suffix": (
        ("-o", "out.txt", "--format", "parquet"),
        "expected a name for the format parquet, got the suffix of word2vec",
    ),
    "precision": (("-o", "out.txt", "--precision", "int8"), "expected the precision float32"),
    "no such precision": (("-o", "out.txt", "--precision", "int4"), "int4"),
    "input": (("-o", "result", "--overwrite"), "the input .* is in there"),
    "no output": ((), "out"),
}


@pytest.mark.parametrize(("flags", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_use_is_one_line(run, result, tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    error = run("export", "result", *flags, fails=True)
    assert re.fullmatch(rf"arcvec: .*{message}.*\n", error), error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["follows.csv", "result"]


def test_names_with_spaces_are_refused_as_text(run, tmp_path):
    vectors = np.ones((2, 2), dtype=np.float32)
    EdgeEmbeddings(vectors, vectors, NodeNames.from_strings(["a b", "c"])).save(tmp_path / "r")
    error = run("export", tmp_path / "r", "-o", tmp_path / "out.txt", fails=True)
    assert "got 'a b'; parquet, safetensors and npy keep such names" in error


@pytest.mark.parametrize("out", ["o.parquet", "o.txt", "o.safetensors", "o"])
def test_exporting_needs_neither_torch_nor_numba(result, tmp_path, out):
    code = (
        "import sys; from arcvec.cli import main; main(sys.argv[1:]);"
        "heavy = {'torch', 'numba', 'scipy', 'sklearn', 'gensim', 'polars'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "export", result, "-o", tmp_path / out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
