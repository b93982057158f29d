"""arcvec's own method: low-rank asymmetric projections trained on the graph likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from arcvec import __version__
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.settings import TrainSettings

if TYPE_CHECKING:
    from arcvec.training.loop import Hooks


class EdgeProjection(Method):
    """Learns a source and a target vector of every node.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> embeddings = EdgeProjection(dim=8, seed=0, training=TrainSettings(steps=5)).fit(cycle)
    >>> embeddings
    EdgeEmbeddings(4 nodes, dim 8, directed)
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides every random choice")
    walks: WalkSettings = WalkSettings()
    negatives: NegativeSettings = NegativeSettings()
    model: ModelSettings = ModelSettings()
    training: TrainSettings = TrainSettings()

    def fit(self, graph: Graph, hooks: Hooks | None = None) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.loop.Hooks`.

        Raises:
            ValueError: the graph has no edge between two different nodes.
        """
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.model.objective import Objective
        from arcvec.sampling.batches import BatchStream
        from arcvec.training.loop import Hooks, train
        from arcvec.training.validation import hold_out

        _require_edges(graph)
        hooks = hooks or Hooks()
        seen, validation = hold_out(graph, self.training.validation_fraction, self.seed)
        stream = BatchStream(
            seen,
            self.walks,
            self.negatives,
            batch_pairs=self.training.batch_pairs,
            seed=self.seed,
        )
        # Where people link back, the reverse of an edge is often the next edge: it counts as one
        # as far as the training graph says so.
        objective = Objective(
            self.negatives, reversed_label=seen.reciprocity, output_l2=self.training.output_l2
        )
        state = self._initial_state(graph)
        if hooks.resume and hooks.checkpoint:
            state.restore(hooks.checkpoint)
        train(state, stream, objective, self.training, validation=validation, hooks=hooks)
        source, target = state.vectors()
        return EdgeEmbeddings(
            source,
            target,
            graph.nodes,
            directed=graph.directed,
            settings={
                "arcvec_version": __version__,
                "method": "edge-projection",
                **state.identity,
                "steps_done": state.step,
                "validation_auc": state.best_auc,
            },
        )

    def _initial_state(self, graph: Graph) -> Any:
        import torch

        from arcvec.model.edge_model import EdgeModel, NodeTable
        from arcvec.training.state import TrainingState

        device = _choose_device(self.training.device)
        generator = torch.Generator().manual_seed(self.seed)
        model = EdgeModel(self.model, self.dim, generator).to(device)
        table = NodeTable.random(graph.num_nodes, self.model.node_dim, generator)
        table.values = table.values.to(device)
        identity = {
            "seed": self.seed,
            "settings": self.model_dump(mode="json", exclude={"seed"}),
            "graph_fingerprint": graph.fingerprint,
        }
        return TrainingState(model, table, self.training, identity)


def _require_edges(graph: Graph) -> None:
    if graph.num_nodes < 2 or graph.num_edges == graph.num_self_loops:
        raise ValueError(
            "expected a graph with an edge between two different nodes, got "
            f"{graph.num_nodes:,} nodes and {graph.num_edges:,} edges "
            f"({graph.num_self_loops:,} self-loops); there is nothing to learn from"
        )


def _choose_device(name: str) -> str:
    import torch

    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"
