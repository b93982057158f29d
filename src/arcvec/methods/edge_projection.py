"""arcvec's own method: projections of a shared network, trained on the graph likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from arcvec.embeddings import EdgeEmbeddings, ProjectionMixture
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method
from arcvec.methods.record import describe_fit
from arcvec.model.settings import ModelSettings
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.settings import TrainSettings

if TYPE_CHECKING:
    from arcvec.training.loop import Hooks
    from arcvec.training.state import TrainingState
    from arcvec.training.validation import Validation


class TrainedMethod(Method):
    """What all models on the graph likelihood share: their settings, and the training."""

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, lt=1 << 63, description="decides every random choice")
    walks: WalkSettings = WalkSettings()
    negatives: NegativeSettings = NegativeSettings()
    model: ModelSettings = ModelSettings()
    training: TrainSettings = TrainSettings()

    def _train(
        self, name: str, graph: Graph, hooks: Hooks | None, projections: int = 1
    ) -> TrainingState:
        # torch and numba take a second to import: only a fit needs them.
        from arcvec.model.objective import Objective
        from arcvec.sampling.batches import BatchStream
        from arcvec.training.loop import Hooks, train
        from arcvec.training.validation import choose_validation

        _require_edges(graph)
        hooks = hooks or Hooks()
        state = self._initial_state(name, graph, projections)
        if hooks.resume and hooks.checkpoint:
            state.restore(hooks.checkpoint)

        def train_on(seen: Graph, validation: Validation | None) -> None:
            stream = BatchStream(
                seen,
                self.walks,
                self.negatives,
                batch_pairs=self.training.batch_pairs,
                seed=self.seed,
            )
            label = self.negatives.reversed_label
            if label is None:
                # Where people link back, the reverse of an edge is often the next edge.
                label = seen.reciprocity
            objective = Objective(self.negatives, label)
            train(state, stream, objective, self.training, validation=validation, hooks=hooks)

        if not state.settling:
            watched = choose_validation(graph, self.training, self.seed)
            train_on(*watched)
            while (output_l2 := state.next_l2(self.training)) is not None:
                best, trial = state.keep_better(), state.trial + 1
                state = self._initial_state(name, graph, projections)
                state.output_l2, state.trial, state.kept = output_l2, trial, best
                train_on(*watched)
            state = state.keep_better()
            if self.training.settle:
                state.settle(self.training)
        if state.settling:
            train_on(graph, None)
        return state

    def _initial_state(self, name: str, graph: Graph, projections: int) -> TrainingState:
        import torch

        from arcvec.model.edge_model import EdgeModel, NodeTable
        from arcvec.training.state import TrainingState

        device = _choose_device(self.training.device)
        generator = torch.Generator().manual_seed(self.seed)
        chosen = self.model.on(graph) if projections == 1 else self.model
        model = EdgeModel(chosen, self.dim, generator, projections).to(device)
        node_dim = EdgeModel.table_dim(chosen, self.dim)
        rows = NodeTable.random(graph.num_nodes, node_dim, generator).values.to(device)
        weights = None
        if self.model.statistics == "pairs":
            weights = torch.from_numpy(_pairs_per_node(graph)).to(rows)
        table = NodeTable(rows, weights)
        return TrainingState(model, table, self.training, describe_fit(name, self, graph))


class EdgeProjection(TrainedMethod):
    """Learns a source and a target vector of every node.

    >>> cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> embeddings = EdgeProjection(dim=8, seed=0, training=TrainSettings(steps=5)).fit(cycle)
    >>> embeddings
    EdgeEmbeddings(4 nodes, dim 8, directed)
    """

    def fit(self, graph: Graph, hooks: Hooks | None = None) -> EdgeEmbeddings:
        """Return the vectors of all nodes of `graph`.

        Symmetric and tied models have one vector of `dim` numbers per node for both ends.

        Args:
            hooks: progress reports, checkpoints, a way to stop; see `arcvec.training.loop.Hooks`.

        Raises:
            ValueError: the graph has no edge between two different nodes.
        """
        state = self._train("edge-projection", graph, hooks)
        sides = state.result()
        if sides.scale is not None:
            # Vectors that carry the size of their weights: a norm says how much a node counts.
            return EdgeEmbeddings.one_vector(
                (sides.target * sides.scale.abs().sqrt()).cpu().numpy(),
                sides.scale.sign().cpu().numpy(),
                graph.nodes,
                directed=graph.directed,
                settings=_provenance(state),
            )
        return EdgeEmbeddings(
            sides.source.cpu().numpy(),
            sides.target.cpu().numpy(),
            graph.nodes,
            graph.directed,
            _provenance(state),
        )


class MixedProjections(TrainedMethod):
    """Several projections that share `dim`, mixed by Eq. 5; the scores are no inner products."""

    projections: int = Field(4, ge=2, description="low-rank projections (the paper's h)")

    @model_validator(mode="after")
    def _projections_share_dim(self) -> MixedProjections:
        if self.model.kind in ("symmetric", "tied"):
            raise ValueError('several projections need model.kind "asymmetric"')
        if self.dim % (2 * self.projections):
            raise ValueError(
                f"expected dim to be a multiple of {2 * self.projections}, two numbers for each of "
                f"{self.projections} projections, got {self.dim}"
            )
        return self

    def fit(self, graph: Graph, hooks: Hooks | None = None) -> ProjectionMixture:
        """Return the vectors of all nodes under every projection, and how to mix them."""
        state = self._train("mixed-projections", graph, hooks, self.projections)
        sides = state.result()
        assert sides.mixture is not None
        return ProjectionMixture(
            sides.by_projection(sides.source).cpu().numpy(),
            sides.by_projection(sides.target).cpu().numpy(),
            sides.mixture.cpu().numpy(),
            graph.nodes,
            _provenance(state),
        )


def _provenance(state: TrainingState) -> dict[str, Any]:
    spread = state.result().spread
    return {
        **state.identity,
        "steps_done": state.step,
        "validation_auc": state.best_auc,
        "output_l2": state.output_l2,
        "norm_std": None if spread is None else spread.item(),
        "history": state.history.as_dict(),
    }


def _pairs_per_node(graph: Graph) -> NDArray[np.float64]:
    """Return how often a node occurs among all edges and as many random pairs."""
    degrees: NDArray[np.float64] = (graph.out_degrees + graph.in_degrees).astype(np.float64)
    return degrees + float(degrees.mean())


def _require_edges(graph: Graph) -> None:
    if graph.num_nodes < 2 or graph.num_edges == graph.num_self_loops:
        raise ValueError(
            "expected a graph with an edge between two different nodes, got "
            f"{graph.num_nodes:,} nodes and {graph.num_edges:,} edges "
            f"({graph.num_self_loops:,} self-loops); there is nothing to learn from"
        )


def _choose_device(name: str) -> str:
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    known = name == "cpu" or (name.split(":")[0] == "cuda" and torch.cuda.is_available())
    if not known:
        raise ValueError(f'training.device "{name}" is not on this machine; use "auto" or "cpu"')
    return name
