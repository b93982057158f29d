"""Random graphs of any size with the degrees of real ones: R-MAT."""

from __future__ import annotations

import numpy as np

from arcvec.graph.names import NodeIds

# The chances that an edge lies in each quarter of the adjacency: both halves first, source second
# half alone, target second half alone. What is missing to 1 is the quarter of both second halves.
BOTH_FIRST, TARGET_SECOND, SOURCE_SECOND = 0.57, 0.19, 0.19


def rmat_edges(scale: int, edges_per_node: int, seed: int) -> tuple[NodeIds, NodeIds]:
    """Return sources and targets of random edges among 2 ** scale nodes.

    The adjacency is cut into quarters, one of which is drawn, that one is cut again, and so on
    down to a single cell. Few nodes get many edges; repeated edges and self-loops occur, and nodes
    without any. Ids are shuffled, so that they say nothing about degrees.

    Args:
        scale: from 1 to 30.
        edges_per_node: in the mean, repeats and self-loops included.

    Returns:
        two (edges_per_node * 2 ** scale,) int32 arrays.

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
