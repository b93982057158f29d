"""AUC of nodes that were added later, beside that of the same nodes in a training of all.

python benchmarks/add_nodes.py SPLIT --dim 32 --save

A tenth of the nodes is hidden with all edges, a result is fitted to the rest, and the hidden nodes
are added with their train edges. Measured on the test edges of these nodes, against the negatives
of the split that touch them: reversed one-way edges and random ones, if directed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from measure import Report, Table, command_line, run_benchmark

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split, read_split
from arcvec.recommendation.new_nodes import add_nodes
from arcvec.training.edge_projection import EdgeProjection


def fitted(graph: Graph, dim: int, seed: int, kept: Path | None) -> EdgeEmbeddings:
    """Return the result of a graph, from a folder if it is there already."""
    if kept is not None and kept.exists():
        embeddings = EdgeEmbeddings.load(kept)
        if embeddings.settings["graph_fingerprint"] == graph.fingerprint:
            return embeddings
    embeddings = EdgeProjection(dim=dim, seed=seed).fit(graph)
    if kept is not None:
        embeddings.save(kept, overwrite=True)
    return embeddings


def auc_of(embeddings: EdgeEmbeddings, split: Split, hidden: np.ndarray) -> float:
    """Return the AUC on test edges and negatives that touch a hidden node."""
    negatives = split.test_negatives
    if split.directed_negatives is not None:
        negatives = split.directed_negatives
    position = {name: i for i, name in enumerate(embeddings.nodes)}
    # Nodes without a train edge were never added: nothing can be said of them.
    ids = np.array([position.get(name, -1) for name in split.train.nodes])
    scores = []
    for pairs in (split.test, negatives):
        touching = ids[pairs[hidden[pairs].any(axis=1)]]
        touching = touching[(touching >= 0).all(axis=1)]
        scores.append(embeddings.score(touching[:, 0], touching[:, 1]))
    return roc_auc(*scores)


def measure(arguments: argparse.Namespace) -> Report:
    """Fit twice, and add to one of both."""
    split = read_split(arguments.split)
    train = split.train
    order = np.random.default_rng(arguments.seed).permutation(train.num_nodes)
    hidden = np.zeros(train.num_nodes, dtype=np.bool_)
    hidden[order[: round(arguments.hidden * train.num_nodes)]] = True
    whole, part = (
        fitted(graph, arguments.dim, arguments.seed, arguments.folder and arguments.folder / name)
        for name, graph in (
            ("whole", train),
            ("part", train.subgraph(np.flatnonzero(~hidden))),
        )
    )
    sources, targets = train.edges()
    touching = hidden[sources] | hidden[targets]
    ends = np.unique(np.concatenate([sources[touching], targets[touching]]))
    place = np.full(train.num_nodes, -1)
    place[ends] = np.arange(ends.size)
    edges = Graph.from_edges(
        place[sources[touching]],
        place[targets[touching]],
        nodes=train.nodes.at(ends),
        directed=train.directed,
    )
    start = time.perf_counter()
    added = add_nodes(part, edges)
    row = {
        "split": arguments.split.name,
        "dim": arguments.dim,
        "hidden nodes": int(hidden.sum()),
        "their edges": int(touching.sum()),
        "seconds": time.perf_counter() - start,
        "AUC, added": auc_of(added, split, hidden),
        "AUC, trained": auc_of(whole, split, hidden),
    }
    return Report(command_line(), [Table("Nodes added later", [row])])


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("split", type=Path, help="split folder, as of wiki-vote")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=float, default=0.1, help="part of the nodes to hide")
    parser.add_argument("--folder", type=Path, help="where the two fits are kept for another time")
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
