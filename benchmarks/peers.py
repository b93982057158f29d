"""Time to vectors, memory and AUC beside other libraries, and AUC against time.

python benchmarks/peers.py --save
python benchmarks/peers.py --graphs ppi --budgets 2 5 10 --peers ProNE FastRP
python benchmarks/peers.py --graphs ppi ca-HepTh --keep --save

Every library makes 128 numbers a node from the train edges of a split, arcvec as many, and 32. All
are timed from the start of their process, which is given two threads; compiling is not counted, of
arcvec because its kernels are compiled before. Vectors of peers are scored by the better of their
inner product and a logistic regression on Y_u * Y_v, the paper's way; scoring is not timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from measure import DATA, SAVED, Report, Table, command_line, run_apart, run_benchmark
from peer_vectors import PEERS
from peers_env import peers_python

from arcvec.baselines.node2vec import edge_weights
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.files import load_graph
from arcvec.graph.split import Split, read_split, save_split, split_edges
from arcvec.ingest.ingest import EdgeFileSettings, ingest_edges

DIM = 128
BUDGETS = (1, 2, 5, 10, 30, 60)
# Spectral peers are quick; later, 32 numbers are enough to be ahead.
LONGEST_WITH_ALL_NUMBERS = 10
OURS = {32: "arcvec", DIM: f"arcvec, {DIM} numbers"}
ALL_RUNS = "All runs"
NODE2VEC = "PecanPy + gensim"
QUICK_PEERS = ("ProNE", "SVD", "FastRP", "Cleora")
GRAPHS = ("wiki-vote", "ppi", "ca-HepTh", "soc-facebook", "ca-AstroPh", "soc-epinions", "cnr-2000")
# Libraries that walk, or need eigenvectors, take hours on more nodes than these.
MOST_NODES = 100_000


@cache
def split_of(name: str, folder: Path) -> tuple[Path, Split]:
    """Return the published split of a graph, or one of the raw graph where there is none."""
    published = DATA / "splits" / name
    if published.exists():
        return published, read_split(published)
    graph = folder / f"{name}-graph"
    ingest_edges(DATA / "raw" / f"{name}.txt.gz", graph, EdgeFileSettings(directed=True))
    split = split_edges(load_graph(graph), seed=0)
    save_split(split, folder / name)
    return folder / name, split


def peer_row(graph: str, split: Split, peer: str, folder: Path) -> dict[str, Any]:
    """Return what one peer gives on one graph."""
    edges, vectors = folder / "edges.npz", folder / "vectors.npy"
    np.savez(edges, edges=np.stack(split.train.edges(), axis=1), num_nodes=split.train.num_nodes)
    script = str(Path(__file__).with_name("peer_vectors.py"))
    command = [str(peers_python()), script, peer, str(edges), str(vectors), "--dim", str(DIM)]
    seconds, peak, printed = run_apart(command)
    seconds -= json.loads(printed.splitlines()[-1])["compiling"]
    return row(graph, peer, DIM, seconds, peak, peer_auc(split, np.load(vectors), peer))


def peer_auc(split: Split, vectors: Any, peer: str) -> float:
    """Return the better AUC of inner products and of a logistic regression on the edges."""
    train = split.train
    if peer == "SVD":
        source, target = np.split(vectors, 2, axis=1)
        scorer = EdgeEmbeddings(source, target, train.nodes, train.directed)
        return link_prediction(scorer, split, ranking=False).auc
    # Coordinates of one size, as a regression with an L2 penalty needs them.
    vectors = vectors / np.maximum(vectors.std(axis=0), 1e-12)
    ways = (np.ones(DIM, dtype=np.float32), edge_weights(train, vectors, seed=0))
    scorers = (
        EdgeEmbeddings.one_vector(vectors, weights, train.nodes, directed=train.directed)
        for weights in ways
    )
    return max(link_prediction(scorer, split, ranking=False).auc for scorer in scorers)


def our_row(path: Path, split: Split, dim: int, budget: int, folder: Path) -> dict[str, Any]:
    """Return what `arcvec fit --budget` gives on one graph."""
    out = folder / "result"
    command = [sys.executable, "-m", "arcvec", "fit", str(path), "-o", str(out), "--overwrite"]
    flags = ["--quiet", "--dim", str(dim), "--budget", f"{budget}s"]
    seconds, peak, _ = run_apart([*command, *flags])
    auc = link_prediction(EdgeEmbeddings.load(out), split, ranking=False).auc
    return row(path.name, f"{OURS[dim]}, {budget} s", dim, seconds, peak, auc)


def row(graph: str, who: str, dim: int, seconds: float, peak: float, auc: float) -> dict[str, Any]:
    """Return a row of the table of all runs, and print it."""
    numbers = {"seconds": round(seconds, 2), "peak GiB": round(peak, 2), "AUC": round(auc, 4)}
    found = {"graph": graph, "library": who, "dim": dim, **numbers}
    print(*found.values(), flush=True)
    return found


def times_faster(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for every graph, how many times sooner arcvec has a higher AUC than node2vec."""
    found = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        mine = [row for row in rows if row["graph"] == graph]
        theirs = next((row for row in mine if row["library"] == NODE2VEC), None)
        if theirs is None:
            continue
        better = [
            row
            for row in mine
            if row["library"].startswith("arcvec") and row["AUC"] > theirs["AUC"]
        ]
        soonest = min(better, key=lambda row: row["seconds"], default=None)
        found.append(
            {
                "graph": graph,
                f"{NODE2VEC}, s": theirs["seconds"],
                "its AUC": theirs["AUC"],
                "arcvec, s": soonest["seconds"] if soonest else "-",
                "AUC": soonest["AUC"] if soonest else "-",
                "times faster": theirs["seconds"] / soonest["seconds"] if soonest else 0.0,
            }
        )
    return found


