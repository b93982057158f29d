"""What holds for every format: arrays, precision, names of files, and what is kept."""

import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors
from safetensors.torch import load_file

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import roc_auc
from arcvec.export.vectors import ExportedArrays, ExportSettings, export_vectors
from arcvec.graph.names import NodeNames
from arcvec.storage import arrays
from tests.export.samples import (
    NUM_NODES,
    WORDS,
    all_scores,
    random_embeddings,
    random_one_vector,
)

SUFFIXES = {"parquet": ".parquet", "word2vec": ".txt", "safetensors": ".safetensors", "npy": ""}


def test_torch_loads_safetensors(embeddings, tmp_path):
    export_vectors(embeddings, tmp_path / "vectors.safetensors")
    tensors = load_file(tmp_path / "vectors.safetensors")
    assert set(tensors) == {"source", "target", "nodes"}
    scores = (tensors["source"] @ tensors["target"].T).numpy()
    np.testing.assert_allclose(scores, all_scores(embeddings), rtol=1e-4, atol=1e-5)
    lines = bytes(tensors["nodes"]).decode().split("\n")[:-1]
    assert lines[:2] == ["alice", "a b"]
    assert list(NodeNames(tensors["nodes"].numpy())) == list(embeddings.nodes)
    with safetensors.safe_open(tmp_path / "vectors.safetensors", "numpy") as file:
        header = json.loads(file.metadata()["arcvec"])
    assert header["directed"] == embeddings.directed


def test_folder_of_npy(embeddings, tmp_path):
    export_vectors(embeddings, tmp_path / "vectors", precision="float16")
    assert sorted(os.listdir(tmp_path / "vectors")) == [
        *("checksums.txt", "meta.json", "nodes.txt", "source.npy", "target.npy")
    ]
    for side in ("source", "target"):
        expected = embeddings.vectors(side).astype(np.float16)
        np.testing.assert_array_equal(np.load(tmp_path / f"vectors/{side}.npy"), expected)
    assert list(NodeNames.load(tmp_path / "vectors/nodes.txt")) == list(embeddings.nodes)
    header = json.loads((tmp_path / "vectors/meta.json").read_text())
    assert header["precision"] == "float16"
    assert header["result"] == {"method": "by hand"}


