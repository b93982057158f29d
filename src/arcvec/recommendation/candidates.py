"""Which nodes may be recommended to which: filters by node, and edges that are known already."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeIds, NodeNames

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["targets", "sources"]
"""Whom a node would link to, or who would link to it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that may be recommended at all, and those that a node is not offered.

    Attributes:
        ids: (c,) int32, ascending.
        known: graph whose row of a node holds what it is not offered; a node is never offered
            itself in any case.
    """

    ids: NDArray[np.int32]
    known: Graph

    @classmethod
    def of(
        cls,
        nodes: NodeNames,
        direction: Direction,
        *,
        exclude: Graph | None = None,
        only: NodeIds | None = None,
        without: NodeIds | None = None,
    ) -> Candidates:
        """Return the candidates among `nodes` that pass all filters.

        >>> nodes = NodeNames.from_strings("abcd")
        >>> Candidates.of(nodes, "targets", only=np.array([3, 1, 0]), without=np.array([1])).ids
        array([0, 3], dtype=int32)

        Args:
            exclude: graph whose edges are known already; nodes are matched by name.
            only: ids of the nodes that may be recommended; all by default.
            without: ids of nodes that may not.
        """
        if direction not in ("targets", "sources"):
            raise ValueError(f'expected direction "targets" or "sources", got {direction!r}')
        allowed = np.full(len(nodes), only is None)
        for ids, may in ((only, True), (without, False)):
            if ids is not None:
                allowed[_checked(ids, len(nodes))] = may
        return cls(
            np.flatnonzero(allowed).astype(np.int32), _known_edges(exclude, nodes, direction)
        )

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """(num_nodes,), whether a node may be recommended at all."""
        mask = np.zeros(self.known.num_nodes, dtype=np.bool_)
        mask[self.ids] = True
        return mask


def read_names(path: Path | None) -> list[str] | None:
    r"""Return the names in a file, one a line; empty lines are passed over.

    As in a `nodes.txt`, a line break in a name is written \\n and a backslash \\\\.

    Args:
        path: None gives None.

    Raises:
        ValueError: the file has no name in it, or is not text.
    """
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, one name a line: {error}") from None
    text = "".join(f"{line}\n" for line in lines if line)
    if not text:
        raise ValueError(f"{path}: expected names of nodes, one a line, got none")
    return list(NodeNames(np.frombuffer(text.encode(), dtype=np.uint8)))


def known_ids(nodes: NodeNames, names: Iterable[object] | None, what: str) -> NodeIds | None:
    """Return the ids of those names that are nodes; how many are not is logged.

    A list of goods in stock, or of people blocked, may well name some that no graph has seen.

    Args:
        names: None gives None.
        what: where the names come from, for messages.
    """
    if names is None:
        return None
    asked = list(map(str, names))
    there = [name for name in asked if name in nodes]
    if len(there) < len(asked):
        logger.info("%s: %d of %d names are no nodes", what, len(asked) - len(there), len(asked))
    return nodes.ids(there)


def only_ids(nodes: NodeNames, names: Iterable[object] | None, what: str) -> NodeIds | None:
    """Return what `known_ids` does, of a list that would leave nothing if no name were known.

    Raises:
        ValueError: there are names, and all are unknown.
    """
    asked = None if names is None else list(names)
    ids = known_ids(nodes, asked, what)
    if asked and ids is not None and not ids.size:
        raise ValueError(
            f"{what}: expected names of nodes, got {len(asked):,} names that are none, such as "
            f"{str(asked[0])!r}; nodes are called {', '.join(map(repr, nodes[:3]))}, ..."
        )
    return ids


def _checked(ids: NodeIds, num_nodes: int) -> NodeIds:
    ids = np.asarray(ids, dtype=np.int64)
    outside = ids[(ids < 0) | (ids >= num_nodes)]
    if outside.size:
        raise ValueError(f"expected node ids from 0 to {num_nodes - 1}, got {outside[0]}")
    return ids


def _known_edges(exclude: Graph | None, nodes: NodeNames, direction: Direction) -> Graph:
    """Return a graph over `nodes` whose rows hold what each node shall not be offered."""
    if exclude is None:
        return Graph.from_edges([], [], nodes=nodes)
    exclude = exclude.over(nodes)
    return exclude if direction == "targets" else exclude.transposed
