"""`recommend --all` and `evaluate` on many workers, as commands."""

import json
import subprocess
import sys

import numpy as np
import pytest

from arcvec.cli import main
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.split import save_split, split_edges
from arcvec.ingest.ingest import open_graph
from tests.cli.commands import arcvec
from tests.faults.processes import finished, write_communities
from tests.parallel.processes import assert_same_report


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with edges, a split of them, and a result with many equal scores."""
    folder = tmp_path_factory.mktemp("results")
    graph = open_graph(write_communities(folder / "edges.csv", 300, 2000))
    save_split(split_edges(graph, seed=0), folder / "split")
    sides = np.random.default_rng(0).integers(-3, 4, size=(2, graph.num_nodes, 6))
    EdgeEmbeddings(*sides.astype(np.float32), graph.nodes).save(folder / "result")
    names = list(graph.nodes)
    (folder / "some.txt").write_text("\n".join(names[::2]))
    (folder / "few.txt").write_text("\n".join(names[:9]))
    return folder


def test_parts_are_the_file_of_one_process(folder, tmp_path):
    lists = ("--only", folder / "some.txt", "--without", folder / "few.txt", "-k", "4")
    known = ("--exclude", folder / "edges.csv", "--direction", "sources")
    command = ["recommend", folder / "result", "--all", *lists, *known, "-o"]
    main([*map(str, command), str(tmp_path / "one.csv")])
    with arcvec(*command, tmp_path / "best.csv", "--workers", "2") as launcher:
        printed, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 0, error
    assert printed == ""
    assert error.count("nodes ") == 1
    names = sorted(path.name for path in (tmp_path / "best.csv").iterdir())
    assert names == ["_arcvec-table", "part-00000.csv", "part-00001.csv"]
    first, second = ((tmp_path / "best.csv" / name).read_text() for name in names[1:])
    header, rest = second.split("\n", 1)
    assert header == "node,rank,source,score"
    assert first + rest == (tmp_path / "one.csv").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.csv", "one.csv"]


def test_approximate_parts_of_a_table_that_is_replaced(folder, tmp_path):
    """The index is built once; other tools read the folder as one table."""
    import polars

    out = tmp_path / "best.parquet"
    out.mkdir()
    (out / "_arcvec-table").touch()
    (out / "part-00007.parquet").write_text("of an earlier run")
    command = ["recommend", folder / "result", "--all", "--approximate", "--quiet", "-o"]
    with arcvec(*command, out, "--workers", "2", "--overwrite") as launcher:
        _, error = launcher.communicate(timeout=240)
    assert (launcher.returncode, error) == (0, "")
    main([*map(str, command), str(tmp_path / "one.parquet")])
    one, many = polars.read_parquet(tmp_path / "one.parquet"), polars.read_parquet(out)
    assert len(one) == 3000
    assert many.equals(one)


def test_evaluation_is_that_of_one_process(folder, capfd):
    """Under torchrun itself, as on many machines."""
    command = ["evaluate", folder / "result", "--split", folder / "split", "--json"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    arguments = [*torchrun, "--nproc-per-node=2", "-m", "arcvec", *map(str, command)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    main(list(map(str, command)))
    found, expected = json.loads(done.stdout), json.loads(capfd.readouterr().out)
    assert_same_report(found, expected)


def test_what_goes_wrong_is_told_once_and_leaves_nothing(folder, tmp_path):
    (tmp_path / "strangers.txt").write_text("nobody\n")
    command = ["recommend", folder / "result", "--all", "--only", tmp_path / "strangers.txt"]
    with arcvec(*command, "-o", tmp_path / "best.csv", "--workers", "2") as launcher:
        _, error = launcher.communicate(timeout=240)
    assert launcher.returncode == 1
    assert error.count("got 1 names that are none") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["strangers.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recommend", "--node", "p1", "-o", "a.csv"], "--node belongs to one process"),
        (["recommend", "--all"], "expected a folder to write to"),
        (["recommend", "--all", "-o", "a.txt"], "expected a name ending in .csv, .tsv or .parquet"),
        (["evaluate", "--method", "degree-product"], "--method belongs to one process"),
    ],
)
def test_flags_of_one_process_are_refused(folder, tmp_path, arguments, message):
    command, *flags = arguments
    split = ["--split", folder / "split"] if command == "evaluate" else []
    code, error = finished(
        command, folder / "result", *flags, *split, "--workers", "2", cwd=tmp_path
    )
    assert code == 1
    assert message in error
