"""How time and memory grow with the graph: ingest, fit and recommend on R-MAT graphs.

python benchmarks/scaling.py --scales 14 16 18 20 --save

Graphs of 2^scale nodes with 16 edges a node in the mean, of which repeats and self-loops are
dropped. Every stage is a command of its own, so that its peak is its own. Fit is measured twice.
One pass: one member, nothing held out, and as many steps as draw two pairs for each edge, so that
the work is in proportion to the edges. Whole: what a user gets without any setting, trials and
ensemble included, on the largest graph alone, as its number of steps does not depend on the graph;
its AUC on held-out edges stands beside that of the product of degrees on the same edges.
Recommend answers for all nodes, by an index that it builds first. "times held" is the peak of a fit
as a multiple of the adjacency, the node table and the state of its optimiser together; the
libraries alone are some hundred MiB of it.

The goal is about all graphs, from the smallest to the largest. A start-up of some seconds makes
small ones look dear, and the exponents small: those of the two largest stand beside them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import measure
import numpy as np
from ingest import FORMATS
from rmat import rmat_edges

from arcvec.graph.files import load_graph
from arcvec.graph.graph import Graph
from arcvec.training.edge_projection import EdgeProjection
from arcvec.view.table_text import figure

EDGES_PER_NODE = 16
DIM = 32
PAIRS_PER_EDGE = 2
WARM_UP = 10
BATCH_PAIRS = 65536
ONE_PASS = ["--members", "1", "--walks.window", "5", "--training.validation-fraction", "0"]

# The largest exponent, the most minutes and GiB of ingest and fit, and the largest peak of a fit as
# a multiple of what it must hold.
GOALS = {"exponent": 1.1, "minutes": 10.0, "GiB": 4.0, "times held": 2.5}

DEGREES = """
import sys
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.files import load_graph
from arcvec.baselines.paths import DegreeProduct
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.validation import choose_validation
seen, validation = choose_validation(load_graph(sys.argv[1]), EdgeProjection().training, 0)
scores = DegreeProduct().fit(seen).score(*validation.pairs.T)
print(roc_auc(scores[validation.is_edge], scores[~validation.is_edge]))
"""


def write_edges(scale: int, folder: Path) -> dict[str, Path]:
    """Write the edges of a random graph in every format, and return the paths."""
    import duckdb
    import pyarrow

    sources, targets = rmat_edges(scale, EDGES_PER_NODE, seed=0)
    table = pyarrow.table({"source": sources, "target": targets})
    paths = {kind: folder / f"edges.{kind}" for kind in FORMATS}
    with duckdb.connect() as connection:
        connection.register("edges", table)
        for kind, path in paths.items():
            connection.execute(f"COPY edges TO '{path}' ({FORMATS[kind]})")
    return paths


def run_arcvec(*arguments: object) -> tuple[float, float]:
    """Return seconds and peak in GiB of one command."""
    seconds, peak, _ = measure.run_apart([sys.executable, "-m", "arcvec", *map(str, arguments)])
    return seconds, peak


def bytes_held(graph: Graph) -> int:
    """Return what a fit cannot do without: edges, the node table, both moments of Adam.

    Walks go along the edges of a directed graph both ways, so they are counted twice.
    """
    table = 4 * graph.num_nodes * EdgeProjection().model.node_dim
    ways = 2 if graph.directed else 1
    return ways * (graph.indptr.nbytes + graph.indices.nbytes) + 3 * table


def measure_scale(scale: int, folder: Path, *, whole: bool) -> list[dict[str, Any]]:
    """Return a row for each stage on a graph of that scale."""
    rows: list[dict[str, Any]] = []
    out, result = folder / "graph", folder / "result"

    def add(stage: str, seconds: float, peak: float) -> None:
        graph = load_graph(out)
        row = {
            "stage": stage,
            "scale": scale,
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "seconds": seconds,
            "GiB": peak,
            "times held": peak * 2**30 / bytes_held(graph) if "fit" in stage else "",
        }
        rows.append(row)
        print("  ".join(f"{name} {figure(value)}" for name, value in row.items()), flush=True)

    for kind, path in write_edges(scale, folder).items():
        add(f"ingest {kind}", *run_arcvec("ingest", path, "-o", out, "--overwrite"))
        path.unlink()
    steps = math.ceil(PAIRS_PER_EDGE * load_graph(out).num_edges / BATCH_PAIRS)
    fit = ["fit", out, "-o", result, "--dim", DIM, "--quiet", "--overwrite"]
    batches = ["--training.steps", steps, "--training.batch-pairs", BATCH_PAIRS]
    add("fit, one pass", *run_arcvec(*fit, *ONE_PASS, *batches))
    found = ["-k", 10, "--approximate", "--exclude", out, "-o", folder / "found.parquet"]
    add("recommend", *run_arcvec("recommend", result, "--all", *found, "--quiet"))
    if whole:
        add("fit, whole", *run_arcvec(*fit))
    return rows


def exponent(rows: Sequence[dict[str, Any]], name: str) -> float:
    """Return the power of the edges that a figure grows with, by least squares of logarithms."""
    if len(rows) < 2:
        return math.nan
    edges, values = (np.log([row[key] for row in rows]) for key in ("edges", name))
    return float(np.polyfit(edges, values, 1)[0])


def exponents(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each stage that was measured at several scales."""
    table = []
    for stage in dict.fromkeys(row["stage"] for row in rows):
        mine = [row for row in rows if row["stage"] == stage]
        if len(mine) > 1:
            powers = {
                "seconds": exponent(mine, "seconds"),
                "seconds, last two": exponent(mine[-2:], "seconds"),
                "memory": exponent(mine, "GiB"),
                "memory, last two": exponent(mine[-2:], "GiB"),
            }
            met = max(powers["seconds"], powers["memory"]) <= GOALS["exponent"]
            table.append({"stage": stage, **powers, "goal": "met" if met else "missed"})
    return table


