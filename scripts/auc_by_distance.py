"""Tell which held-out edges an AUC is lost on, by how far apart their ends are in the train part.

    python scripts/auc_by_distance.py out/train-splits/ca-HepTh out/train-splits/ppi

Splits are cut from the train edges of published ones, so that no test edge is looked at. Writes
results/benchmarks/auc_by_distance.json, too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from arcvec import EdgeProjection, read_split
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import undirected_adjacency
from arcvec.storage.atomic import new_file

OUT = Path(__file__).parent.parent / "results/benchmarks/auc_by_distance.json"
FARTHEST = 5
SOURCES_AT_ONCE = 1000
DISTANCES = {0: "self-loop", 2: "2", 3: "3", 4: "4", FARTHEST: "5 or more"}


def main() -> None:
    """Fit every split at dim 128, and write where the AUC is lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("splits", type=Path, nargs="+", help="split folders, undirected")
    splits = parser.parse_args().splits
    rows = [row for path in splits for row in rows_of(path)]
    command = " ".join(["python scripts/auc_by_distance.py", *map(str, splits)])
    report = {"command": command, "tables": [{"title": "Where the AUC is lost", "rows": rows}]}
    with new_file(OUT, overwrite=True) as partial:
        partial.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return a row for every distance between the ends of held-out edges."""
    split = read_split(path)
    fitted = EdgeProjection(goal="pairs", dim=128, seed=0).fit(split.train)
    edges, non_edges = (fitted.score(*pairs.T) for pairs in (split.test, split.test_negatives))
    far, far_non_edges = (
        distances(split.train, pairs) for pairs in (split.test, split.test_negatives)
    )
    rows = []
    for distance, words in DISTANCES.items():
        here = far == distance
        if here.any():
            auc = roc_auc(edges[here], non_edges)
            rows.append(
                {
                    "graph": path.name,
                    "distance of the ends": words,
                    "part of the held-out edges": here.mean(),
                    "part of the non-edges": (far_non_edges == distance).mean(),
                    "AUC": auc,
                    "takes off the AUC of all": here.mean() * (1 - auc),
                }
            )
            print(*rows[-1].values())
    return rows


def distances(graph: Graph, pairs: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how many edges apart the two nodes of each pair are, at most `FARTHEST`."""
    matrix = undirected_adjacency(graph)
    sources, rows = np.unique(pairs[:, 0], return_inverse=True)
    found = np.empty(len(pairs))
    for first in range(0, len(sources), SOURCES_AT_ONCE):
        some = (rows >= first) & (rows < first + SOURCES_AT_ONCE)
        lengths = dijkstra(
            matrix,
            unweighted=True,
            indices=sources[first : first + SOURCES_AT_ONCE],
            limit=FARTHEST - 1,
        )
        found[some] = lengths[rows[some] - first, pairs[some, 1]]
    return np.minimum(found, FARTHEST)


if __name__ == "__main__":
    main()
