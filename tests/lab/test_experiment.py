"""Experiments as users meet them: real grids on small graphs, in real processes."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from arcvec.baselines.paths import DegreeProduct
from arcvec.cli import main
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split, save_split, split_edges
from arcvec.lab import cells as workers
from arcvec.lab.cells import read_results, train_auc
from arcvec.lab.grid import data_folders, grid_cells, read_experiment
from arcvec.lab.tables import read_paper
from arcvec.parallel.threads import threads_per_worker

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"

HEAD = """
name = "small"
title = "Small"
data = "data"
datasets = ["loose", "tight"]
dims = [4]
seeds = [0, 1]
"""
DEGREES = """
[[methods]]
label = "degrees"
method = "degree-product"
"""
SHARED = """
[[methods]]
label = "shared"
method = "common-neighbours"
max_nodes = 45
"""
OURS = """
[[methods]]
label = "ours"
method = "edge-projection"
[methods.settings]
walks = { shuffle_pairs = 1000 }
training = { steps = 5, batch_pairs = 100 }
model = { node_dim = 8 }
"""
BROKEN = """
[[methods]]
label = "broken"
method = "edge-projection"
settings = { training = { device = "nowhere" } }
"""
ENDLESS = """
[[methods]]
label = "endless"
method = "edge-projection"
settings = { training = { steps = 10000000, validation_fraction = 0 } }
"""


def small_graph(num_nodes, *, directed):
    sources, targets = np.random.default_rng(num_nodes).integers(num_nodes, size=(2, 300))
    apart = sources != targets
    return Graph.from_edges(sources[apart], targets[apart], nodes=num_nodes, directed=directed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two small splits in `data`."""
    # On a busy machine, threads that wait for each other take most of the time of small fits.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    graphs = {"loose": small_graph(60, directed=True), "tight": small_graph(40, directed=False)}
    for name, graph in graphs.items():
        save_split(split_edges(graph, seed=0), tmp_path / "data" / name)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Give a function that runs an experiment of the given text and returns its results."""

    def call(*text, flags=(), fails=False, out="out"):
        path = folder / "small.toml"
        path.write_text("\n".join(text))
        code = 0
        try:
            main(["experiment", str(path), "-o", str(folder / out), "--quiet", *flags])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        assert bool(code) == fails, captured.err
        return captured.err if fails else read_results(folder / out / "results.csv")

    return call


def times(folder):
    # A name with a dot before it is a cell that is being written.
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("out/cells/[!.]*.json")}


def test_a_grid_from_file_to_tables(run, folder):
    results = run(HEAD, "also = ['fit_seconds']", DEGREES, SHARED, OURS)
    found = [(r.dataset, r.method, r.dim, r.seed, r.status) for r in results]
    assert found == [
        ("loose", "degrees", None, None, "done"),
        ("loose", "shared", None, None, "refused"),
        ("loose", "ours", 4, 0, "done"),
        ("loose", "ours", 4, 1, "done"),
        ("tight", "degrees", None, None, "done"),
        ("tight", "shared", None, None, "done"),
        ("tight", "ours", 4, 0, "done"),
        ("tight", "ours", 4, 1, "done"),
    ]
    split = read_split(folder / "data/loose")
    degrees = DegreeProduct().fit(split.train)
    positive, negative = (degrees.score(*e.T) for e in (split.test, split.directed_negatives))
    assert results[0].numbers["auc"] == pytest.approx(roc_auc(positive, negative))
    assert results[0].numbers["train_auc"] == pytest.approx(train_auc(degrees, split))
    assert results[0].numbers["mrr"] is None
    assert results[2].numbers["steps_done"] == 5 + 5
    assert results[2].numbers["fit_seconds"] > 0
    assert results[1].error == "more than 45 nodes"
    out = folder / "out"
    text = (out / "table.md").read_text()
    assert re.search(r"\| loose +\| +4 \| .*- \(a\) \| .*\.\d{3} ± \.\d{3}", text)
    assert "- (a) refused: more than 45 nodes" in text
    assert r"\begin{tabular}{lrrrr}" in (out / "table.tex").read_text()
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "curves.svg").is_file()
    assert not list(out.glob(".*")), "something was left behind"
    record = json.loads(next(out.glob("cells/loose-edge-projection-dim4-seed1-*.json")).read_text())
    assert record["settings"]["training"]["steps"] == 5
    assert record["settings"]["seed"] == 1
    assert record["split_fingerprint"]


def test_finished_cells_are_not_repeated_and_changed_ones_are(run, folder):
    run(HEAD, DEGREES, SHARED)
    before = times(folder)
    assert len(before) == 3
    # The same runs under another name and in another order are the same cells.
    results = run(HEAD, SHARED, DEGREES.replace('"degrees"', '"product"'))
    assert times(folder) == before
    assert {r.method for r in results if r.status == "done"} == {"product", "shared"}
    # Another split of the same name is another cell.
    graph = small_graph(60, directed=True)
    save_split(split_edges(graph, seed=5), folder / "data/loose", overwrite=True)
    run(HEAD, DEGREES, SHARED)
    after = times(folder)
    assert {name: after[name] for name in before} == before
    assert len(after) == 4
    # And so is another thing measured.
    ranked = run(HEAD, "ranking = true", DEGREES)[0].numbers
    assert min(ranked[name] for name in ("mrr", "recall@10", "ndcg@10", "coverage@10")) > 0
    assert len(times(folder)) == 6


def test_what_an_earlier_table_has_is_not_run_again(run, folder):
    expected = run(HEAD, DEGREES)
    table = folder / "out/results.csv"
    with table.open(newline="") as file:
        loose, tight = rows = list(csv.DictReader(file))
    # A number that no run gives shows whose row it is.
    loose["auc"] = "0.125"
    tight["status"] = "missing"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(loose))
        writer.writeheader()
        writer.writerows(rows)
    again = run(HEAD, DEGREES, flags=["--known", str(table)], out="elsewhere")
    assert [one.status for one in again] == ["done", "done"]
    assert [one.numbers["auc"] for one in again] == [0.125, expected[1].numbers["auc"]]


def test_a_method_may_do_without_ranks(run):
    results = run(HEAD, "ranking = true", DEGREES + "\nranking = false")
    assert [result.numbers["mrr"] for result in results] == [None, None]


def test_cells_with_ranks_serve_experiments_that_need_none(run, folder):
    run(HEAD, "ranking = true", DEGREES)
    before = times(folder)
    assert [result.status for result in run(HEAD, DEGREES)] == ["done", "done"]
    assert times(folder) == before


def test_failed_cells_are_recorded_and_retried_when_asked(run, folder):
    results = run(HEAD, DEGREES, BROKEN)
    failed = [r for r in results if r.method == "broken"]
    assert [r.status for r in failed] == ["failed", "left-out"] * 2
    assert "nowhere" in failed[0].error
    assert "nowhere" in (folder / "out/table.md").read_text()
    assert "\n" not in failed[0].error
    before = times(folder)
    run(HEAD, DEGREES, BROKEN)
    assert times(folder) == before
    run(HEAD, DEGREES, BROKEN, flags=["--retry-failed"])
    repeated = {name for name, time in times(folder).items() if time != before[name]}
    assert len(repeated) == 2
    assert all("edge-projection" in name for name in repeated)


def test_further_seeds_only_where_the_first_is_fast(run):
    head = HEAD.replace('"loose", ', "")
    results = run(head, "more_seeds_below = 0.0001", OURS)
    assert [r.status for r in results] == ["done", "left-out"]
    results = run(head, "more_seeds_below = 1000", OURS)
    assert [r.status for r in results] == ["done", "done"]


def test_tables_only_runs_nothing(run, folder):
    results = run(HEAD, DEGREES, ENDLESS, flags=["--tables-only"])
    assert {r.status for r in results} == {"missing"}
    assert not times(folder)
    assert "missing: not run yet" in (folder / "out/table.md").read_text()


def test_quick_size(run, folder):
    quick = """
    [quick]
    datasets = ["tight"]
    dims = [2, 6]
    seeds = [3]
    settings = { edge-projection = { training = { steps = 2 } } }
    """
    (folder / "small.toml").write_text(HEAD + quick + OURS)
    whole = read_experiment(folder / "small.toml")
    assert len(grid_cells(whole, data_folders(whole))) == 4
    assert {c.method.training.steps for c in grid_cells(whole, data_folders(whole))} == {5}
    small = read_experiment(folder / "small.toml", quick=True)
    cells = grid_cells(small, data_folders(small))
    assert [(c.dataset, c.dim, c.seed) for c in cells] == [("tight", 2, 3), ("tight", 6, 3)]
    assert {c.method.training.steps for c in cells} == {2}
    assert {c.method.model.node_dim for c in cells} == {8}


def test_kinds_of_tables(run, folder):
    shallow = OURS.replace('"ours"', '"flat"').replace("node_dim = 8", "hidden = []")
    comparison = '[comparison]\nours = "ours"\nagainst = ["flat"]'
    head = HEAD.replace('"loose", ', "")
    run(head, 'kind = "generalisation"', comparison, OURS, shallow)
    before = times(folder)
    assert re.search(r"\| tight +\| +1?\.\d{3} \|.* 2/2 \|", (folder / "out/table.md").read_text())
    run(head, 'kind = "norms"', OURS, shallow)
    assert times(folder) == before
    assert re.search(r"\| tight +\| flat +\| +\d", (folder / "out/table.md").read_text())


ERRORS = {
    "unknown key": ((HEAD, "sedes = [1]", DEGREES), r'unknown setting "sedes"; .*"seeds"\?'),
    "unknown key of a method": (
        (HEAD, DEGREES, "lable = 'x'"),
        r'unknown setting "methods\.0\.lable".*',
    ),
    "unknown method": (
        (HEAD, DEGREES.replace("degree-product", "magic")),
        r'method "degrees": expected one of edge-projection, two-stages, .*, got "magic"',
    ),
    "unknown setting": (
        (HEAD, OURS.replace("node_dim", "nod_dim")),
        r'method "ours": unknown setting "model\.nod_dim"; did you mean "model\.node_dim"\?',
    ),
    "unknown preset": (
        (HEAD, OURS.replace("[methods.settings]", 'preset = "worst"\n[methods.settings]')),
        r'method "ours": expected a preset among default, auc, paper, released-code, '
        r'got "worst"',
    ),
    "preset of a baseline": ((HEAD, DEGREES, 'preset = "paper"'), r".* among default, got .*"),
    "no dims": ((HEAD.replace("[4]", "[]"), OURS), r'expected dims for the method "ours".*'),
    "label twice": ((HEAD, DEGREES, DEGREES), r"expected methods of different labels, .* twice"),
    "unknown label": (
        (HEAD, '[comparison]\nours = "x"\nagainst = ["degrees"]', DEGREES),
        r'comparison: expected the label of a method, got "x"',
    ),
    "label of two lines": (
        (HEAD, '[comparison]\nours = "x\\ny"\nagainst = ["degrees"]', DEGREES),
        r'comparison: expected the label of a method, got "x y"',
    ),
    "no methods": ((HEAD,), r'expected the setting "methods", got none'),
    "unknown dataset": (
        (HEAD.replace("tight", "gone"), DEGREES),
        r'expected a split folder "gone" in \S+data, found none; name its folder with --data',
    ),
    "not TOML": (("name = ",), r"expected TOML, got text that is not: .*"),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_files_are_one_line_and_leave_nothing(run, folder, text, message):
    error = run(*text, fails=True)
    assert re.fullmatch(rf"arcvec: (\S+small\.toml: )?{message}\n", error), error
    assert not (folder / "out").exists()


HOLDER = """
import sys
from pathlib import Path
from arcvec.storage.atomic import sole_writer
folder = Path(sys.argv[1])
folder.mkdir(parents=True)
with sole_writer(folder, lock=folder / ".lock"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_runs_do_not_write_at_once(run, folder):
    command = [sys.executable, "-c", HOLDER, folder / "out/cells"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        error = run(HEAD, DEGREES, fails=True)
        pattern = rf"arcvec: \S+cells: process {holder.pid} is writing it; .*\n"
        assert re.fullmatch(pattern, error), error
        holder.kill()
    # The lock of a process that is no more holds nobody up.
    assert (folder / "out/cells/.lock").read_text() == f"{holder.pid}\n"
    assert run(HEAD, DEGREES)[0].status == "done"


def start(folder, *text):
    """Start an experiment in a process of its own."""
    (folder / "small.toml").write_text("\n".join(text))
    command = [sys.executable, "-m", "arcvec", "experiment", folder / "small.toml"]
    return subprocess.Popen(
        [*command, "-o", folder / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background inherit a Ctrl-C that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until(is_true, process=None):
    deadline = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < deadline, "waited in vain"
        assert process is None or process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def workers_of(folder):
    """Return the processes whose log is that of the experiment in the folder."""
    log = str((folder / "out/cells/workers.log").resolve())
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "fd/2") == log:
                found.append(int(process.name))
        except OSError:
            continue
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@needs_proc
def test_a_killed_run_goes_on_without_repeating_cells(run, folder):
    many = HEAD.replace("[0, 1]", "[0, 1, 2, 3, 4, 5]")
    process = start(folder, many, DEGREES, OURS)
    wait_until(lambda: len(times(folder)) >= 4, process)
    process.kill()
    process.communicate()
    wait_until(lambda: not workers_of(folder))  # none outlives the run
    before = times(folder)
    assert 4 <= len(before) < 14
    results = run(many, DEGREES, OURS)
    assert [r.status for r in results] == ["done"] * 14
    after = times(folder)
    assert {name: after[name] for name in before} == before


@needs_proc
def test_ctrl_c_stops_cleanly(folder):
    process = start(folder, HEAD, DEGREES, ENDLESS)
    wait_until(lambda: len(times(folder)) == 2, process)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert error.endswith("finished cells are kept, and the same command does the others\n")
    assert "Traceback" not in error
    assert not workers_of(folder)
    assert len(times(folder)) == 2


class Started(list):
    """The processes that were started as workers, in order; the first ones are killed."""

    num_killed = 0


@pytest.fixture
def started(monkeypatch):
    processes = Started()
    popen = subprocess.Popen

    def record(*arguments, **options):
        processes.append(popen(*arguments, **options))
        if len(processes) <= processes.num_killed:
            processes[-1].kill()
        return processes[-1]

    monkeypatch.setattr(workers.subprocess, "Popen", record)
    return processes


def tasks(folder):
    split = str(folder / "data/tight")
    endless = {"dim": 4, "training": {"steps": 10_000_000, "validation_fraction": 0}}
    settings = {"edge-projection": endless, "jaccard": {}, "degree-product": {}}
    return [
        {"split": split, "method": name, "settings": chosen, "ranking": False}
        for name, chosen in settings.items()
    ]


def test_a_worker_that_dies_loses_its_cell_alone(folder, started):
    started.num_killed = 1
    events = list(workers.run_tasks(tasks(folder), 1, folder / "log"))
    assert [i for i, outcome in events if outcome is None] == [0, 1, 2]
    outcomes = {i: outcome for i, outcome in events if outcome is not None}
    assert [outcomes[i]["status"] for i in range(3)] == ["failed", "done", "done"]
    expected = "the worker process died, killed by signal 9, perhaps out of memory"
    assert outcomes[0]["error"] == expected
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_workers_share_the_cores(run, folder, started):
    results = run(HEAD, DEGREES, flags=["--workers", "2"])
    assert {r.numbers["threads"] for r in results} == {threads_per_worker(2)}
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
    assert "at least 1 worker" in run(HEAD, DEGREES, flags=["--workers", "0"], fails=True)


@pytest.fixture(scope="module")
def planted_splits(tmp_path_factory):
    out = tmp_path_factory.mktemp("planted")
    script = EXPERIMENTS.parent / "scripts/planted_reciprocity.py"
    subprocess.run([sys.executable, script, "-o", out], check=True, stdout=subprocess.DEVNULL)
    return out


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [True, False])
def test_committed_experiments_are_well_formed(path, quick, shared_data, planted_splits):
    experiment = read_experiment(path, quick=quick)
    cells = grid_cells(experiment, [shared_data("splits"), planted_splits])
    assert len({(c.dataset, c.label, c.dim, c.seed) for c in cells}) == len(cells)
    assert experiment.name == path.stem
    labels = {entry.label for entry in experiment.methods}
    if experiment.paper is not None:
        rows = read_paper(experiment.paper)
        assert {row["method"] for row in rows if "method" in row} <= labels
        assert quick or {row["dataset"] for row in rows} == set(experiment.datasets)


def test_table2_and_table3_reuse_the_cells_of_table1(shared_data):
    def digests(name):
        experiment = read_experiment(EXPERIMENTS / f"{name}.toml")
        return {cell.digest for cell in grid_cells(experiment, [shared_data("splits")])}

    assert digests("table2") < digests("table3") < digests("table1")