def whole_rows(rows: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return what a user waits for at the largest scale, and how good the result is."""
    last = {row["stage"]: row for row in rows}
    parts = [last[f"ingest {kind}"] for kind in FORMATS] + [last["fit, whole"]]
    minutes, peak = sum(row["seconds"] for row in parts) / 60, max(row["GiB"] for row in parts)
    settings = json.loads((folder / "result/settings.json").read_text())
    command = [sys.executable, "-c", DEGREES, str(folder / "graph")]
    degrees = float(measure.run_apart(command)[2])
    ours, held = settings["validation_auc"], last["fit, whole"]["times held"]
    figures = [
        ("minutes of ingest (both formats) and fit", minutes, GOALS["minutes"], False),
        ("peak GiB", peak, GOALS["GiB"], False),
        ("peak of fit as a multiple of what it must hold", held, GOALS["times held"], False),
        ("AUC on held-out edges; goal: above the product of degrees", ours, degrees, True),
    ]
    return [
        {
            "figure": name,
            "value": value,
            "goal": goal,
            "met": "yes" if (value > goal) == higher else "no",
        }
        for name, value, goal, higher in figures
    ]


def run(arguments: argparse.Namespace) -> measure.Report:
    """Measure all scales."""
    rows: list[dict[str, Any]] = []
    tables = []
    largest = max(arguments.scales)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        measure_scale(WARM_UP, Path(name), whole=True)  # compiles the kernels, which are kept
    for scale in sorted(arguments.scales):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            folder = Path(name)
            whole = arguments.whole and scale == largest
            rows += measure_scale(scale, folder, whole=whole)
            if whole:
                title = f"All that a user does at scale {scale}"
                tables.append(measure.Table(title, whole_rows(rows, folder)))
    tables.insert(0, measure.Table("Seconds and peak memory", rows))
    if growth := exponents(rows):
        tables.insert(1, measure.Table("Powers of the number of edges", growth))
    return measure.Report(measure.command_line(), tables)


def main() -> None:
    """Measure, print tables, save them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[14, 16, 18, 20])
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    parser.add_argument(
        "--no-whole", dest="whole", action="store_false", help="leave out the fit by default"
    )
    measure.run_benchmark(parser, run)


if __name__ == "__main__":
    main()
