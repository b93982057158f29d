"""Graph to result: `fit`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, Token

from arcvec.cli import common
from arcvec.cli.app import fail
from arcvec.cli.common import EdgeFileFlags, EdgeFiles, note_restart, read_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.parallel.alone import Alone
from arcvec.parallel.launch import is_worker, restart_count
from arcvec.parallel.shared import graphs_folder, mapped_both_ways, shared_graph
from arcvec.storage.atomic import remove_folder, require_writable, sole_writer
from arcvec.training.edge_projection import EdgeProjection, FittedRows
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.presets import load_method
from arcvec.view.console import note, plain_print, stop_on_interrupt, training_progress

Preset = Literal["default", "auc", "paper", "released-code"]


def _as_seconds(kind: type, tokens: Sequence[Token]) -> float:
    """Return the seconds of a time such as 30s, 5m or 1h."""
    seconds = {"": 1, "s": 1, "m": 60, "h": 3600}
    given = re.fullmatch(r"(\d+\.?\d*) *([smh]?)", tokens[0].value)
    if given is None or not float(given[1]):
        raise ValueError(f'expected a time such as 30s, 5m or 1h, got "{tokens[0].value}"')
    return float(given[1]) * seconds[given[2]]


def fit(
    graph: Path,
    /,
    *,
    out: common.Out,
    method: Annotated[EdgeProjection, Parameter(name="*", group="Method")] = EdgeProjection(),  # noqa: B008
    preset: Preset = "default",
    config: Path | None = None,
    earlier: Annotated[Path | None, Parameter(name="--from")] = None,
    budget: Annotated[float | None, Parameter(converter=_as_seconds)] = None,
    workers: common.NumWorkers = None,
    backend: str | None = None,
    resume: bool = False,
    float16: bool = False,
    overwrite: common.Overwrite = False,
    quiet: common.Quiet = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Learn the vectors of a graph and write them to a result folder.

    Args:
        graph: graph folder, edge file, or split folder (then only its train part is seen).
        out: result folder to write.
        preset: named set of settings; --config and single flags override it.
        config: TOML or JSON file of settings, as in the settings.json of a result.
        earlier: result folder of an earlier fit: what it chose among several values is not tried
            again.
        budget: time to be done in, such as 30s or 5m, counted from the start of the command; the
            longest fit that ends in time is the result. Keeps no checkpoint.
        backend: of torch.distributed, for many workers; by default gloo, and nccl on GPUs.
        resume: continue a fit that was interrupted; same settings, same output.
        float16: store half-precision numbers, half as large.
    """
    started = time.perf_counter() - time.process_time()  # little else than this process ran so far
    if restart_count() and out.exists() and not overwrite:
        return  # a worker was lost after the result was written: `out` did not exist at the start
    require_writable(out, overwrite=overwrite, inputs=[graph])
    if budget is not None and (resume or common.is_shared(workers)):
        flag = "--resume" if resume else "--workers"
        raise ValueError(
            f"--budget belongs to fits of one process, from the start; leave it or {flag} out"
        )
    chosen = load_method(preset, config, method)
    if earlier is not None:
        chosen = chosen.chosen_by(EdgeEmbeddings.load(earlier))
    checkpoint = out.resolve().with_name(out.resolve().name + ".checkpoint")
    _check_checkpoint(checkpoint, resume=resume)
    with common.joined_workers(workers, backend) as all_workers, ExitStack() as stack:
        alone = read_graph(graph, files) if all_workers.count == 1 else None
        if all_workers.is_first:
            out.resolve().parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(sole_writer(out))
        resume = resume or _was_restarted(checkpoint, all_workers)
        learned_from = alone or _shared_graph(graph, files, checkpoint, all_workers)
        report = stack.enter_context(training_progress(quiet=quiet))
        should_stop = stack.enter_context(stop_on_interrupt())
        hooks = Hooks(report if all_workers.is_first else None, should_stop, checkpoint, resume)
        try:
            if budget is None:
                result: FittedRows | EdgeEmbeddings = chosen.fit_rows(
                    learned_from, hooks, workers=all_workers
                )
            else:
                from arcvec.training.budget import fit_within  # imports scipy

                left = started + budget - time.perf_counter()
                result = fit_within(left, chosen, learned_from, replace(hooks, checkpoint=None))
        except Interrupted as stop:
            raise SystemExit(_stopped(stop.step, budget)) from None
        result.save(out, float16=float16, overwrite=overwrite)
        if all_workers.is_first:
            remove_folder(checkpoint)
            shutil.rmtree(graphs_folder(checkpoint), ignore_errors=True)
            auc, steps = result.settings.get("validation_auc"), result.settings["steps_done"]
            measured = "" if auc is None else f", validation AUC {auc:.4f}"
            counts = f"{len(learned_from.nodes):,} nodes, dim {chosen.dim}, {steps:,} steps"
            plain_print(f"{out}: {counts}{measured}")


def _check_checkpoint(checkpoint: Path, *, resume: bool) -> None:
    """Report now what is wrong with a checkpoint, and that one will be replaced."""
    if checkpoint.is_file():
        raise FileExistsError(
            f"{checkpoint} was written by another version of arcvec: finish it there, or delete it"
        )
    there = checkpoint.exists()
    require_writable(checkpoint, overwrite=there)
    if resume and not there:
        raise FileNotFoundError(f"{checkpoint}: no checkpoint to resume; fit without --resume")
    if there and not resume and not is_worker():
        note(f"{checkpoint} of an earlier fit is replaced; --resume would have continued it")


def _was_restarted(checkpoint: Path, workers: Alone) -> bool:
    """Return whether torchrun restarted the workers and a checkpoint is there to continue."""
    if not restart_count():
        return False
    from arcvec.training.checkpoint import has_snapshots

    found = bool(workers.agree(lambda: has_snapshots(checkpoint)))
    note_restart("from the last checkpoint" if found else "from the start")
    return found


def _shared_graph(path: Path, files: EdgeFileFlags, checkpoint: Path, workers: Alone) -> Graph:
    """Return the graph, which many workers map from disk, in both directions."""
    folder = graphs_folder(checkpoint) / "graph"
    if (path / "meta.json").is_file():
        return mapped_both_ways(workers, read_graph(path, files), folder)
    return shared_graph(workers, folder, lambda: read_graph(path, files))


def _stopped(step: int, budget: float | None) -> int:
    """Report how a fit that was stopped goes on, and return the exit code."""
    if budget is not None:
        return fail(f"stopped after step {step}; with --budget nothing is kept of it", code=130)
    command = shlex.join(["arcvec", *sys.argv[1:]])
    again = command if "--resume" in sys.argv else f"{command} --resume"
    return fail(f"stopped after step {step}; continue with:\n  {again}", code=130)
