"""Non-edges of a graph, drawn uniformly and without repeats."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.storage.arrays import ArrayOnDisk, blocks, open_binary

# Repeats are searched in parts of about this many pairs; each part is a pass over all pairs.
_PAIRS_PER_PART = 1 << 18
_MAX_PARTS = 32


def draw_non_edges(graph: Graph, count: int, generator: np.random.Generator) -> EdgeArray:
    """Return `count` non-edges in random order, or all of them if there are fewer.

    A node with itself is never a non-edge. Undirected: each unordered pair is one non-edge, given
    with source < target. Directed: u -> v and v -> u are two, either may be drawn.
    """
    with put_aside_non_edges(graph, count, generator) as drawn:
        return drawn.read()


def put_aside_non_edges(
    graph: Graph, count: int, generator: np.random.Generator, folder: Path | None = None
) -> ArrayOnDisk:
    """Return the pairs of `draw_non_edges` in an unnamed file of a folder, by default in memory."""
    num_nodes = graph.num_nodes
    num_pairs = num_nodes * (num_nodes - 1) // (1 if graph.directed else 2)
    # In denser graphs rejection would draw mostly in vain; here at least one draw in two succeeds.
    if num_pairs > 4 * (graph.num_edges + count):
        return _draw_by_rejection(graph, count, generator, folder)
    free = np.ones((num_nodes, num_nodes), dtype=np.bool_)
    np.fill_diagonal(free, False)
    free[graph.row_of_entry, graph.indices] = False
    codes = generator.permutation(np.flatnonzero(free if graph.directed else np.triu(free)))[:count]
    drawn = _pair_file(folder)
    for block in blocks(codes.size):
        drawn.append(np.stack(np.divmod(codes[block], max(1, num_nodes)), axis=1))
    return drawn


def reversed_one_way_blocks(graph: Graph) -> Iterator[EdgeArray]:
    """Yield v -> u for every edge u -> v without it, block by block: non-edges of direction."""
    for block in blocks(graph.indices.size):
        reverse = reverse_edges(graph, np.arange(block.start, block.stop))
        yield reverse[~graph.has_edges(*reverse.T)]


def reverse_edges(graph: Graph, entries: NDArray[np.int64]) -> EdgeArray:
    """Return the reverse of some entries of `graph.indices`: (p, 2)."""
    return np.stack([graph.indices[entries], graph.sources_of(entries)], axis=1)


def _pair_file(folder: Path | None) -> ArrayOnDisk:
    return ArrayOnDisk(open_binary(folder), np.int32, (2,))


def _draw_by_rejection(
    graph: Graph, count: int, generator: np.random.Generator, folder: Path | None
) -> ArrayOnDisk:
    drawn, num_nodes = _pair_file(folder), graph.num_nodes
    while len(drawn) < count:
        lengths = [block.stop - block.start for block in blocks((count - len(drawn)) * 5 // 4 + 16)]
        # In the stream of random numbers all sources come before all targets, so that blocks of
        # any size give the same pairs. Sources are drawn twice instead of being stored.
        of_sources = copy.deepcopy(generator)
        for length in lengths:
            generator.integers(num_nodes, size=length)
        for length in lengths:
            sources = of_sources.integers(num_nodes, size=length)
            targets = generator.integers(num_nodes - 1, size=length)
            targets += targets >= sources  # skips the source: all other nodes equally likely
            if not graph.directed:
                sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
            free = ~graph.has_edges(sources, targets)
            drawn.append(np.stack([sources[free], targets[free]], axis=1))
        drawn = _without_repeats(drawn, num_nodes, folder)
    drawn.truncate(count)
    return drawn


def _without_repeats(pairs: ArrayOnDisk, num_nodes: int, folder: Path | None) -> ArrayOnDisk:
    """Return each pair once, at its first position, so that truncating stays fair."""
    is_first = np.zeros(len(pairs), dtype=np.bool_)
    num_parts = min(_MAX_PARTS, 1 + len(pairs) // _PAIRS_PER_PART)
    for part in range(num_parts):
        positions, codes = [], []
        for block in blocks(len(pairs)):
            some = pairs.read(block)
            chosen = np.flatnonzero(some[:, 1] % num_parts == part)
            positions.append(block.start + chosen)
            codes.append(some[chosen, 0] * np.int64(num_nodes) + some[chosen, 1])
        _, first = np.unique(np.concatenate(codes), return_index=True)
        is_first[np.concatenate(positions)[first]] = True
    kept = _pair_file(folder)
    with pairs:
        for block in blocks(len(pairs)):
            kept.append(pairs.read(block)[is_first[block]])
    return kept
