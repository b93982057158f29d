"""`fit` on many workers: what each of them does, and what is said at the end."""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.cli.errors import fail
from arcvec.cli.flags import read_graph
from arcvec.cli.workers import note_restart, one_of_many
from arcvec.console import plain_print, stop_on_interrupt, training_progress
from arcvec.locks import sole_writer

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.edge_settings import EdgeFileSettings
    from arcvec.graph.graph import Graph
    from arcvec.methods.edge_projection import EdgeProjection
    from arcvec.methods.sharded_fit import ShardedResult
    from arcvec.scaleout.workers import Workers


@dataclass(frozen=True)
class ShardedFit:
    """A fit, as the command line asks for it."""

    graph: Path
    files: EdgeFileSettings
    method: EdgeProjection
    out: Path
    checkpoint: Path
    resume: bool
    float16: bool
    overwrite: bool
    quiet: bool

    def run(self, workers: Workers) -> ShardedResult:
        """Do this worker's part, up to the result folder; the first one cleans up."""
        from arcvec.methods.sharded_fit import fit_sharded
        from arcvec.scaleout.checkpoint import has_checkpoint, prepare_folder
        from arcvec.scaleout.failure import restart_count
        from arcvec.training.hooks import Hooks

        with ExitStack() as stack:
            if workers.is_first:
                self.out.resolve().parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(sole_writer(self.out))
            again = restart_count() > 0 and workers.agree(lambda: has_checkpoint(self.checkpoint))
            resume = self.resume or again
            if workers.is_first and not resume:
                prepare_folder(self.checkpoint)
            note_restart("from the last checkpoint" if resume else "from the start")
            workers.wait_for_all()
            learned_from = self._open_graph(workers)
            report = stack.enter_context(training_progress(quiet=self.quiet))
            should_stop = stack.enter_context(stop_on_interrupt())
            hooks = Hooks(
                report if workers.is_first else None,
                lambda: workers.any(should_stop()),
                self.checkpoint,
                resume,
            )
            folder = self.checkpoint / "graphs"
            result = fit_sharded(self.method, learned_from, workers, folder, hooks)
            result.save(self.out, float16=self.float16, overwrite=self.overwrite)
            if workers.is_first:
                shutil.rmtree(self.checkpoint)
            return result

    def _open_graph(self, workers: Workers) -> Graph:
        """Return the graph, memory-mapped on every worker, its edges both ways."""
        from arcvec.scaleout.graphs import mapped_both_ways, mapped_graph

        folder = self.checkpoint / "graphs" / "graph"
        if workers.is_first:
            folder.parent.mkdir(parents=True, exist_ok=True)
        graph = mapped_graph(
            workers, self.graph, folder, lambda: read_graph(self.graph, self.files)
        )
        return mapped_both_ways(workers, graph, folder)


def fit_as_worker(asked: ShardedFit) -> None:
    """Do one worker's part of a fit; the first one says what came of it."""
    from arcvec.training.hooks import Interrupted

    with one_of_many() as workers:
        try:
            result = asked.run(workers)
        except Interrupted as stop:
            raise SystemExit(stopped(stop.step, resume=asked.resume)) from None
        if workers.is_first:
            plain_print(f"{asked.out}: {describe_result(result)}")


def stopped(step: int, *, resume: bool) -> int:
    """Say how a fit that was stopped goes on, and return the exit code."""
    command = " ".join(map(shlex.quote, ["arcvec", *sys.argv[1:]]))
    again = command if resume else f"{command} --resume"
    return fail(f"stopped after step {step}; continue with:\n  {again}", code=130)


def describe_result(result: EdgeEmbeddings | ShardedResult) -> str:
    """Return the nodes, dim, steps and validation AUC of a result, in a line."""
    auc = result.settings.get("validation_auc")
    measured = "" if auc is None else f", validation AUC {auc:.4f}"
    nodes, steps = len(result.nodes), result.settings["steps_done"]
    return f"{nodes:,} nodes, dim {result.dim}, {steps:,} steps{measured}"
