"""Random graphs of any size with the degrees of real ones: R-MAT."""

from __future__ import annotations

import numpy as np

from arcvec.graph.names import NodeIds

# Probabilities that both ends of an edge are in the first half of the nodes, that only the target
# is in the second, and that only the source is. The rest up to 1: both are in the second half.
BOTH_FIRST, TARGET_SECOND, SOURCE_SECOND = 0.57, 0.19, 0.19


def rmat_edges(scale: int, edges_per_node: int, seed: int) -> tuple[NodeIds, NodeIds]:
    """Return sources and targets of random edges among 2 ** scale nodes.

    Quarters of the adjacency are drawn recursively, down to a single entry: few nodes get many
    edges. Repeated edges, self-loops and isolated nodes occur. Ids are shuffled.

    >>> sources, targets = rmat_edges(scale=4, edges_per_node=2, seed=0)
    >>> sources.shape, bool((targets < 16).all())
    ((32,), True)
    """
    if not 1 <= scale <= 30:
        raise ValueError(f"expected a scale from 1 to 30, got {scale}")
    generator = np.random.default_rng(seed)
    num_edges = edges_per_node << scale
    sources, targets = np.zeros((2, num_edges), dtype=np.int32)
    for _ in range(scale):
        drawn = generator.random(num_edges, dtype=np.float32)
        second_source = drawn >= BOTH_FIRST + TARGET_SECOND
        second_target = (drawn >= BOTH_FIRST) & ~second_source
        second_target |= drawn >= BOTH_FIRST + TARGET_SECOND + SOURCE_SECOND
        for ids, second in ((sources, second_source), (targets, second_target)):
            ids <<= 1
            ids += second
    new_ids = generator.permutation(1 << scale).astype(np.int32)
    return new_ids[sources], new_ids[targets]
