"""Graph to result: `fit`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, Token

from arcvec.cli.errors import fail
from arcvec.cli.fit_workers import ShardedFit, describe_result, fit_as_worker, stopped
from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, Out, read_graph
from arcvec.cli.workers import NumWorkers, is_shared, is_worker, start_workers
from arcvec.console import note, plain_print, stop_on_interrupt, training_progress
from arcvec.locks import sole_writer
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.presets import load_method
from arcvec.storage import require_writable

Preset = Literal["default", "paper", "released-code"]


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
    out: Out,
    method: Annotated[EdgeProjection, Parameter(name="*", group="Method")] = EdgeProjection(),  # noqa: B008
    preset: Preset = "default",
    config: Path | None = None,
    earlier: Annotated[Path | None, Parameter(name="--from")] = None,
    budget: Annotated[float | None, Parameter(converter=_as_seconds)] = None,
    workers: NumWorkers = None,
    resume: bool = False,
    float16: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Learn the vectors of a graph and write them to a result folder.

    Args:
        graph: graph folder, edge file, or split folder (then only its train part is seen).
        out: result folder to write.
        preset: named set of settings; --config and single flags override it.
        config: TOML or JSON file of settings, as in the settings.json of a result.
        earlier: result folder of an earlier state of the graph to go on from: nodes of the same
            name begin at its vectors, and nothing is tried twice.
        budget: time to be done in, such as 30s or 5m, counted from the start of the command; where
            it is too short for all of a fit, one training ends with it. Keeps no checkpoint.
        workers: processes of this machine that share the work, each with the vectors of its part of
            the nodes; on several machines, start the command with torchrun instead.
        resume: continue a fit that was interrupted; same settings, same output.
        float16: store half-precision numbers, half as large.
        overwrite: replace the result if it exists.
        quiet: show no progress bar.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.methods.budget import fit_within
    from arcvec.training.hooks import Hooks, Interrupted

    started = time.perf_counter() - time.process_time()  # little else than this process ran so far
    require_writable(out, overwrite=overwrite, inputs=[graph])
    if budget is not None and (resume or earlier is not None):
        flag = "--resume" if resume else "--from"
        raise ValueError(f"--budget belongs to fits from the start; leave it or {flag} out")
    many = is_shared(workers)
    if many and (budget is not None or earlier is not None):
        flag = "--from" if budget is None else "--budget"
        raise ValueError(f"{flag} belongs to fits of one process; leave it or --workers out")
    # Not memory-mapped: the result to go on from may be the one to replace.
    start = None if earlier is None else EdgeEmbeddings.load(earlier, mmap=False)
    chosen = load_method(preset, config, method)
    checkpoint = out.resolve().with_name(out.resolve().name + ".checkpoint")
    _check_checkpoint(checkpoint, resume=resume, many=many)
    if many:
        asked = ShardedFit(
            *(graph, files, chosen, out, checkpoint, resume, float16, overwrite, quiet)
        )
        if not is_worker():
            raise SystemExit(start_workers(workers or 1))
        fit_as_worker(asked)
        return
    learned_from = read_graph(graph, files)
    out.resolve().parent.mkdir(parents=True, exist_ok=True)
    with sole_writer(out):
        with training_progress(quiet=quiet) as report, stop_on_interrupt() as should_stop:
            hooks = Hooks(report, should_stop, checkpoint, resume)
            try:
                if budget is None:
                    embeddings = chosen.fit(learned_from, hooks, start=start)
                else:
                    left = started + budget - time.perf_counter()
                    embeddings = fit_within(
                        left, chosen, learned_from, replace(hooks, checkpoint=None)
                    )
            except Interrupted as stop:
                if budget is not None:
                    message = f"stopped after step {stop.step}; with --budget nothing is kept of it"
                    raise SystemExit(fail(message, code=130)) from None
                raise SystemExit(stopped(stop.step, resume=resume)) from None
        embeddings.save(out, float16=float16, overwrite=overwrite)
        checkpoint.unlink(missing_ok=True)
    plain_print(f"{out}: {describe_result(embeddings)}")


def _check_checkpoint(checkpoint: Path, *, resume: bool, many: bool) -> None:
    """Say now what is wrong with a checkpoint, and that one will be replaced."""
    if checkpoint.is_file() if many else checkpoint.is_dir():
        whose = "one process" if many else "several workers"
        raise FileExistsError(
            f"{checkpoint} is of a fit of {whose}: continue it as it was begun, or delete it"
        )
    there = checkpoint.exists()
    require_writable(checkpoint, overwrite=there)
    if resume and not there:
        raise FileNotFoundError(f"{checkpoint}: no checkpoint to resume; fit without --resume")
    if there and not resume and not is_worker():
        note(f"{checkpoint} of an earlier fit is replaced; --resume would have continued it")
