"""A fit on several workers of this machine beside one process: AUC, time, memory, bytes, deaths.

python benchmarks/scaleout.py --save

AUC: the default fit at dim 32 with nothing held out and one window, so that all have as many pairs.
Time: of a pair, one member, with two threads together; runs of one process and of two workers take
turns, and the medians are compared. Memory: the largest worker on an R-MAT graph, from singular
vectors. Bytes: what the first of two workers sends in a step. Deaths: a worker,
or all of them, killed in mid-run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import DATA, ROOT, Report, Table, command_line, matmul_rate, run_benchmark
from rmat import rmat_edges

from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph

ARCVEC = [sys.executable, "-m", "arcvec"]
WORKER = str(ROOT / "benchmarks/scaleout_worker.py")
WORKERS = (1, 2, 4)
SAME_PAIRS = ["--walks.window", "5", "--training.validation-fraction", "0"]
OFTEN = ["--training.checkpoint-every", "20"]
EDGES_PER_NODE = 8
# The largest difference of AUC, and the longest time of a pair as a multiple of one process.
GOALS = {"AUC": 0.003, "time": 1.35}


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", nargs="+", default=["wiki-vote", "soc-epinions"])
    parser.add_argument("--scale", type=int, default=20, help="log2 of the nodes for memory")
    parser.add_argument("--repeats", type=int, default=5, help="runs that a time is the median of")
    run_benchmark(parser, measure)


def measure(arguments: argparse.Namespace) -> Report:
    """Measure everything, table by table."""
    splits = [DATA / "splits" / name for name in arguments.graphs]
    limits = {"matmul, 2 threads": matmul_rate(2)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rmat = write_rmat(arguments.scale, folder)
        times = [time_row(graph, arguments.repeats, folder) for graph in (*splits, rmat)]
        sent = byte_rows(splits, folder)
        peaks = memory_rows(rmat, folder)
        areas = [row for split in splits for row in auc_rows(split, folder)]
        killed = killed_rows(splits[0], folder)
    tables = [
        Table("Time of a pair", times),
        Table("Bytes in a step", sent),
        Table("Memory of the largest worker", peaks),
        Table("AUC at the same number of pairs", areas),
        Table("Workers killed", killed),
    ]
    return Report(command_line(), tables, limits)


def time_row(split: Path, repeats: int, folder: Path) -> dict[str, Any]:
    """Return the time of a pair in one process with two threads, and with two workers."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for count, times in seconds.items():
            first = steps_of(count, split, folder)[0]
            times.append(first["seconds"] / first["pairs"])
    one, two = (statistics.median(times) * 1e6 for times in seconds.values())
    ratios = sorted(b / a for a, b in zip(*seconds.values(), strict=True))
    return {
        "graph": split.name,
        "one process, us": one,
        "two workers, us": two,
        "ratio": two / one,
        "in each turn": f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        "goal": GOALS["time"],
    }


def byte_rows(splits: Sequence[Path], folder: Path) -> list[dict[str, Any]]:
    """Return the bytes that the first of two workers sends in a step."""
    rows = []
    for split, node_dim in [*((split, 64) for split in splits), (splits[0], 512)]:
        first = steps_of(2, split, folder, "--node-dim", str(node_dim))[0]
        sent, network = round(first["bytes"]), round(first["network"])
        a_pair = (sent - network) / first["pairs"]
        row = {"all": sent, "gradients of the network": network, "a pair": a_pair}
        rows.append({"graph": split.name, "node_dim": node_dim, **row})
    return rows


def write_rmat(scale: int, folder: Path) -> Path:
    """Write a random graph with 2^scale nodes."""
    graph = folder / f"R-MAT 2^{scale}"
    sources, targets = rmat_edges(scale, EDGES_PER_NODE, seed=0)
    save_graph(Graph.from_edges(sources, targets, nodes=1 << scale), graph)
    return graph


