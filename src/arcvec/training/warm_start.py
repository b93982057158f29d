"""Where a training begins that goes on from an earlier result: its vectors, matched by name."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import WalkSettings
from arcvec.training.settings import TrainSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class WarmStart:
    """The vectors of an earlier result, by the nodes of the graph to learn from.

    Attributes:
        rows: (num_nodes,) of each node its row in the earlier result; -1 of new ones.
    """

    earlier: EdgeEmbeddings
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, earlier: EdgeEmbeddings, graph: Graph, model: ModelSettings, dim: int) -> WarmStart:
        """Return the start of a training, or say why the earlier result does not fit it.

        Raises:
            ValueError: another dim, direction or kind of model, or no node of that name.
        """
        _require_same_kind(earlier, graph, model, dim)
        ids = earlier.nodes.find(graph.nodes)
        known = int((ids >= 0).sum())
        if not known:
            raise ValueError(
                "expected nodes of the graph in the earlier result, got none: the graph has "
                f"{graph.nodes[0]!r}, the result {earlier.nodes[0]!r}; write names alike, or "
                "begin without it"
            )
        logger.info(f"{known:,} nodes begin where they were, {len(ids) - known:,} are new")
        return cls(earlier, ids)

    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors to begin with, (num_nodes, dim); new nodes have the average."""
        one, known = self.earlier.weights is not None, self.rows >= 0
        sides = [self.earlier.target] if one else [self.earlier.source, self.earlier.target]
        old = np.concatenate(sides, axis=1, dtype=np.float32)[self.rows[known]]
        vectors = np.tile(old.mean(axis=0), (len(self.rows), 1))
        vectors[known] = old
        return vectors

    def walks(self, settings: WalkSettings) -> WalkSettings:
        """Return the walks with the window that the earlier training chose, if it may be chosen."""
        chosen = self.earlier.settings.get("window")
        if chosen not in settings.window:
            return settings
        return settings.model_copy(update={"window": (chosen,)})

    def penalty(self, settings: TrainSettings) -> TrainSettings:
        """Return the settings with the L2 penalty that the earlier training chose, if it chose."""
        chosen = self.earlier.settings.get("output_l2") if settings.stronger_l2 else None
        if chosen is None:
            return settings
        return settings.model_copy(update={"output_l2": chosen, "stronger_l2": ()})

    def training(self, settings: TrainSettings) -> TrainSettings:
        """Return how to go on: on all edges, with a learning rate that falls to zero.

        Nothing is held out: the earlier vectors were trained on most edges, so that an AUC on
        these would say little. The L2 penalty that the earlier training chose stays; the discount
        of low degrees is in its vectors.
        """
        return self.penalty(settings).on_all_edges()

    def describe(self) -> dict[str, Any]:
        """Return what the new result remembers of the earlier one."""
        settings, known = self.earlier.settings, int((self.rows >= 0).sum())
        names = ("arcvec_version", "method", "graph_fingerprint")
        return {
            **{name: settings.get(name) for name in names},
            "vectors": [self.earlier.fingerprint("source"), self.earlier.fingerprint("target")],
            "known_nodes": known,
            "new_nodes": len(self.rows) - known,
            "from": settings.get("from"),
        }


def _require_same_kind(
    earlier: EdgeEmbeddings, graph: Graph, model: ModelSettings, dim: int
) -> None:
    if earlier.dim != dim:
        raise ValueError(
            f"expected an earlier result of dim {dim}, got {earlier.dim}; pass --dim {earlier.dim}"
        )
    if earlier.directed != graph.directed:
        kinds = ["undirected", "directed"]
        raise ValueError(
            f"expected an earlier result of a graph that is {kinds[graph.directed]}, got one that "
            f"is {kinds[earlier.directed]}; read the edges as they were read then"
        )
    wanted = model.on(graph).kind
    two = wanted == "asymmetric"
    if two != (earlier.weights is None):
        counts = ["one vector for both sides", "a source and a target vector"]
        raise ValueError(
            f'expected an earlier result with {counts[two]} per node, as model.kind "{wanted}" '
            f"has, got {counts[not two]}; set --model.kind as it was then"
        )
