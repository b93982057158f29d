"""How the models on the graph likelihood are begun, and what they are trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.methods.spectral import spectral_rows
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.objective import Objective
from arcvec.model.pass_through import hand_through, widened
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.sampling.batches import BatchStream
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.storage import ArrayOnDisk
from arcvec.training.degrees import DegreeTerms, with_degrees
from arcvec.training.settings import TrainSettings
from arcvec.training.state import TrainingState
from arcvec.training.threads import spare_threads
from arcvec.training.validation import Validation, choose_validation

_FEWEST_PAIRS = 1024
# Above so many nodes all members begin at the same vectors, which take minutes by then. Others that
# are as good would hardly differ, and the networks and the pairs of members do.
_START_OF_ITS_OWN = 1 << 18
Vectors: TypeAlias = NDArray[np.float32]


class SpectralStart:
    """The newest `spectral_rows`: the trials of a member all begin at the same.

    Args:
        make: gives rows of a graph, columns and a seed; by default `spectral_rows`.
    """

    def __init__(self, make: Callable[[Graph, int, int], Vectors] | None = None) -> None:
        self._make = make
        self._made_of: tuple[Graph, int, int] | None = None
        self._rows: ArrayOnDisk | None = None

    def rows(self, graph: Graph, columns: int, seed: int) -> Vectors:
        """Return rows of a graph to start a training from; of a large one the same for all seeds.

        Those of the last call are kept on disk, beside which a training has the memory for itself.
        """
        made_of = (graph, columns, 0 if graph.num_nodes > _START_OF_ITS_OWN else seed)
        if self._rows is not None and made_of == self._made_of:
            return self._rows.read()
        rows = (self._make or spectral_rows)(graph, columns, seed)
        self._made_of, self._rows = made_of, ArrayOnDisk(rows)
        return rows


@dataclass(frozen=True)
class TrainingPlan:
    """What `arcvec.training.course.Course` asks for, by the settings of a method.

    Attributes:
        graph: all there is to learn from; a training may see some of its edges only.
        dim: numbers per node of one member, both sides together.
        projections: of Eq. 5; 1 is the paper's main model.
        identity: what a checkpoint must agree with to be resumed.
        start: earlier vectors that the training goes on from, (num_nodes, numbers), and their
            weights if one vector serves both sides; None begins anew.
    """

    graph: Graph
    walks: WalkSettings
    negatives: NegativeSettings
    model: ModelSettings
    training: TrainSettings
    dim: int
    projections: int
    identity: dict[str, Any]
    start: tuple[Vectors, Vectors | None] | None = None
    spectral_start: SpectralStart = field(default_factory=SpectralStart)

    @property
    def windows(self) -> Sequence[int]:
        """Windows of the walks to choose from."""
        return self.walks.window

    def hold_out(self, seed: int) -> tuple[Graph, Validation | None]:
        """Return the graph to train on while the AUC is watched, and what it is watched on."""
        return choose_validation(self.graph, self.training, seed)

    def state(self, seen: Graph, seed: int, *, blank: bool = False) -> TrainingState:
        """Return the state before the first step, of the first window.

        Args:
            blank: with rows of zeros, for a checkpoint to fill: to make the others takes long.
        """
        device = choose_device(self.training.device)
        generator = torch.Generator().manual_seed(seed)
        chosen = self.model.on(seen) if self.projections == 1 else self.model
        columns = EdgeModel.table_dim(chosen, self.dim)
        earlier, scale = self.start or (None, None)
        if earlier is not None:
            chosen = widened(chosen, earlier.shape[1])
        model = EdgeModel(chosen, self.dim, generator, self.projections)
        if blank:
            rows = torch.zeros(seen.num_nodes, columns)
        elif chosen.start == "spectral":
            rows = torch.from_numpy(self.spectral_start.rows(seen, columns, seed))
        else:
            rows = NodeTable.random(seen.num_nodes, columns, generator).values
        if earlier is not None:
            vectors = torch.from_numpy(earlier)
            handed = hand_through(model, vectors, None if scale is None else torch.tensor(scale))
            # The symmetric shallow model has room for the vectors alone.
            rows = torch.cat([rows, handed], dim=1)[:, -EdgeModel.table_dim(chosen, self.dim) :]
        weights = None
        if self.model.statistics == "pairs":
            weights = torch.from_numpy(self.pairs_per_node()).to(device, torch.float32)
        table = NodeTable(rows.contiguous().to(device), weights)
        return TrainingState(
            model.to(device), table, self.training, self.identity, self.walks.window[0]
        )

    def pairs_per_node(self) -> NDArray[np.float64]:
        """Return how often a node occurs among all edges and as many random pairs."""
        graph = self.graph
        degrees: NDArray[np.float64] = (graph.out_degrees + graph.in_degrees).astype(np.float64)
        return degrees + float(degrees.mean())

    def stream(self, seen: Graph, seed: int, window: int) -> BatchStream:
        """Return the batches of a graph."""
        walks = self.walks.model_copy(update={"window": (window,)})
        return BatchStream(
            seen,
            walks,
            self.negatives,
            batch_pairs=self.batch_pairs,
            seed=seed,
            # Only where a core is left for them: else a step takes a fifth longer.
            threads=spare_threads(),
        )

    @property
    def batch_pairs(self) -> int:
        """Pairs of a step."""
        # Small graphs learn no more from more pairs: 8,192 a step do as well as 65,536 on a
        # thousand nodes with two to four thousand edges, in half the time.
        return min(self.training.batch_pairs, max(_FEWEST_PAIRS, 8 * self.graph.num_edges))

    def objective(self, seen: Graph) -> Objective:
        """Return what to minimise on a graph."""
        return Objective(self.negatives, self.reversed_label(seen))

    def reversed_label(self, seen: Graph) -> float:
        """Return how far a reversed one-way edge counts as an edge."""
        label = self.negatives.reversed_label
        return chance_of_return(seen.reciprocity) if label is None else label

    def with_degrees(self, sides: Sides, terms: DegreeTerms) -> Sides:
        """Return sides that have what degrees add in their scores."""
        return with_degrees(sides, self.graph, terms)


def chance_of_return(reciprocity: float) -> float:
    """Return how likely the reverse of a one-way edge is an edge that is not known yet.

    Where people link back, it is often the next edge. With as many edges to come as are known, the
    reverse of an edge is known, still to come or never there with the chances r, r and 1 - 2 r.

    >>> chance_of_return(0.25)
    0.3333333333333333
    """
    return reciprocity / (1 - reciprocity) if reciprocity < 0.5 else 1.0


def choose_device(name: str) -> str:
    """Return the device of a name, which may be "auto".

    Raises:
        ValueError: this machine has none of that name.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    known = name == "cpu" or (name.split(":")[0] == "cuda" and torch.cuda.is_available())
    if not known:
        raise ValueError(f'training.device "{name}" is not on this machine; use "auto" or "cpu"')
    return name


def describe_torch() -> str:
    """Return what trainings run on by default: threads and device."""
    device = choose_device("auto")
    name = torch.cuda.get_device_name() if device == "cuda" else device
    return f"{torch.get_num_threads()} threads, device {name}"
