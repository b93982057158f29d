"""Fit a planted follow graph, and compare recommendations with true edges.

    python scripts/planted_communities.py --preset default --dim 32 --save

Users follow mostly within their community, and popular users more often. Good recommendations do
so too: they cover the catalogue, and are as local and as popular as true edges.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split, split_edges
from arcvec.recommendation.exact import top_k
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.presets import PRESETS, load_method

SAVED = Path(__file__).parent.parent / "results/benchmarks/planted_communities.json"
NUM_COMMUNITIES = 120
EDGES_PER_NODE = 12
LOCAL = 0.8  # fraction of the draws within the community
ZIPF_EXPONENT = 0.65
K = 10


def main() -> None:
    """Measure one preset, print the numbers, and save them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--preset", choices=PRESETS, default="default")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true", help=f"add the row to {SAVED.name}")
    arguments = parser.parse_args()
    graph, communities = planted_graph(arguments.nodes, arguments.seed)
    split = split_edges(graph, test_fraction=0.2, seed=arguments.seed)
    run = {name: getattr(arguments, name) for name in ("preset", "dim", "nodes", "seed")}
    method = load_method(
        arguments.preset, overrides=EdgeProjection(dim=arguments.dim, seed=arguments.seed)
    )
    row = run | measure(method, split, communities)
    for name, value in row.items():
        print(f"{name:28} {value:.4g}" if isinstance(value, float) else f"{name:28} {value}")
    if arguments.save:
        save(row, run)


def planted_graph(num_nodes: int, seed: int) -> tuple[Graph, NDArray[np.int64]]:
    """Return a follow graph, and the community of every node."""
    generator = np.random.default_rng(seed)
    communities = np.sort(generator.integers(NUM_COMMUNITIES, size=num_nodes))
    popularity = (1.0 + generator.permutation(num_nodes)) ** -ZIPF_EXPONENT
    activity = generator.lognormal(size=num_nodes)
    sources = generator.choice(num_nodes, num_nodes * EDGES_PER_NODE, p=activity / activity.sum())
    # Nodes are in the order of their communities, so each is a part of the cumulated popularity.
    ends = np.append(0, np.cumsum(popularity))
    bounds = np.searchsorted(communities, np.arange(NUM_COMMUNITIES + 1))
    is_local = generator.random(sources.size) < LOCAL
    low = np.where(is_local, ends[bounds[communities[sources]]], 0)
    high = np.where(is_local, ends[bounds[communities[sources] + 1]], ends[-1])
    drawn = low + generator.random(sources.size) * (high - low)
    targets = np.minimum(np.searchsorted(ends, drawn, side="right"), num_nodes) - 1
    edges = np.unique(np.stack([sources, targets], axis=1)[sources != targets], axis=0)
    return Graph.from_edges(*edges.T, nodes=num_nodes), communities


def measure(method: EdgeProjection, split: Split, communities: NDArray[np.int64]) -> dict[str, Any]:
    """Return what recommendations to all nodes are like, and how well they find test edges."""
    begun = time.perf_counter()
    embeddings = method.fit(split.train)
    seconds = time.perf_counter() - begun
    everyone = np.arange(len(embeddings.nodes))
    best, _ = top_k(embeddings, everyone, K, exclude=split.train)
    times = np.bincount(best[best >= 0], minlength=everyone.size)
    popularity = split.train.in_degrees
    sources, targets = split.test.T
    report = link_prediction(embeddings, split)
    return {
        f"nodes recommended@{K}": int((times > 0).sum()),
        f"coverage@{K}": float((times > 0).mean()),
        "largest share of users": float(times.max() / everyone.size),
        "local, recommended": float((communities[best] == communities[:, None])[best >= 0].mean()),
        "local, true": float((communities[sources] == communities[targets]).mean()),
        "in-degree, recommended": float(popularity[best[best >= 0]].mean()),
        "in-degree, true": float(popularity[targets].mean()),
        "MRR": report.mrr,
        "hits@10": report.hits_at_10,
        "AUC": report.auc,
        "seconds": round(seconds, 1),
    }


def save(row: dict[str, Any], run: dict[str, Any], path: Path = SAVED) -> None:
    """Add a row to the saved table, in the place of an earlier one of the same run."""
    rows = json.loads(path.read_text())["tables"][0]["rows"] if path.exists() else []
    rows = [other for other in rows if any(other[name] != run[name] for name in run)]
    table = {"title": "Planted communities", "rows": [*rows, row]}
    report = {"command": "python scripts/planted_communities.py --save", "tables": [table]}
    path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
