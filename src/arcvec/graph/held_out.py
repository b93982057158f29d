"""Which edges of a graph are held out, so that the others connect what all of them did."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.blocks import blocks, scratch_array
from arcvec.graph.graph import Graph

EdgePlaces: TypeAlias = NDArray[np.integer]
"""Places in the order of `Graph.edges`: uint32 where that is enough."""

logger = logging.getLogger(__name__)


def draw_held_out(
    graph: Graph,
    test_fraction: float,
    validation_fraction: float,
    seed: int,
    folder: Path | None = None,
) -> tuple[EdgePlaces, EdgePlaces]:
    """Return which edges are test and which validation, none of them in a spanning forest.

    Memory: a byte for each edge and, unless a folder is given to keep them in, a place.
    """
    _check_fractions(test_fraction, validation_fraction)
    if seed < 0:
        raise ValueError(f"expected a seed of at least 0, got {seed}")
    generator = np.random.default_rng([seed, 0])
    is_free = ~_random_forest(graph, generator, folder)
    # A fresh permutation: in that of the forest, edges outside of it tend to come late.
    free = shuffled_places(is_free, generator, folder)
    num_edges = graph.num_edges
    num_test, num_validation = sizes_that_fit(
        [round(test_fraction * num_edges), round(validation_fraction * num_edges)],
        free.size,
        "edges outside a spanning forest",
    )
    if num_test == 0 or (validation_fraction > 0 and num_validation == 0):
        raise ValueError(
            f"expected a graph large enough to hold out edges, got {num_edges} edges of which "
            f"{free.size} may leave without disconnecting train"
        )
    return free[:num_test], free[num_test : num_test + num_validation]


def _check_fractions(test_fraction: float, validation_fraction: float) -> None:
    if not 0 < test_fraction < 1:
        raise ValueError(f"expected test_fraction in (0, 1), got {test_fraction}")
    if not 0 <= validation_fraction < 1 - test_fraction:
        raise ValueError(
            f"expected validation_fraction in [0, 1 - test_fraction), got {validation_fraction}; "
            "train needs edges too"
        )


def _random_forest(
    graph: Graph, generator: np.random.Generator, folder: Path | None
) -> NDArray[np.bool_]:
    """Tell of each edge whether it is in a random spanning forest."""
    from arcvec.kernels.forest import grow_forest

    in_forest = np.zeros(graph.num_edges, dtype=np.bool_)
    order = shuffled_places(~in_forest, generator, folder)
    parents = np.arange(graph.num_nodes, dtype=np.int32)
    sizes = np.ones(graph.num_nodes, dtype=np.int32)
    for block in blocks(order.size):
        sources, targets = graph.edges_at(order[block])
        in_forest[order[block]] = grow_forest(parents, sizes, sources, targets)
    return in_forest


def shuffled_places(
    mask: NDArray[np.bool_], generator: np.random.Generator, folder: Path | None = None
) -> NDArray[Any]:
    """Return the places where a mask is true, in random order.

    It is the order that `generator.permutation(np.flatnonzero(mask))` gives, in half the bytes.
    """
    dtype = np.uint32 if mask.size <= np.iinfo(np.uint32).max else np.int64
    places = scratch_array(int(mask.sum()), dtype, folder)
    filled = 0
    for found in true_places(mask):
        places[filled : filled + found.size] = found
        filled += found.size
    generator.shuffle(places)
    return places


def true_places(mask: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield the places where a mask is true, ascending, block by block."""
    for block in blocks(mask.size):
        yield block.start + np.flatnonzero(mask[block])


def sizes_that_fit(asked: list[int], available: int, what: str) -> list[int]:
    """Return the sizes asked for, scaled down in proportion where they exceed what there is."""
    if sum(asked) <= available:
        return asked
    logger.warning(
        "asked for %d %s, the graph has %d: taking them all", sum(asked), what, available
    )
    bounds = np.cumsum([0, *asked]) * available // sum(asked)
    return [int(size) for size in np.diff(bounds)]
