"""What vectors without training reach on held-out train edges: AUC for pairs, MRR within a source.

for name in wiki-vote soc-epinions ca-HepTh ca-AstroPh ppi soc-facebook; do
    arcvec split ../shared/data/splits/$name -o out/train-splits/$name --test-fraction 0.2
done
python scripts/quick_vectors.py out/train-splits results/benchmarks/quick_vectors.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.split import read_split
from arcvec.training.quick import LandmarkProfiles, SpectralSketch

DIMS = (32, 128)


def main() -> None:
    """Measure both methods on every split of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("splits", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for folder in sorted(arguments.splits.iterdir()):
        split = read_split(folder)
        methods = [SpectralSketch] if split.train.directed else [SpectralSketch, LandmarkProfiles]
        for method in methods:
            row: dict[str, object] = {"graph": folder.name, "method": method.__name__}
            for dim in DIMS:
                report = link_prediction(method(dim=dim).fit(split.train), split)
                row |= {f"AUC, {dim}": report.auc, f"MRR, {dim}": report.mrr}
            rows.append(row)
    command = "python scripts/quick_vectors.py"
    tables = [{"title": "Vectors without training", "rows": rows}]
    arguments.out.write_text(json.dumps({"command": command, "tables": tables}, indent=2) + "\n")


if __name__ == "__main__":
    main()
