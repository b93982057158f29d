"""Time to vectors, memory, AUC and MRR beside other libraries; both numbers against time.

python benchmarks/peers.py --save
python benchmarks/peers.py --graphs ppi --budgets 2 5 10 --peers ProNE FastRP
python benchmarks/peers.py --graphs ppi ca-HepTh --keep --save

Every library makes 128 numbers a node from the train edges of a split, arcvec as many, and 32. All
are timed from the start of their process, which is given two threads; compiling is not counted, of
arcvec because its kernels are compiled before. Scoring is not timed.

MRR and hits@10 are means over test edges, or a sample of them: the target is ranked among all nodes
that are neither the source nor a known target of it. Vectors of peers with one vector per node are
scored by their inner product and by a logistic regression on Y_u * Y_v, the paper's way, and each
number is the better of the two. Those with two sides are scored by their inner product.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from functools import cache, partial
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
TWO_SIDED = ("SVD", "implicit ALS", "implicit BPR")
QUICK_PEERS = ("ProNE", "FastRP", "Cleora", *TWO_SIDED)
GRAPHS = ("wiki-vote", "ppi", "ca-HepTh", "soc-facebook", "ca-AstroPh", "soc-epinions", "cnr-2000")
# Libraries that walk, or need eigenvectors, take hours on more nodes than these.
MOST_NODES = 100_000
MOST_RANKED_EDGES = 10_000


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
    pairs = np.stack(split.train.edges(), axis=1)
    if peer in TWO_SIDED and not split.train.directed:
        pairs = np.concatenate([pairs, pairs[pairs[:, 0] != pairs[:, 1], ::-1]])
    np.savez(edges, edges=pairs, num_nodes=split.train.num_nodes)
    script = str(Path(__file__).with_name("peer_vectors.py"))
    command = [str(peers_python()), script, peer, str(edges), str(vectors), "--dim", str(DIM)]
    seconds, peak, printed = run_apart(command)
    seconds -= json.loads(printed.splitlines()[-1])["compiling"]
    return row(graph, peer, DIM, seconds, peak, peer_numbers(split, np.load(vectors), peer))


def peer_numbers(split: Split, vectors: Any, peer: str) -> dict[str, float]:
    """Return AUC, MRR and hits@10: each the best of the ways in which a peer may be scored."""
    train = split.train
    if peer in TWO_SIDED:
        source, target = np.split(vectors, 2, axis=1)
        return numbers(EdgeEmbeddings(source, target, train.nodes, train.directed), split)
    # Coordinates of one size, as a regression with an L2 penalty needs them.
    vectors = vectors / np.maximum(vectors.std(axis=0), 1e-12)
    ways = (np.ones(DIM, dtype=np.float32), edge_weights(train, vectors, seed=0))
    found = [
        numbers(
            EdgeEmbeddings.one_vector(vectors, way, train.nodes, directed=train.directed), split
        )
        for way in ways
    ]
    return {name: max(one[name] for one in found) for name in found[0]}


def numbers(scorer: EdgeEmbeddings, split: Split) -> dict[str, float]:
    """Return what a scorer is measured by here."""
    report = link_prediction(scorer, split, max_ranked_edges=MOST_RANKED_EDGES).as_dict()
    return {"AUC": report["auc"], "MRR": report["mrr"], "hits@10": report["hits@10"]}


def our_row(
    path: Path, split: Split, dim: int, budget: int, preset: str, folder: Path
) -> dict[str, Any]:
    """Return what `arcvec fit --budget` gives on one graph."""
    out = folder / "result"
    command = [sys.executable, "-m", "arcvec", "fit", str(path), "-o", str(out), "--overwrite"]
    flags = ["--quiet", "--dim", str(dim), "--budget", f"{budget}s", "--preset", preset]
    seconds, peak, _ = run_apart([*command, *flags])
    found = numbers(EdgeEmbeddings.load(out), split)
    return row(path.name, f"{OURS[dim]}, {budget} s", dim, seconds, peak, found)


def row(
    graph: str, who: str, dim: int, seconds: float, peak: float, measured: dict[str, float]
) -> dict[str, Any]:
    """Return a row of the table of all runs, and print it."""
    found = {"graph": graph, "library": who, "dim": dim}
    found |= {"seconds": round(seconds, 2), "peak GiB": round(peak, 2)}
    found |= {name: round(value, 4) for name, value in measured.items()}
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


def points_above(
    rows: list[dict[str, Any]], number: str = "AUC", since: float = 2.0
) -> list[dict[str, Any]]:
    """Return the peers with a higher number than arcvec's curve has by then, from some seconds on.

    Those that were done before are held against what arcvec has then.
    """
    above = []
    for peer in (row for row in rows if not row["library"].startswith("arcvec")):
        ours = sorted(
            (row["seconds"], row[number])
            for row in rows
            if row["graph"] == peer["graph"] and row["library"].startswith("arcvec")
        )
        seconds, best = np.array(ours)[:, 0], np.maximum.accumulate(np.array(ours)[:, 1])
        by_then = float(np.interp(max(peer["seconds"], since), seconds, best))
        if by_then < peer[number]:
            above.append({**peer, "arcvec by then": by_then})
    return above or [{"library": "none"}]


def kept_rows(measured: Sequence[str]) -> list[dict[str, Any]]:
    """Return the saved rows of graphs that are not measured now: all of a graph are of one run."""
    saved = json.loads(SAVED.joinpath("peers.json").read_text())["tables"]
    rows = next(table["rows"] for table in saved if table["title"] == ALL_RUNS)
    if any("MRR" not in row for row in rows):
        raise ValueError("the saved rows have no MRR: measure all graphs again, without --keep")
    return [row for row in rows if row["graph"] not in measured]


def measure(arguments: argparse.Namespace) -> Report:
    """Run all libraries on all graphs."""
    rows = kept_rows(arguments.graphs) if arguments.keep else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for graph in arguments.graphs:
            path, split = split_of(graph, folder)
            ours = partial(our_row, path, split, preset=arguments.preset, folder=folder)
            ours(DIM, 5)  # compiles, and fills the caches
            for dim in OURS:
                for budget in arguments.budgets:
                    if dim < DIM or budget <= LONGEST_WITH_ALL_NUMBERS:
                        rows.append(ours(dim, budget))
            for peer in arguments.peers:
                if peer in QUICK_PEERS or split.train.num_nodes <= MOST_NODES:
                    rows.append(peer_row(graph, split, peer, folder))
    rows.sort(key=lambda row: [*GRAPHS, row["graph"]].index(row["graph"]))
    tables = [
        Table(ALL_RUNS, rows),
        Table("Peers above arcvec's curve", points_above(rows)),
        Table("Peers above arcvec's curve of MRR", points_above(rows, "MRR")),
    ]
    if faster := times_faster(rows):
        tables.append(Table(f"Sooner than {NODE2VEC} with a higher AUC", faster))
    return Report(command_line(), tables)


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--preset", default="default", help="of arcvec fit")
    parser.add_argument("--budgets", nargs="+", type=int, default=BUDGETS)
    parser.add_argument(
        "--keep", action="store_true", help="keep what is saved of graphs that are not measured"
    )
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
