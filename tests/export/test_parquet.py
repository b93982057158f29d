"""Vectors in Parquet, read by Arrow, polars and DuckDB; the SQL of the docs runs."""

import csv
import json
import os
import re
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.export.vectors import export_vectors
from arcvec.graph.names import NodeNames
from arcvec.recommendation.exact import recommend
from tests.export.samples import NAMES, NUM_NODES, all_scores, random_embeddings

PAGE = Path(__file__).parents[2] / "docs/howto/export.md"


def sql_of_the_docs(start):
    """Give the SQL block that starts so."""
    (found,) = re.findall(rf"^```sql\n({re.escape(start)}.+?)```", PAGE.read_text(), re.M | re.S)
    return found


def test_polars_and_arrow_see_arrays(embeddings, tmp_path):
    export_vectors(embeddings, tmp_path / "vectors.parquet")
    table = pl.read_parquet(tmp_path / "vectors.parquet")
    width = embeddings.vectors("source").shape[1]
    assert table.schema == {
        "node": pl.String,
        "source": pl.Array(pl.Float32, width),
        "target": pl.Array(pl.Float32, width),
    }
    assert table["node"].to_list() == list(embeddings.nodes)
    np.testing.assert_array_equal(table["source"].to_numpy(), embeddings.vectors("source"))
    np.testing.assert_array_equal(table["target"].to_numpy(), embeddings.vectors("target"))
    header = pq.read_schema(tmp_path / "vectors.parquet").metadata[b"arcvec"]
    assert json.loads(header)["result"] == {"method": "by hand"}


def test_sql_of_the_docs_recommends_in_duckdb(tmp_path, monkeypatch):
    embeddings = random_embeddings(NAMES)
    embeddings.target[0] = 10 * embeddings.source[0]  # alice would be her own best target
    export_vectors(embeddings, tmp_path / "vectors.parquet")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        found = connection.sql(sql_of_the_docs("CREATE TABLE vectors AS")).fetchall()
    names, scores = recommend(embeddings, ["alice"], k=10)
    assert [name for name, _ in found] == names[0].tolist()
    np.testing.assert_allclose([score for _, score in found], scores[0], rtol=1e-5)


def test_text_for_pgvector(embeddings, tmp_path, monkeypatch):
    export_vectors(embeddings, tmp_path / "vectors.parquet")
    monkeypatch.chdir(tmp_path)
    statement, *_ = sql_of_the_docs("COPY").split(";")
    duckdb.sql(statement)
    with (tmp_path / "vectors.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["node", "source", "target"]
    assert [row[0] for row in rows] == list(embeddings.nodes)
    # The input of pgvector: numbers between commas in square brackets.
    for column, side in ((1, "source"), (2, "target")):
        back = np.array([json.loads(row[column]) for row in rows], dtype=np.float32)
        np.testing.assert_array_equal(back, embeddings.vectors(side))


def test_half_precision(embeddings, tmp_path):
    export_vectors(embeddings, tmp_path / "vectors.parquet", precision="float16")
    table = pl.read_parquet(tmp_path / "vectors.parquet")
    expected = embeddings.vectors("target").astype(np.float16)
    np.testing.assert_array_equal(table["target"].to_numpy(), expected)
    lists = duckdb.sql(f"SELECT target FROM '{tmp_path}/vectors.parquet'").fetchall()
    np.testing.assert_array_equal(np.array([row[0] for row in lists]), expected)


def test_int8_scores_in_duckdb(embeddings, tmp_path):
    export_vectors(embeddings, tmp_path / "vectors.parquet", precision="int8")
    found = duckdb.sql(
        f"""
        WITH rows AS (
            SELECT * FROM read_parquet('{tmp_path}/vectors.parquet', file_row_number = true)
        )
        SELECT u.source_scale * v.target_scale
            * list_inner_product(u.source::FLOAT[], v.target::FLOAT[])
        FROM rows AS u, rows AS v
        ORDER BY u.file_row_number, v.file_row_number
        """
    )
    table = pl.read_parquet(tmp_path / "vectors.parquet")
    assert table["source"].dtype == pl.Array(pl.Int8, embeddings.vectors("source").shape[1])
    source, target = (
        table[side].to_numpy() * table[f"{side}_scale"].to_numpy()[:, None]
        for side in ("source", "target")
    )
    scores = np.array(found.fetchall()).reshape(NUM_NODES, NUM_NODES)
    np.testing.assert_allclose(scores, source @ target.T, rtol=1e-4, atol=1e-4)
    assert np.corrcoef(scores.ravel(), all_scores(embeddings).ravel())[0, 1] > 0.9998


def test_fewer_bits_are_smaller_files(tmp_path):
    source, target = np.random.default_rng(0).normal(size=(2, 5000, 16)).astype(np.float32)
    embeddings = EdgeEmbeddings(source, target, NodeNames.numbered(5000))
    sizes = {}
    for precision in ("float32", "float16", "int8"):
        path = tmp_path / f"{precision}.parquet"
        export_vectors(embeddings, path, precision=precision)
        sizes[precision] = path.stat().st_size
    assert sizes["float16"] < 0.6 * sizes["float32"]
    assert sizes["int8"] < 0.4 * sizes["float32"]


def test_one_number_a_side_is_still_a_list(tmp_path):
    embeddings = random_embeddings(NAMES, side_dim=1)
    export_vectors(embeddings, tmp_path / "vectors.parquet", side="source")
    assert pl.read_parquet_schema(tmp_path / "vectors.parquet") == {
        "node": pl.String,
        "source": pl.Array(pl.Float32, 1),
    }


def test_without_pyarrow(embeddings, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'arcvec\[parquet\]'"):
        export_vectors(embeddings, tmp_path / "vectors.parquet")
    assert os.listdir(tmp_path) == []
