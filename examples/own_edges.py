"""An edge list of your own: from a text file to vectors and honest numbers.

python examples/own_edges.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from arcvec import (
    DegreeProduct,
    EdgeProjection,
    link_prediction,
    read_edges,
    split_edges,
    write_report,
)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="arcvec-"))

# The file: who cites whom, one edge a line. Here papers cite earlier ones, mostly of their field.
generator = np.random.default_rng(0)
fields = generator.integers(6, size=400)
lines = []
for paper in range(20, 400):
    likely = np.where(fields[:paper] == fields[paper], 1.0, 0.02) / (1 + np.arange(paper)) ** 0.3
    for cited in generator.choice(paper, size=8, replace=False, p=likely / likely.sum()):
        lines.append(f"paper{paper} paper{cited}")
(folder / "citations.txt").write_text("\n".join(lines) + "\n")

# A fifth of the edges is hidden before anything is learned, and measured on in the end.
graph = read_edges(folder / "citations.txt", directed=True)
split = split_edges(graph, test_fraction=0.2, seed=0)

# Small settings, so that this ends in seconds; EdgeProjection(dim=32) is the better start.
method = EdgeProjection(dim=16, seed=0, training={"steps": 60, "batch_pairs": 8192})
embeddings = method.fit(split.train)
embeddings.save(folder / "result", overwrite=True)

# A number alone says little: beside it stands what degrees know without any learning.
for name, scorer in (("arcvec", embeddings), ("degrees", DegreeProduct().fit(split.train))):
    found = link_prediction(scorer, split)
    print(f"{name:8} AUC {found.auc:.3f}, recall@10 {found.by_source['recall@10']:.3f}")

write_report(embeddings, split, folder / "report.html", title="Citations", overwrite=True)
print(f"{folder / 'report.html'} has it all in one page")
