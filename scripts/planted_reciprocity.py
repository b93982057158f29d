"""Make splits of one graph in which more and more edges are returned.

    python scripts/planted_reciprocity.py -o out/reciprocity

Writes split folders returned-00, returned-15, ..., returned-90: the number is the reciprocity in
percent, the part of the edges u -> v of which v -> u is an edge too. Every graph has the same
nodes, with the same places in two latent spaces: what a node links to, and what links to it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from arcvec.graph.components import largest_component
from arcvec.graph.graph import Graph
from arcvec.graph.split import save_split, split_edges

PERCENT = (0, 15, 30, 45, 60, 75, 90)
NUM_NODES = 2000
NUM_EDGES = 30_000


def main() -> None:
    """Write a split folder for each reciprocity."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the split folders")
    out = parser.parse_args().out
    for percent in PERCENT:
        graph = planted_graph(percent / 100)
        path = out / f"returned-{percent:02d}"
        save_split(split_edges(graph, test_fraction=0.5, seed=0), path, overwrite=True)
        print(f"{path}: {graph!r}, reciprocity {graph.reciprocity:.2f}")


def planted_graph(reciprocity: float, seed: int = 0) -> Graph:
    """Return a graph of about NUM_EDGES edges, that part of them returned."""
    rng = np.random.default_rng(seed)
    wanted, offered = rng.normal(size=(2, NUM_NODES, 4))
    activity, popularity = rng.normal(size=(2, NUM_NODES))
    scores = 1.5 * wanted @ offered.T + activity[:, None] + popularity
    scores += rng.gumbel(size=scores.shape)
    # Of each pair the better direction alone: all returned edges are those planted below.
    one_way = scores > scores.T
    # Of m edges, each returned with probability q, 2q / (1 + q) have a reverse.
    returning = reciprocity / (2 - reciprocity)
    count = round(NUM_EDGES / (1 + returning))
    best = np.argsort(np.where(one_way, -scores, np.inf), axis=None)[:count]
    sources, targets = np.unravel_index(best, scores.shape)
    returned = rng.random(count) < returning
    return largest_component(
        Graph.from_edges(
            np.concatenate([sources, targets[returned]]),
            np.concatenate([targets, sources[returned]]),
            nodes=NUM_NODES,
        )
    )


if __name__ == "__main__":
    main()
