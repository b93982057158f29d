"""Bits that flip and files that are cut short, in everything arcvec stores."""

import json
import os
import shutil

import numpy as np
import pytest
import torch

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.split import read_split, save_split, split_edges
from arcvec.ingest.ingest import read_edges
from arcvec.ingest.layout import EdgeFileSettings
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.recommendation.approximate import index_folder, open_index
from arcvec.recommendation.calibration import calibrate, load_calibration, save_calibration
from arcvec.sampling.settings import WalkSettings
from arcvec.training import checkpoint as checkpoints
from arcvec.training.checkpoint import Checkpoint, Snapshot
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings
from tests.faults.processes import write_communities


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """One of everything that is stored, by name, each with what opens it."""
    folder = tmp_path_factory.mktemp("stored")
    edges = write_communities(folder / "edges.csv", 200, 1500)
    edges.write_text(
        "\n".join(
            f"{line},{i % 7 + 1}" for i, line in enumerate(edges.read_text().splitlines())
        ).replace("target,1", "target,weight")
        + "\n"
    )
    graph = read_edges(edges, EdgeFileSettings(weight="weight"))
    save_graph(graph, folder / "graph")
    save_split(split_edges(graph, test_fraction=0.2, seed=0), folder / "split")
    training = TrainSettings(steps=5, batch_pairs=200)
    walks = WalkSettings(window=2)
    embeddings = EdgeProjection(dim=8, training=training, walks=walks).fit(graph)
    embeddings.save(folder / "result")
    open_index(folder / "result", embeddings)
    save_calibration(calibrate(embeddings, graph), folder / "result")
    shutil.move(index_folder(folder / "result", "target"), folder / "index-target")
    (folder / "calibrated").mkdir()
    shutil.move(folder / "result/calibration.json", folder / "calibrated")
    checkpoint = Checkpoint(folder / "kept", Partition(1000, 1), Alone(), {"seed": 0})
    rows, shared = {"a": torch.arange(1000.0)}, {"steps": torch.tensor(3)}
    checkpoint.save("member-0", Snapshot(rows, shared, {"step": 5}))
    shutil.move(folder / "kept/member-0", folder / "checkpoint")
    shutil.rmtree(folder / "kept")
    return folder, {
        "graph": load_graph,
        "split": read_split,
        "result": EdgeEmbeddings.load,
        "index-target": lambda path: _open_index(path, embeddings),
        "calibrated": lambda path: load_calibration(path, embeddings),
        "checkpoint": _load_snapshot,
    }


def _load_snapshot(path):
    """A damaged snapshot is trained again; here that is an error like those of all others."""
    if not checkpoints._is_whole(path):
        raise ValueError(f"{path}: a file is damaged")


def _open_index(path, embeddings):
    from arcvec.recommendation import approximate

    return approximate._load(path, "target", embeddings.fingerprint("target"), None)


KINDS = ("graph", "split", "result", "index-target", "calibrated", "checkpoint")


def flip(path, generator):
    """Turn one bit of a file round."""
    data = bytearray(path.read_bytes())
    place = int(generator.integers(8 * len(data)))
    data[place // 8] ^= 1 << place % 8
    path.write_bytes(data)


def cut(path, generator):
    """Leave the beginning of a file."""
    os.truncate(path, int(generator.integers(path.stat().st_size)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", [flip, cut])
def test_damage_is_told(stored, tmp_path, times, record, kind, damage):
    folder, openers = stored
    opener = openers[kind]
    opener(folder / kind)
    generator = np.random.default_rng(0)
    names = sorted(path.name for path in (folder / kind).iterdir())
    cases = times(20, 1000)
    for i in range(cases):
        name = names[i % len(names)]
        shutil.copytree(folder / kind, tmp_path / "copy")
        damage(tmp_path / "copy" / name, generator)
        if not _is_harmless(tmp_path / "copy" / name, folder / kind / name):
            # The file, or the list that its checksum is in.
            with pytest.raises((ValueError, OSError), match=r"\.npy|\.txt|\.json|file") as told:
                opener(tmp_path / "copy")
            assert str(tmp_path / "copy") in str(told.value)
        shutil.rmtree(tmp_path / "copy")
    what = {"flip": "a bit flipped", "cut": "cut short"}[damage.__name__]
    record("Input", input=f"{kind}: {what}", cases=cases, outcome="told, with the file's name")


def _is_harmless(damaged, original):
    """Whether a list of checksums lost whole lines, or one file says the same in other words."""
    now, before = damaged.read_bytes(), original.read_bytes()
    if original.name == "checksums.txt":
        return before.startswith(now) and now[-1:] in (b"", b"\n")
    if original.name != "calibration.json":  # the only one without a checksum of its bytes
        return False
    try:
        return json.loads(now) == json.loads(before)  # 1e-05 and 1E-05 differ in a bit
    except ValueError:
        return False


@pytest.mark.parametrize("kind", ["graph", "split", "result"])
@pytest.mark.parametrize("damage", [flip, cut])
def test_without_checksums_it_is_told_or_harmless(stored, tmp_path, times, record, kind, damage):
    """As written by the paper's authors: what is read has ids in range, and shapes that fit."""
    folder, openers = stored
    generator = np.random.default_rng(1)
    names = sorted({path.name for path in (folder / kind).iterdir()} - {"checksums.txt"})
    cases, told = times(30, 1000), 0
    for i in range(cases):
        shutil.copytree(folder / kind, tmp_path / "copy")
        (tmp_path / "copy/checksums.txt").unlink()
        damage(tmp_path / "copy" / names[i % len(names)], generator)
        told += _is_told(openers[kind], tmp_path / "copy")
        shutil.rmtree(tmp_path / "copy")
    assert told > cases / 10
    what = {"flip": "a bit flipped", "cut": "cut short"}[damage.__name__]
    outcome = f"told {told} times, else valid"
    record("Input", input=f"{kind} without checksums: {what}", cases=cases, outcome=outcome)


def _is_told(opener, path):
    """Tell whether a folder is refused, with its name; what is not refused must fit."""
    try:
        opened = opener(path)
    except (ValueError, OSError) as error:
        return str(path) in str(error)
    _require_fit(opened)
    return False


def _require_fit(opened):
    """Go through all ids of a graph or split, all numbers of a result."""
    if isinstance(opened, EdgeEmbeddings):
        everyone = np.arange(len(opened.nodes))
        assert opened.score(everyone, everyone[::-1]).shape == (len(opened.nodes),)
        return
    graph = getattr(opened, "train", opened)
    sources, targets = graph.edges()
    for ids in (sources, targets):
        assert ids.min() >= 0
        assert ids.max() < graph.num_nodes
    json.dumps(list(graph.nodes))
