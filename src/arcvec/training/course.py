"""All that is trained for one result: members of an ensemble, trials, parts of a training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import torch

from arcvec.graph.graph import Graph
from arcvec.model.objective import Objective
from arcvec.model.sides import Sides
from arcvec.sampling.batches import BatchStream
from arcvec.training.degrees import DegreeTerms, fitting_terms
from arcvec.training.hooks import Hooks, Progress
from arcvec.training.loop import train
from arcvec.training.settings import TrainSettings
from arcvec.training.state import Trained, TrainingState, give_back_memory, waiting
from arcvec.training.validation import Validation


class Plan(Protocol):
    """What a course is told: how to begin a training, and what to train it on."""

    @property
    def windows(self) -> Sequence[int]:
        """Windows of the walks to choose from."""

    def hold_out(self, seed: int) -> tuple[Graph, Validation | None]:
        """Return the graph to train on while the AUC is watched, and what it is watched on."""

    def state(self, seen: Graph, seed: int, *, blank: bool = False) -> TrainingState:
        """Return the state before the first step, of the first window.

        Args:
            blank: with rows of zeros, for a checkpoint to fill.
        """

    def stream(self, seen: Graph, seed: int, window: int) -> BatchStream:
        """Return the batches of a graph."""

    def objective(self, seen: Graph) -> Objective:
        """Return what to minimise on a graph."""

    def with_degrees(self, sides: Sides, terms: DegreeTerms) -> Sides:
        """Return sides that have what degrees add in their scores."""


class Course:
    """Trains the members one after the other; a checkpoint holds where it stands.

    Every member is watched on the same held-out edges, then settles on all edges. The first one
    decides for all about the window of the walks and the L2 penalty, by trials. What degrees take
    off is what the mean of all members' scores asks for: single ones are less sure of nodes with
    many edges, and would ask for more.

    Args:
        seeds: one for each member.

    Attributes:
        auc: of all members' mean on the held-out edges, degrees included, before they settled;
            None where it was not found out.
    """

    def __init__(
        self,
        plan: Plan,
        graph: Graph,
        settings: TrainSettings,
        seeds: Sequence[int],
        hooks: Hooks | None = None,
    ) -> None:
        self.plan = plan
        self.graph = graph
        self.settings = settings
        self.seeds = seeds
        self.hooks = hooks or Hooks()
        self.seen, self.validation = plan.hold_out(seeds[0])
        self.auc: float | None = None

    def run(self) -> list[Trained]:
        """Return what was learned, member by member; from then on there is `auc`."""
        state = None
        if self.hooks.resume and self.hooks.checkpoint:
            state = self.plan.state(self.graph, self.seeds[0], blank=True)
            state.restore(self.hooks.checkpoint)
        done = [] if state is None else state.done
        for seed in self.seeds[len(done) :]:
            if state is None or not state.settling:
                state = self._watch(seed, done, state)
                if self.settings.settle:
                    state.settle()
            if state.settling:
                self._train(state, self.graph, seed)
            done.append(state.trained())
            state = None
        return self._with_degrees(done)

    def _watch(self, seed: int, done: list[Trained], state: TrainingState | None) -> TrainingState:
        """Return the best trial, trained to the end of the part that is watched."""
        if state is None:
            state = self.plan.state(self.seen, seed)
            state.done = done
            if done:
                state.window, state.output_l2 = done[0].window, done[0].output_l2
        self._train(state, self.seen, seed, self.validation)
        while not done and (chosen := self._next_trial(state)) is not None:
            # The worse one is let go before the next begins: there are never three in memory.
            trial, state = state.trial + 1, state.keep_better()
            state.put_aside()
            state = self._begun(seed, chosen, trial, kept=state)
            self._train(state, self.seen, seed, self.validation)
        state = state.keep_better()
        state.take_back()
        if self.validation and self.settings.finds_discount:
            state.watched = self.validation.scores(state.result())
        return state

    def _begun(
        self, seed: int, chosen: tuple[int, float], trial: int, kept: TrainingState
    ) -> TrainingState:
        """Return the state before the first step of a trial."""
        state = self.plan.state(self.seen, seed)
        state.window, state.output_l2 = chosen
        state.trial, state.kept = trial, kept
        return state

    def _next_trial(self, state: TrainingState) -> tuple[int, float] | None:
        """Return a window and a penalty to try from the start again, after a trial is watched."""
        if state.best_auc is None:
            return None
        windows, penalties = self.plan.windows, self.settings.stronger_l2
        tried = state.trial + 1
        if tried < len(windows):
            return windows[tried], self.settings.output_l2
        best, stronger = state.better(), tried - len(windows)
        rises = stronger == 0 or best is state
        return (best.window, penalties[stronger]) if rises and stronger < len(penalties) else None

    def _with_degrees(self, members: list[Trained]) -> list[Trained]:
        """Return the members with what degrees add to their scores."""
        terms = DegreeTerms(self.settings.degree_discount or 0.0)
        watched = [member.watched for member in members if member.watched is not None]
        if watched and self.validation:
            give_back_memory()
            scores = torch.stack(watched).mean(dim=0).cpu().numpy()
            terms, self.auc = fitting_terms(scores, self.seen, self.validation)
        if terms:
            # One after the other, in place: twice the vectors of all members would be the peak.
            for i, member in enumerate(members):
                sides = waiting(self.plan.with_degrees(member.sides, terms))
                members[i] = replace(member, sides=sides, degree_terms=terms)
        return members

    def _train(
        self, state: TrainingState, seen: Graph, seed: int, validation: Validation | None = None
    ) -> None:
        stream, objective = self.plan.stream(seen, seed, state.window), self.plan.objective(seen)
        hooks = replace(self.hooks, report=self._numbered(len(state.done)))
        train(state, stream, objective, validation=validation, hooks=hooks)

    def _numbered(self, member: int) -> Callable[[Progress], None] | None:
        """Return a report to the hooks that says which member is trained."""
        report = self.hooks.report
        if report is None:
            return None
        return lambda progress: report(replace(progress, member=member, members=len(self.seeds)))
