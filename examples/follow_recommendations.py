"""A follow graph in Parquet: whom everybody may want to follow next, and how likely it is.

python examples/follow_recommendations.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from arcvec import EdgeProjection, calibrate, read_edges, recommend, split_edges
from arcvec.storage.tables import write_table

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="arcvec-"))

# The file: who follows whom. Here everybody has two interests, and some are more interesting.
generator = np.random.default_rng(0)
interests = generator.integers(8, size=(500, 2))
shared = (interests[:, None, :, None] == interests[None, :, None, :]).any(axis=(2, 3))
likely = shared * generator.pareto(2, size=500)
follows = np.argwhere(generator.random((500, 500)) < 0.12 * likely)
rows = [(f"user{u}", f"user{v}") for u, v in follows if u != v]
columns = {"follower": "VARCHAR", "followed": "VARCHAR"}
write_table(folder / "follows.parquet", columns, rows, overwrite=True)

# Probabilities come out right if they are fitted to edges that the training has not seen.
graph = read_edges(folder / "follows.parquet", directed=True)
split = split_edges(graph, test_fraction=0.1, seed=0)
method = EdgeProjection(dim=16, seed=0, training={"steps": 60, "batch_pairs": 8192})
embeddings = method.fit(split.train)
calibration = calibrate(embeddings, graph, split.test)
print(f"probabilities are off by {calibration.error:.3f} on average")

# The five best of everybody, without those they follow already.
names, scores = recommend(embeddings, graph.nodes, k=5, exclude=graph)
probabilities = calibration.probabilities(scores, "density")
best = (
    (user, rank + 1, names[i, rank], float(scores[i, rank]), float(probabilities[i, rank]))
    for i, user in enumerate(graph.nodes)
    for rank in range(5)
)
columns = {"user": "VARCHAR", "rank": "INTEGER", "follow": "VARCHAR"}
columns |= {"score": "FLOAT", "probability": "FLOAT"}
write_table(folder / "recommendations.parquet", columns, best, overwrite=True)
print(f"{folder / 'recommendations.parquet'}: {5 * len(graph.nodes):,} rows")
