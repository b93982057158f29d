"""R-MAT: random graphs with a few hubs and many leaves, as large as asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arcvec.kernels.rmat import recursive_edges

# Parts of the edges in three quarters of the adjacency: hubs to hubs, hubs to leaves and back.
# The last quarter, leaves to leaves, has the rest.
_QUARTERS = (0.57, 0.19, 0.19)


def rmat_edges(
    scale: int, edges_per_node: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges of a random graph whose degrees are as uneven as those of social networks.

    Every edge falls into a quarter of the adjacency, then into a quarter of that quarter, down to
    one cell. Nodes are renamed at random at the end: else a small number would mean a hub, and hubs
    would stand side by side in memory.

    Args:
        scale: base-2 logarithm of the number of nodes, at most 31.
        edges_per_node: edges over nodes.

    Returns:
        sources and targets, each (edges_per_node * 2^scale,) int32. Some edges come more than once,
        some lead from a node to itself, and many nodes have none.
    """
    num_nodes = 1 << scale
    sources, targets = recursive_edges(scale, edges_per_node * num_nodes, *_QUARTERS, seed)
    names = np.random.default_rng(seed).permutation(num_nodes).astype(np.int32)
    return names[sources], names[targets]
