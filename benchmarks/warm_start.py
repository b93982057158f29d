"""AUC by steps of a training that goes on from an earlier result, beside one that begins anew.

python benchmarks/warm_start.py SPLIT --change edges --save

A tenth of the train edges of a split is held out to measure on; its test edges are not looked at.
The earlier result has seen the rest without another tenth of the edges, or without a tenth of the
nodes. Then all of the rest is learned: in full, in some steps from the usual start, in as many from
the earlier result.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import Report, Table, command_line, run_benchmark

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split, read_split, split_edges
from arcvec.sampling.settings import WalkSettings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.settings import TrainSettings


def without_nodes(graph: Graph, seed: int) -> Graph:
    """Return the graph without a tenth of its nodes, their edges, and who has none then."""
    num_nodes = graph.num_nodes
    hidden = np.random.default_rng(seed).permutation(num_nodes)[: num_nodes // 10]
    edges = np.stack(graph.edges(), axis=1)
    edges = edges[~np.isin(edges, hidden).any(axis=1)]
    left, ends = np.unique(edges, return_inverse=True)
    names = [graph.nodes[i] for i in left.tolist()]
    return Graph.from_edges(*ends.reshape(-1, 2).T, nodes=names, directed=graph.directed)


def measured(
    what: str, method: EdgeProjection, split: Split, start: EdgeEmbeddings | None = None
) -> dict[str, Any]:
    """Return steps, time and AUC of a fit to the train part."""
    began = time.process_time()
    embeddings = method.fit(split.train, start=start)
    return {
        "what": what,
        "steps": embeddings.settings["steps_done"],
        "AUC": link_prediction(embeddings, split, ranking=False).auc,
        "CPU seconds": time.process_time() - began,
        "output_l2": embeddings.settings["output_l2"],
        "window": embeddings.settings["window"],
    }


def measure(arguments: argparse.Namespace) -> Report:
    """Fit, then go on."""
    dim, seed = arguments.dim, arguments.seed

    split = split_edges(read_split(arguments.split).train, test_fraction=0.1, seed=100 + seed)
    if arguments.change == "edges":
        before = split_edges(split.train, test_fraction=0.1, seed=200 + seed).train
    else:
        before = without_nodes(split.train, seed)
    earlier = EdgeProjection(goal="pairs", dim=dim, seed=seed).fit(before)
    rows = [measured("in full", EdgeProjection(goal="pairs", dim=dim, seed=seed), split)]
    for steps in arguments.steps:
        # As many steps from both starts, nothing held out, the same penalty and window.
        training = TrainSettings(
            steps=steps,
            settle=0.0,
            validation_fraction=0.0,
            stronger_l2=(),
            output_l2=rows[0]["output_l2"],
        )
        walks = WalkSettings(window=rows[0]["window"])
        given = {"walks": walks, "training": training}
        method = EdgeProjection(goal="pairs", dim=dim, seed=seed, **given)
        rows += [
            measured("from the usual start", method, split),
            measured("from the earlier result", method, split, earlier),
        ]
    if len(earlier.nodes) == split.train.num_nodes:
        auc = link_prediction(earlier, split, ranking=False).auc
        rows.append({**rows[0], "what": "the earlier result", "steps": 0, "AUC": auc})
    return Report(command_line(), [Table("Going on from an earlier result", rows)])


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("split", type=Path)
    parser.add_argument("--change", choices=["edges", "nodes"], default="edges")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, nargs="+", default=[100, 200, 400])
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