def memory_rows(graph: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the peak of the largest worker on a random graph, beside what the formula says."""
    num_nodes = load_graph(graph).num_nodes
    rows = []
    for count in WORKERS:
        figures = steps_of(count, graph, folder, "--steps", "32")
        peak = max(worker["GiB"] for worker in figures)
        held = (num_nodes / count * (12 * 64 + 8 * 16 * 2) + 4 * num_nodes) / 2**30
        rows.append(
            {
                "workers": count,
                "nodes": num_nodes,
                "peak, GiB": peak,
                "rows, moments and vectors, GiB": held,
                "all else, GiB": peak - held,
                "a pair, us": 1e6 * figures[0]["seconds"] / figures[0]["pairs"],
            }
        )
    return rows


def auc_rows(split: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the AUC of fits with as many pairs, by one process and by several workers."""
    rows: list[dict[str, Any]] = []
    for count in WORKERS:
        out = folder / f"{split.name}-{count}"
        began = time.perf_counter()
        fit(split, out, *workers_flag(count))
        seconds = time.perf_counter() - began
        steps = json.loads((out / "settings.json").read_text())["steps_done"]
        rows.append({"graph": split.name, "workers": count, "steps": steps, "AUC": auc(out, split)})
        rows[-1]["difference"] = rows[-1]["AUC"] - rows[0]["AUC"]
        rows[-1]["goal"] = GOALS["AUC"]
        rows[-1]["seconds"] = seconds
    return rows


def killed_rows(split: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the AUC of fits of which a worker, or all, were killed, beside one undisturbed."""
    undisturbed = auc(folder / f"{split.name}-2", split)
    one, all_ = folder / "one-killed", folder / "all-killed"
    with start_fit(split, one) as launcher:
        wait_for_checkpoint(launcher, one)
        os.kill(max(children(launcher.pid)), signal.SIGKILL)
        if launcher.wait():
            raise RuntimeError("the workers were not started again")
    with start_fit(split, all_) as launcher:
        wait_for_checkpoint(launcher, all_)
        for process in (launcher.pid, *children(launcher.pid)):
            os.kill(process, signal.SIGKILL)
        launcher.wait()
    fit(split, all_, *OFTEN, "--workers", "4", "--resume")
    same = (one / "source.npy").read_bytes() == (folder / f"{split.name}-2/source.npy").read_bytes()
    rows = [
        ("none", undisturbed, ""),
        ("one of two", auc(one, split), "the same bytes" if same else "other bytes"),
        ("both, resumed with four", auc(all_, split), ""),
    ]
    return [
        {"killed": who, "AUC": value, "difference": value - undisturbed, "result": what}
        for who, value, what in rows
    ]


def steps_of(count: int, graph: Path, folder: Path, *flags: str) -> list[dict[str, Any]]:
    """Return the figures of each worker of some steps, by rank; of one process, its own."""
    command = [sys.executable, WORKER]
    if count > 1:
        launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
        command = [sys.executable, *launch, WORKER]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        done = subprocess.run(
            [*command, str(graph), work, *flags],
            env={**os.environ, "OMP_NUM_THREADS": str(max(1, 2 // count))},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    figures = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return sorted(figures, key=lambda worker: worker["rank"] or 0)


def workers_flag(count: int) -> list[str]:
    """Return the flags for some workers; one is a usual process."""
    return ["--workers", str(count)] if count > 1 else []


def fit_command(split: Path, out: Path, *flags: str) -> list[str]:
    """Return the command of a fit with a fixed number of pairs."""
    return [
        *ARCVEC,
        "fit",
        str(split),
        "-o",
        str(out),
        "--quiet",
        "--preset",
        "auc",
        *SAME_PAIRS,
        *flags,
    ]


def fit(split: Path, out: Path, *flags: str) -> None:
    """Fit, to the end."""
    subprocess.run(fit_command(split, out, *flags), check=True)


def start_fit(split: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start a fit on two workers that keeps a checkpoint every few steps."""
    return subprocess.Popen(fit_command(split, out, *OFTEN, "--workers", "2"))


def wait_for_checkpoint(launcher: subprocess.Popen[bytes], out: Path, number: int = 8) -> None:
    """Return when a checkpoint of that number is there."""
    checkpoint = out.with_name(f"{out.name}.checkpoint") / f"running-{number}"
    while not checkpoint.exists():
        if launcher.poll() is not None:
            raise RuntimeError(f"the fit ended before its checkpoint {number}")
        time.sleep(0.05)


def children(process: int) -> list[int]:
    """Return the processes that a process started."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def auc(result: Path, split: Path) -> float:
    """Return the AUC of a result on the test edges."""
    command = [*ARCVEC, "evaluate", str(result), "--split", str(split), "--no-ranking", "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(json.loads(printed)["auc"])


if __name__ == "__main__":
    main()
