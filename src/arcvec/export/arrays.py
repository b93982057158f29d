"""The arrays that every format writes, in the precision asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings, Scores, Side
from arcvec.export.settings import ExportSettings
from arcvec.graph.names import NodeIds

BLOCK = 1 << 16
"""Nodes written at once, where a format allows it."""

FORMAT_VERSION = 1

SIDES: tuple[Side, ...] = ("source", "target")


class ExportedArrays:
    """Vectors of which the score is the inner product, and their scales, of all nodes or of some.

    Attributes:
        nodes: names of all nodes.
    """

    def __init__(self, embeddings: EdgeEmbeddings, settings: ExportSettings) -> None:
        self.nodes = embeddings.nodes
        self._embeddings, self._settings = embeddings, settings

    def blocks(self) -> Iterator[NodeIds]:
        """Yield the ids of all nodes, some at a time."""
        for start in range(0, len(self.nodes), BLOCK):
            yield np.arange(start, min(start + BLOCK, len(self.nodes)))

    def of(self, ids: NodeIds | None = None) -> dict[str, NDArray[Any]]:
        """Return what is written of some nodes, or of all, by name.

        Returns:
            `source` and `target`, or one of them, (n, width); of int8 `source_scale` and
            `target_scale` beside them, (n, 1) float32.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for side in SIDES:
            if self._settings.side in (side, "both"):
                vectors = self._embeddings.vectors(side, ids)
                if self._settings.equal_norms:
                    vectors = self._lengthened(side, vectors)
                arrays |= _rounded(side, vectors, self._settings.precision)
        return arrays

    def header(self) -> dict[str, Any]:
        """Return what is written beside the arrays: what they are and how they came about."""
        return {
            "format": "arcvec-vectors",
            "format_version": FORMAT_VERSION,
            "directed": self._embeddings.directed,
            **self._settings.model_dump(include={"side", "precision", "equal_norms"}),
            "result": dict(self._embeddings.settings),
        }

    def _lengthened(self, side: Side, vectors: Scores) -> Scores:
        missing = np.zeros(len(vectors))
        if side == "target":
            # What rounding leaves below zero is the longest vector itself.
            missing = np.sqrt(np.maximum(self._longest - _squared_norms(vectors), 0))
        return np.column_stack([vectors, missing]).astype(np.float32)

    @cached_property
    def _longest(self) -> float:
        """The largest squared norm of a target."""
        targets = (self._embeddings.vectors("target", ids) for ids in self.blocks())
        return max((float(_squared_norms(block).max()) for block in targets), default=0.0)


def _squared_norms(vectors: Scores) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return squares


def _rounded(side: Side, vectors: Scores, precision: str) -> dict[str, NDArray[Any]]:
    if precision == "float32":
        return {side: vectors}
    if precision == "float16":
        largest = np.finfo(np.float16).max
        if np.abs(vectors).max(initial=0) > largest:
            raise ValueError(
                f"expected numbers of at most {largest} for the precision float16, got larger "
                f"ones in {side}; float32 and int8 hold them"
            )
        return {side: vectors.astype(np.float16)}
    # A scale per node, not per coordinate: then errors are relative to a node's own vector, and
    # one hub does not coarsen all others. AUC is the same; more of the top 10 stays.
    scale = np.abs(vectors).max(axis=1, keepdims=True, initial=0) / np.float32(127)
    scale[scale == 0] = 1
    return {side: np.rint(vectors / scale).astype(np.int8), f"{side}_scale": scale}
