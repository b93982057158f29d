"""Non-edges of a graph, drawn uniformly and without repeats."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.blocks import EdgeArray, PairFile, blocks
from arcvec.graph.graph import Graph

# Repeats are looked for among this many pairs at a time, or, of very many pairs, in this many
# parts of them: each part is a pass over all.
_PAIRS_PER_PART = 1 << 18
_MOST_PARTS = 32


def draw_non_edges(graph: Graph, count: int, generator: np.random.Generator) -> EdgeArray:
    """Return `count` non-edges in random order, or all of them where there are fewer.

    A node with itself is never a non-edge. Undirected: each unordered pair is one non-edge, given
    with source < target. Directed: u -> v and v -> u are two, either may be drawn.
    """
    with put_aside_non_edges(graph, count, generator) as drawn:
        return drawn.read(slice(0, len(drawn)))


def put_aside_non_edges(
    graph: Graph, count: int, generator: np.random.Generator, folder: Path | None = None
) -> PairFile:
    """Return what `draw_non_edges` does, in a file of a folder rather than in memory."""
    num_nodes = graph.num_nodes
    num_pairs = num_nodes * (num_nodes - 1) // (1 if graph.directed else 2)
    # Past this density rejection would draw in vain; below it, at least one draw in two succeeds.
    if num_pairs > 4 * (graph.num_edges + count):
        return _draw_by_rejection(graph, count, generator, folder)
    codes = generator.permutation(_all_non_edges(graph))[:count]
    drawn = PairFile(folder)
    for block in blocks(codes.size):
        drawn.append(np.stack(np.divmod(codes[block], max(1, num_nodes)), axis=1))
    return drawn


def reversed_one_way_edges(graph: Graph) -> EdgeArray:
    """Return v -> u for every edge u -> v without it: the non-edges that tell direction."""
    return np.concatenate([np.empty((0, 2), np.int32), *reversed_one_way_blocks(graph)])


def reversed_one_way_blocks(graph: Graph) -> Iterator[EdgeArray]:
    """Yield the pairs of `reversed_one_way_edges` block by block."""
    is_returned = graph.is_returned
    for block in blocks(is_returned.size):
        yield turned_round(graph, block.start + np.flatnonzero(~is_returned[block]))


def turned_round(graph: Graph, entries: NDArray[np.int64]) -> EdgeArray:
    """Return the reverse of some entries of `graph.indices`: (p, 2)."""
    from arcvec.kernels.edges import sources_of_entries

    sources: NDArray[np.int32] = sources_of_entries(graph.indptr, entries)
    return np.stack([graph.indices[entries], sources], axis=1)


def _all_non_edges(graph: Graph) -> NDArray[np.int64]:
    """Return all non-edges, coded as source * num_nodes + target."""
    # Only for dense graphs: the square is then of the order of the number of edges.
    free = np.ones((graph.num_nodes, graph.num_nodes), dtype=np.bool_)
    np.fill_diagonal(free, False)
    free[graph.row_of_entry, graph.indices] = False
    return np.flatnonzero(free if graph.directed else np.triu(free))


def _draw_by_rejection(
    graph: Graph, count: int, generator: np.random.Generator, folder: Path | None
) -> PairFile:
    drawn = PairFile(folder)
    while len(drawn) < count:
        size = (count - len(drawn)) * 5 // 4 + 16
        for sources, targets in _random_pairs(graph.num_nodes, size, generator):
            if not graph.directed:
                sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
            free = ~graph.has_edges(sources, targets)
            drawn.append(np.stack([sources[free], targets[free]], axis=1))
        drawn = _without_repeats(drawn, graph.num_nodes)
    drawn.shorten(count)
    return drawn


def _random_pairs(
    num_nodes: int, size: int, generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield sources and targets of `size` pairs of two nodes, the same for any size of block."""
    # In the stream of random numbers all targets come after all sources: these are drawn twice
    # rather than kept.
    of_sources = copy.deepcopy(generator)
    for block in blocks(size):
        generator.integers(num_nodes, size=block.stop - block.start)
    for block in blocks(size):
        sources = of_sources.integers(num_nodes, size=block.stop - block.start)
        targets = generator.integers(num_nodes - 1, size=sources.size)
        targets += targets >= sources  # skips the source: all other nodes equally likely
        yield sources, targets


def _without_repeats(pairs: PairFile, num_nodes: int) -> PairFile:
    """Return each pair once, where it came first, so that cutting the end is fair."""
    kept = PairFile(pairs.folder)
    with pairs:
        repeats = _find_repeats(pairs, num_nodes)
        for block in blocks(len(pairs)):
            first, end = np.searchsorted(repeats, [block.start, block.stop])
            read = pairs.read(block)
            kept.append(np.delete(read, repeats[first:end] - block.start, axis=0))
    return kept


def _find_repeats(pairs: PairFile, num_nodes: int) -> NDArray[np.int64]:
    """Return the places of pairs that came before, ascending."""
    num_parts = min(_MOST_PARTS, 1 + len(pairs) // _PAIRS_PER_PART)
    found = []
    for part in range(num_parts):
        places, codes = _pairs_of_part(pairs, num_nodes, part, num_parts)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        found.append(places[order[1:][codes[1:] == codes[:-1]]])
    return np.sort(np.concatenate(found))


def _pairs_of_part(
    pairs: PairFile, num_nodes: int, part: int, num_parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of pairs whose target is of a part, and the pairs, one number each."""
    places, codes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in blocks(len(pairs)):
        read = pairs.read(block)
        chosen = np.flatnonzero(read[:, 1] % num_parts == part)
        places.append(block.start + chosen)
        codes.append(read[chosen, 0] * np.int64(num_nodes) + read[chosen, 1])
    return np.concatenate(places), np.concatenate(codes)
