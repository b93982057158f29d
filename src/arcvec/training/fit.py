"""The recipe of a fit of the likelihood: hold out, train, let degrees add their part, average.

Each finished part is a snapshot of the checkpoint, so that a resumed fit runs the same recipe and
finds what is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from arcvec.graph.graph import Graph
from arcvec.model.objective import Objective
from arcvec.model.settings import ModelSettings
from arcvec.model.sides import Sides
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.shared import graphs_folder
from arcvec.parallel.threads import spare_threads
from arcvec.sampling.batches import BatchStream
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.storage.arrays import release_memory
from arcvec.training.average import Averaged, average
from arcvec.training.checkpoint import Checkpoint, Snapshot
from arcvec.training.degrees import DegreeTerms, fit_terms
from arcvec.training.hooks import Hooks
from arcvec.training.settings import TrainSettings
from arcvec.training.start import Start, choose_device
from arcvec.training.trainer import Status, Trainer
from arcvec.training.validation import Validation, choose_validation

_MIN_BATCH_PAIRS, _BATCH_PAIRS_PER_EDGE = 1024, 8


@dataclass(frozen=True, eq=False)
class Member:
    """What is kept of a training that is done.

    Attributes:
        sides: of this worker's nodes.
        watched: sides that have not seen the held-out edges; None without any.
    """

    sides: Sides
    status: Status
    watched: Sides | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit learned.

    Attributes:
        terms: what degrees add to the mean of the members' scores.
        auc: of all members together on held-out edges, degrees included; None if not measured.
        parts, weights: of the score of this worker's nodes: the members, and the terms.
    """

    members: list[Member]
    terms: DegreeTerms
    auc: float | None
    parts: list[Sides]
    weights: list[float]

    def vectors(self, dim: int, workers: Alone) -> Averaged:
        """Return the score as vectors of dim numbers per node; see `average`."""
        return average(self.parts, self.weights, dim, workers)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit of one or more members on a graph, by one process or by one of many workers.

    Attributes:
        dim: numbers per node of one member, both sides together.
        projections: of Eq. 5; 1 is the paper's main model.
        seeds: one for each member.
        identity: what a checkpoint must agree with to be resumed.
    """

    graph: Graph
    walks: WalkSettings
    negatives: NegativeSettings
    model: ModelSettings
    training: TrainSettings
    dim: int
    projections: int
    seeds: Sequence[int]
    identity: dict[str, Any]
    hooks: Hooks
    workers: Alone

    def run(self) -> Learned:
        """Return what was learned; the parts that a checkpoint has are not trained again."""
        # 1. Hold out some edges, which tell when to stop (`_held_out`, made when needed).
        # 2. Train the members, each from a seed of its own: first on the edges that are not held
        #    out, until the AUC no longer rises, then on all edges, for as long.
        members = [self._member(index) for index in range(len(self.seeds))]
        # 3. Add to the mean of their scores what degrees say about the held-out edges.
        terms, auc = self._degree_terms(members)
        # 4. Average: `Learned.vectors`.
        parts = self.parts_of([member.sides for member in members], terms, self.graph)
        return Learned(members, terms, auc, *parts)

    def parts_of(
        self, sides: list[Sides], terms: DegreeTerms, graph: Graph
    ) -> tuple[list[Sides], list[float]]:
        """Return the parts of a score, and their weights: members in the mean, and terms."""
        weights = [1 / len(sides)] * len(sides)
        if not terms:
            return sides, weights
        numbers = torch.from_numpy(terms.of_nodes(graph)[self.own_nodes]).to(sides[0].source.device)
        both_ends = Sides.of_terms(numbers, one_vector=sides[0].scale is not None)
        return [*sides, both_ends], [*weights, 1.0]

    @property
    def seen(self) -> Graph:
        """The graph without the edges held out."""
        return self._held_out[0]

    @property
    def validation(self) -> Validation | None:
        """What held-out edges are measured by; None without any."""
        return self._held_out[1]

    @property
    def own_nodes(self) -> NDArray[np.int64]:
        """The nodes of this worker, row by row."""
        return self._partition.nodes_of(self.workers.rank)

    @cached_property
    def _held_out(self) -> tuple[Graph, Validation | None]:
        """The graph without the edges held out, and what the AUC is measured on."""
        kept = self.hooks.checkpoint
        folder = kept and graphs_folder(kept) / "seen"
        return choose_validation(self.graph, self.training, self.seeds[0], self.workers, folder)

    def _member(self, index: int) -> Member:
        """Return a member, trained to its end."""
        name = f"member-{index}"
        kept = self.checkpoint.load(name)
        if kept is None:
            trainer = self._trainer(name, index)
            if not trainer.status.is_settling:
                self._train(trainer, name, index)
                if self.training.settle:
                    trainer.watched = trainer.result() if self.validation else None
                    trainer.settle()
            if trainer.status.is_settling:
                self._train(trainer, name, index)
            kept = Snapshot.of(
                {"result": trainer.result(), "watched": trainer.watched}, trainer.snapshot().state
            )
            self.checkpoint.save(name, kept)
        sides, watched = kept.sides("result"), kept.sides("watched")
        assert sides is not None
        if self.validation and not self.training.settle:
            watched = sides  # as they were at their best
        return Member(sides, Status.from_dict(kept.state["status"]), watched)

    def _degree_terms(self, members: list[Member]) -> tuple[DegreeTerms, float | None]:
        """Return what degrees add, and the AUC with it; single members would ask for more."""
        seen, validation = self._held_out
        watched = [member.watched for member in members if member.watched is not None]
        if not watched or validation is None or not self.training.finds_discount:
            return DegreeTerms(self.training.degree_discount or 0.0), None
        release_memory()
        scores = [validation.scores(sides) for sides in watched]
        return fit_terms(torch.stack(scores).mean(dim=0).cpu().numpy(), seen, validation)

    def _trainer(self, name: str, index: int) -> Trainer:
        """Return the training of a member: where the checkpoint left it, or fresh."""
        kept, settings = self._running, self.training
        if kept is not None and kept.state["stage"] != name:
            kept = None
        blank = kept is not None
        made = self._start.make(self.seen, self.seeds[index], blank=blank)
        end = settings.steps - round(settings.steps * settings.settle)
        trainer = Trainer(*made, settings, Status(end), self.workers)
        if kept is not None:
            trainer.restore(kept)
        return trainer

    def _train(self, trainer: Trainer, name: str, index: int) -> None:
        """Train one part: on the edges not held out, or on all where it settles."""
        seen, validation = self._held_out
        if trainer.status.is_settling:
            seen, validation = self.graph, None
        trainer.train(
            self._stream(seen, self.seeds[index]),
            Objective(self.negatives, self._reversed_label(seen)),
            validation=validation,
            hooks=self.hooks.of_member(index, len(self.seeds)),
            save=lambda: self.checkpoint.save_running(trainer.snapshot(stage=name)),
        )

    def _stream(self, seen: Graph, seed: int) -> BatchStream:
        # Small graphs learn as much from smaller batches, in half the time.
        enough = max(_MIN_BATCH_PAIRS, _BATCH_PAIRS_PER_EDGE * self.graph.num_edges)
        return BatchStream(
            seen,
            self.walks,
            self.negatives,
            batch_pairs=min(self.training.batch_pairs, enough),
            seed=seed,
            # Only where a core is free: else steps get slower. All workers prefetch, or none.
            threads=self.workers.agree(spare_threads),
            workers=self.workers,
        )

    def _reversed_label(self, seen: Graph) -> float:
        """Return how far a reversed one-way edge counts as an edge."""
        if self.negatives.reversed_label is not None:
            return self.negatives.reversed_label
        return float(self.workers.agree(lambda: seen.return_probability))

    @cached_property
    def _start(self) -> Start:
        shape, device = (self.dim, self.projections), choose_device(self.training.device)
        return Start(self.graph, self.model, *shape, device, self.workers)

    @cached_property
    def _partition(self) -> Partition:
        return Partition(self.graph.num_nodes, self.workers.count)

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The snapshots of finished parts, and of what runs."""
        folder, resume = self.hooks.checkpoint, self.hooks.resume
        return Checkpoint(folder, self._partition, self.workers, self.identity, resume=resume)

    @cached_property
    def _running(self) -> Snapshot | None:
        """What ran when an earlier fit was interrupted."""
        return self.checkpoint.load_running() if self.hooks.resume else None