def points_above(rows: list[dict[str, Any]], since: float = 2.0) -> list[dict[str, Any]]:
    """Return the peers with a higher AUC than arcvec's curve has by then, from some seconds on.

    Those that were done before are held against what arcvec has then.
    """
    above = []
    for peer in (row for row in rows if not row["library"].startswith("arcvec")):
        ours = sorted(
            (row["seconds"], row["AUC"])
            for row in rows
            if row["graph"] == peer["graph"] and row["library"].startswith("arcvec")
        )
        seconds, best = np.array(ours)[:, 0], np.maximum.accumulate(np.array(ours)[:, 1])
        by_then = float(np.interp(max(peer["seconds"], since), seconds, best))
        if by_then < peer["AUC"]:
            above.append({**peer, "arcvec by then": by_then})
    return above or [{"library": "none"}]


def kept_rows(measured: Sequence[str]) -> list[dict[str, Any]]:
    """Return the saved rows of graphs that are not measured now: all of a graph are of one run."""
    saved = json.loads(SAVED.joinpath("peers.json").read_text())["tables"]
    rows = next(table["rows"] for table in saved if table["title"] == ALL_RUNS)
    return [row for row in rows if row["graph"] not in measured]


def measure(arguments: argparse.Namespace) -> Report:
    """Run all libraries on all graphs."""
    rows = kept_rows(arguments.graphs) if arguments.keep else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for graph in arguments.graphs:
            path, split = split_of(graph, folder)
            our_row(path, split, DIM, 5, folder)  # compiles, and fills the caches
            for dim in OURS:
                for budget in arguments.budgets:
                    if dim < DIM or budget <= LONGEST_WITH_ALL_NUMBERS:
                        rows.append(our_row(path, split, dim, budget, folder))
            for peer in arguments.peers:
                if peer in QUICK_PEERS or split.train.num_nodes <= MOST_NODES:
                    rows.append(peer_row(graph, split, peer, folder))
    rows.sort(key=lambda row: [*GRAPHS, row["graph"]].index(row["graph"]))
    tables = [Table(ALL_RUNS, rows), Table("Peers above arcvec's curve", points_above(rows))]
    if faster := times_faster(rows):
        tables.append(Table(f"Sooner than {NODE2VEC} with a higher AUC", faster))
    return Report(command_line(), tables)


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--budgets", nargs="+", type=int, default=BUDGETS)
    parser.add_argument(
        "--keep", action="store_true", help="keep what is saved of graphs that are not measured"
    )
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