def test_one_vector_is_written_on_both_sides(tmp_path):
    embeddings = random_one_vector(WORDS)
    embeddings.save(tmp_path / "result")
    export_vectors(EdgeEmbeddings.load(tmp_path / "result"), tmp_path / "out")
    source, target = (np.load(tmp_path / f"out/{side}.npy") for side in ("source", "target"))
    np.testing.assert_array_equal(target, embeddings.target)
    np.testing.assert_array_equal(source, embeddings.target * embeddings.weights)
    np.testing.assert_allclose(source @ target.T, all_scores(embeddings), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("format_", ["npy", "safetensors"])
def test_int8_times_scale_is_the_value(embeddings, tmp_path, format_):
    path = tmp_path / f"vectors{SUFFIXES[format_]}"
    export_vectors(embeddings, path, precision="int8")
    found = (
        {file.stem: np.load(file) for file in path.glob("*.npy")}
        if format_ == "npy"
        else {name: tensor.numpy() for name, tensor in load_file(path).items()}
    )
    for side in ("source", "target"):
        assert found[side].dtype == np.int8
        scale = found[f"{side}_scale"]
        assert scale.shape == (NUM_NODES, 1)
        error = np.abs(found[side] * scale - embeddings.vectors(side))
        assert (error <= scale * 0.5001).all()


def test_int8_keeps_the_auc():
    embeddings = random_embeddings(WORDS)
    scores = all_scores(embeddings)
    edges = scores + np.random.default_rng(2).normal(size=scores.shape) > 2
    rounded = ExportedArrays(embeddings, ExportSettings(precision="int8")).of()
    source, target = (rounded[side] * rounded[f"{side}_scale"] for side in ("source", "target"))
    again = source @ target.T
    auc = roc_auc(scores[edges], scores[~edges])
    assert auc > 0.9
    assert roc_auc(again[edges], again[~edges]) == pytest.approx(auc, abs=1e-3)


def test_a_hub_does_not_coarsen_the_others_and_zero_stays_zero(tmp_path):
    vectors_ = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    vectors_[0] *= 1e6
    vectors_[1] = 0
    embeddings = EdgeEmbeddings(vectors_, vectors_, NodeNames.numbered(20))
    with np.errstate(all="raise"):
        export_vectors(embeddings, tmp_path / "out", precision="int8")
    back = np.load(tmp_path / "out/source.npy") * np.load(tmp_path / "out/source_scale.npy")
    np.testing.assert_allclose(back[2:], vectors_[2:], atol=0.02)
    assert (back[1] == 0).all()


def test_numbers_too_large_for_half_precision(tmp_path):
    large = np.full((3, 2), 1e6, dtype=np.float32)
    embeddings = EdgeEmbeddings(large, large, NodeNames.numbered(3))
    with pytest.raises(ValueError, match="expected numbers of at most 65504"):
        export_vectors(embeddings, tmp_path / "out", precision="float16")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
@pytest.mark.parametrize("equal_norms", [False, True])
def test_blocks_change_nothing(words, tmp_path, monkeypatch, suffix, equal_norms):
    export_vectors(words, tmp_path / f"whole{suffix}", equal_norms=equal_norms)
    monkeypatch.setattr(arrays, "ROWS_PER_BLOCK", 7)
    export_vectors(words, tmp_path / f"blocks{suffix}", equal_norms=equal_norms)
    if suffix == ".txt":
        assert (tmp_path / "whole.txt").read_bytes() == (tmp_path / "blocks.txt").read_bytes()
    else:
        whole, blocks = (pq.ParquetFile(tmp_path / f"{n}.parquet") for n in ("whole", "blocks"))
        assert (whole.num_row_groups, blocks.num_row_groups) == (1, 8)
        assert whole.read().equals(blocks.read())


@pytest.mark.parametrize("suffix", SUFFIXES.values())
def test_no_nodes(tmp_path, suffix):
    nobody = np.empty((0, 3), dtype=np.float32)
    embeddings = EdgeEmbeddings(nobody, nobody, NodeNames.numbered(0))
    for equal_norms in (False, True):
        path = tmp_path / f"{equal_norms}{suffix}"
        export_vectors(embeddings, path, equal_norms=equal_norms)
        assert path.exists()


WRONG = {
    "unknown suffix": ("out.xlsx", {}, r"out\.xlsx: expected a name ending in .+ or pass --format"),
    "npy file": ("out.npy", {}, r"without a suffix \(a folder of \.npy files\)"),
    "suffix of another": (
        "out.parquet",
        {"format": "npy"},
        "expected a name for the format npy, got the suffix of parquet",
    ),
    "rounded text": (
        "out.txt",
        {"precision": "int8"},
        "word2vec text has decimal numbers: expected the precision float32, got int8",
    ),
    "rounded norms": (
        "out.parquet",
        {"precision": "float16", "equal_norms": True},
        "not equally long: expected .+ float32, got float16",
    ),
    "unknown precision": ("out", {"precision": "int4"}, 'setting "precision": expected .+int4'),
    "unknown setting": ("out", {"sides": "both"}, 'unknown setting "sides"; did you mean "side"'),
}


@pytest.mark.parametrize(("name", "changes", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_go_together(tmp_path, name, changes, message):
    with pytest.raises(ValueError, match=message):
        export_vectors(random_embeddings(WORDS), tmp_path / name, **changes)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["plain", "odd.name"])
@pytest.mark.parametrize("format_", SUFFIXES)
def test_a_format_said_aloud_needs_no_suffix(tmp_path, name, format_):
    export_vectors(random_embeddings(WORDS), tmp_path / name, format=format_)
    assert (tmp_path / name).is_dir() == (format_ == "npy")


@pytest.mark.parametrize("suffix", SUFFIXES.values())
def test_existing_outputs_are_kept_unless_told(tmp_path, suffix):
    first, second = random_embeddings(WORDS), random_embeddings(WORDS, side_dim=3)
    path = tmp_path / f"out{suffix}"
    export_vectors(first, path)
    content = path / "source.npy" if suffix == "" else path
    before = content.read_bytes()
    with pytest.raises(FileExistsError, match="--overwrite"):
        export_vectors(second, path)
    assert content.read_bytes() == before
    export_vectors(second, path, overwrite=True)
    assert content.read_bytes() != before
    assert os.listdir(tmp_path) == [path.name]
