"""The command line: one subcommand per station of the data; each parses, calls, prints."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
import pydantic
from cyclopts import App, Parameter
from pydantic import Field

from arcvec import __version__
from arcvec.console import (
    escape,
    grid_progress,
    link_prediction_table,
    messages,
    note,
    output,
    plain_print,
    results_tables,
    show_log_as_notes,
    stop_on_interrupt,
    training_progress,
)
from arcvec.graph.edge_settings import EdgeFileSettings
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.presets import load_method
from arcvec.settings import describe_validation_error
from arcvec.storage import require_writable, write_table

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
    from arcvec.evaluation.experiment_file import ExperimentSettings
    from arcvec.evaluation.results import Result
    from arcvec.graph.graph import Graph
    from arcvec.graph.names import NodeIds

Preset = Literal["default", "paper"]
Baseline = Literal[
    "degree-product",
    "common-neighbours",
    "jaccard",
    "adamic-adar",
    "resource-allocation",
    "three-paths",
    "katz",
    "eigenmaps",
    "node2vec",
    "dngr",
    "svd",
    "hope",
    "strap",
    "netmf",
    "watch-your-step",
]


class EdgeFileFlags(EdgeFileSettings):
    """The flags for reading edge files."""

    directed: Annotated[bool, Parameter(negative="--undirected")] = Field(
        True, description="edges have a direction, or none"
    )


EdgeFiles = Annotated[EdgeFileFlags, Parameter(name="*", group="Edge files")]
Out = Annotated[Path, Parameter(name=["--out", "-o"])]
OptionalOut = Annotated[Path | None, Parameter(name=["--out", "-o"])]

app = App(
    name="arcvec",
    help="Learn a source and a target vector for every node of a graph; predict its next edges.",
    version=__version__,
    default_parameter=Parameter(negative_none=()),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


@app.command
def demo(*, out: Out = Path("arcvec-demo"), seed: int = 0) -> None:
    """Learn the import graph of Python's standard library, end to end, in under a minute.

    Args:
        out: folder for split, result and picture; that of an earlier demo is replaced.
        seed: decides every random choice.
    """
    from arcvec.demo import run_demo

    run_demo(out, seed)


@app.command
def ingest(
    edges: Path,
    /,
    *,
    out: Out,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
    overwrite: bool = False,
) -> None:
    """Read an edge list into a graph folder, which later commands open at once.

    Args:
        edges: text, csv, tsv or Parquet file, plain or gzipped, or a folder of such files.
        out: graph folder to write.
        overwrite: replace the folder if it exists.
    """
    from arcvec.graph.ingest import ingest_edges

    with messages.status(escape(f"reading {edges}")) as status:
        report = ingest_edges(edges, out, files, overwrite=overwrite, progress=status.update)
    for text in report.notes:
        note(text)
    kind = "directed" if report.directed else "undirected"
    weighted = ", weighted" if report.weighted else ""
    plain_print(f"{out}: {report.num_nodes:,} nodes, {report.num_edges:,} edges, {kind}{weighted}")


@app.command
def split(
    graph: Path,
    /,
    *,
    out: Out,
    test_fraction: float = 0.5,
    validation_fraction: float = 0.0,
    seed: int = 0,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
    overwrite: bool = False,
) -> None:
    """Cut the edges into train and test, with negatives, by the paper's protocol.

    Args:
        graph: graph folder or edge file.
        out: split folder to write.
        test_fraction: part of the edges held out; train stays connected.
        validation_fraction: part of the edges held out besides, for choosing settings.
        seed: decides every random choice.
        overwrite: replace the folder if it exists.
    """
    from arcvec.graph.split import save_split, split_edges

    require_writable(out, overwrite=overwrite, inputs=[graph])
    whole = _open_graph(graph, files)
    parts = split_edges(
        whole, test_fraction=test_fraction, validation_fraction=validation_fraction, seed=seed
    )
    save_split(parts, out, overwrite=overwrite)
    held_out = f"{parts.train.num_edges:,} train edges, {len(parts.test):,} test edges"
    if parts.validation is not None:
        held_out += f", {len(parts.validation):,} validation edges"
    negatives = parts.directed_negatives
    if negatives is not None:
        held_out += f", {len(negatives):,} test negatives with reversed edges"
    plain_print(f"{out}: {held_out}")


@app.command
def fit(
    graph: Path,
    /,
    *,
    out: Out,
    method: Annotated[EdgeProjection, Parameter(name="*", group="Method")] = EdgeProjection(),  # noqa: B008
    preset: Preset = "default",
    config: Path | None = None,
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
        resume: continue a fit that was interrupted; same settings, same output.
        float16: store half-precision numbers, half as large.
        overwrite: replace the result if it exists.
        quiet: show no progress bar.
    """
    from arcvec.training.loop import Hooks, Interrupted

    require_writable(out, overwrite=overwrite, inputs=[graph])
    chosen = load_method(preset, config, method)
    checkpoint = out.resolve().with_name(out.resolve().name + ".checkpoint")
    require_writable(checkpoint, overwrite=checkpoint.is_file())
    if resume and not checkpoint.is_file():
        raise FileNotFoundError(f"{checkpoint}: no checkpoint to resume; fit without --resume")
    if checkpoint.exists() and not resume:
        note(f"{checkpoint} of an earlier fit is replaced; --resume would have continued it")
    learned_from = _open_graph(graph, files)
    with training_progress(quiet=quiet) as report, stop_on_interrupt() as should_stop:
        hooks = Hooks(report, should_stop, checkpoint, resume)
        try:
            embeddings = chosen.fit(learned_from, hooks)
        except Interrupted as stop:
            command = " ".join(map(shlex.quote, ["arcvec", *sys.argv[1:]]))
            again = command if resume else f"{command} --resume"
            message = f"stopped after step {stop.step}; continue with:\n  {again}"
            raise SystemExit(_fail(message, code=130)) from None
    embeddings.save(out, float16=float16, overwrite=overwrite)
    checkpoint.unlink(missing_ok=True)
    plain_print(f"{out}: {_describe_result(embeddings)}")


@app.command
def evaluate(
    result: Path | None = None,
    /,
    *,
    split: Path,
    method: Annotated[tuple[Baseline, ...], Parameter(negative_iterable=())] = (),
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    ranking: bool = True,
    max_ranked_edges: int = 100_000,
    seed: int = 0,
) -> None:
    """Measure link prediction on the test edges of a split.

    Args:
        result: result folder fitted on the split; leave it out to measure baselines alone.
        split: split folder, ours or in the layout the paper's authors published.
        method: baselines to fit on the train part and measure beside the result.
        as_json: print JSON: one object, or one per method if there are several.
        ranking: rank each test edge's target among all nodes (MRR, hits@k).
        max_ranked_edges: rank a random sample of this many test edges where there are more.
        seed: decides that sample.
    """
    from arcvec.evaluation.link_prediction import link_prediction
    from arcvec.graph.split import read_split

    parts = read_split(split)
    reports = {
        name: link_prediction(
            scorer, parts, ranking=ranking, max_ranked_edges=max_ranked_edges, seed=seed
        )
        for name, scorer in _scorers(result, method, parts.train)
    }
    if not reports:
        raise ValueError("nothing to evaluate: give a result folder, or baselines with --method")
    if as_json:
        values = {name: report.as_dict() for name, report in reports.items()}
        if result is not None:
            next(iter(values.values()))["fitted_on_train"] = _fitted_on(result, parts.train)
        only = next(iter(values.values())) if len(values) == 1 else values
        plain_print(json.dumps(only, indent=2))
    else:
        output.print(link_prediction_table(reports, f"Link prediction on {escape(str(split))}"))


@app.command
def score(
    result: Path,
    pairs: Path,
    /,
    *,
    out: OptionalOut = None,
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Score the pairs of nodes in a file, in their order.

    Args:
        result: result folder.
        pairs: file with a source and a target in each line, in any format `ingest` reads.
        out: .csv, .tsv or .parquet file to write; standard output by default.
        overwrite: replace the file if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.ingest import read_pairs

    if out:
        require_writable(out, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    sources, targets = read_pairs(pairs, files)
    scores = embeddings.score(embeddings.nodes.ids(sources), embeddings.nodes.ids(targets))
    columns = {"source": "VARCHAR", "target": "VARCHAR", "score": "FLOAT"}
    rows = zip(sources, targets, map(_plain, scores), strict=True)
    write_table(out, columns, rows, overwrite=overwrite)


@app.command
def recommend(
    result: Path,
    /,
    *,
    node: Annotated[tuple[str, ...], Parameter(negative_iterable=())] = (),
    everyone: Annotated[bool, Parameter(name="--all", negative=())] = False,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 10,
    exclude: Path | None = None,
    direction: Literal["targets", "sources"] = "targets",
    out: OptionalOut = None,
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Name the best new edges of some nodes, or of all.

    Args:
        result: result folder.
        node: node to recommend for; may be given several times.
        everyone: recommend for every node.
        k: edges per node.
        exclude: graph folder, split folder or edge file whose edges are known already.
        direction: whom the node would link to (targets), or who would link to it (sources).
        out: .csv, .tsv or .parquet file to write; standard output by default.
        overwrite: replace the file if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.exact import top_k_blocks

    if everyone == bool(node):
        raise ValueError("expected nodes to recommend for: either --node NAME, or --all")
    if out:
        require_writable(out, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    known = None if exclude is None else _open_graph(exclude, files)
    ids = None if everyone else embeddings.nodes.ids(node)
    columns = {"node": "VARCHAR", "rank": "INTEGER", direction[:-1]: "VARCHAR", "score": "FLOAT"}
    blocks = top_k_blocks(
        embeddings, min(k, len(embeddings.nodes)), ids=ids, exclude=known, direction=direction
    )
    write_table(out, columns, _recommendation_rows(embeddings, blocks), overwrite=overwrite)


@app.command
def experiment(
    file: Path,
    /,
    *,
    out: Out,
    data: Path | None = None,
    cells: Path | None = None,
    quick: bool = False,
    workers: int = 1,
    retry_failed: bool = False,
    tables_only: bool = False,
    quiet: bool = False,
) -> None:
    """Run a grid of datasets, methods, dims and seeds, and make its tables; goes on where it was.

    Args:
        file: TOML file of the experiment, such as experiments/table1.toml.
        out: folder for results.csv, results.parquet, table.md, table.tex and curves.
        data: folder of the split folders; by default $ARCVEC_DATA/splits or ../shared/data/splits.
        cells: folder of finished cells, by default `cells` in the output folder; experiments that
            share it do not run the cells they have in common again.
        quick: the small size that the file describes, which ends in minutes.
        workers: processes that share the cores; one uses them all.
        retry_failed: run cells again that failed earlier.
        tables_only: run nothing, make the tables of the cells that are finished.
        quiet: show no progress.
    """
    from arcvec.evaluation.experiment import collect_results, run_cells, write_outputs
    from arcvec.evaluation.experiment_file import read_experiment
    from arcvec.evaluation.grid import data_folders, grid_cells
    from arcvec.evaluation.tables import experiment_tables

    asked = read_experiment(file, quick=quick)
    grid = grid_cells(asked, data_folders(asked, data, file.absolute().parent.parent))
    kept = cells or out / "cells"
    if not tables_only:
        try:
            with grid_progress(quiet=quiet) as report:
                run_cells(
                    grid,
                    kept,
                    workers=workers,
                    retry_failed=retry_failed,
                    more_seeds_below=asked.more_seeds_below,
                    report=report,
                )
        except KeyboardInterrupt:
            message = "stopped; finished cells are kept, and the same command does the others"
            raise SystemExit(_fail(message, code=130)) from None
    results = collect_results(grid, kept, asked.more_seeds_below)
    write_outputs(asked, results, out)
    _draw_curves(asked, results, out)
    output.print(*results_tables(experiment_tables(asked, results)[0]))
    counts = Counter(result.status for result in results)
    if counts["failed"] and not retry_failed:
        note(f"{counts['failed']} cells failed; --retry-failed runs them again")
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    plain_print(f"{out}: {len(results)} cells ({said})")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors of the user become one line and a non-zero exit code."""
    # Threads that wait for work soon sleep instead of spinning: as fast on a quiet machine, and
    # much faster on a busy one. Read when torch and numba are first imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    show_log_as_notes()
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        sys.exit(_fail(_describe_usage_error(error), code=2))
    except KeyboardInterrupt:
        sys.exit(_fail("interrupted", code=130))
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("ARCVEC_TRACEBACK"):
            raise
        sys.exit(_fail(_describe_error(error), code=1))


def _fail(message: str, *, code: int) -> int:
    messages.print(f"[bold red]arcvec:[/] {escape(message)}", soft_wrap=True)
    return code


def _describe_error(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(text.split())
    if isinstance(error, (ValueError, LookupError, OSError, FloatingPointError, ImportError)):
        return text
    kind = type(error).__name__
    return f"unexpected {kind}: {text}; set ARCVEC_TRACEBACK=1 to see where"


def _describe_usage_error(error: cyclopts.CycloptsError) -> str:
    cause = error.__cause__ or error.__context__
    if isinstance(cause, pydantic.ValidationError):
        return describe_validation_error(cause, EdgeProjection)
    return " ".join(str(error).split())


def _open_graph(path: Path, files: EdgeFileSettings) -> Graph:
    from arcvec.graph.files import open_graph

    with messages.status(escape(f"reading {path}")):
        return open_graph(path, files)


def _scorers(
    result: Path | None, methods: Sequence[str], train: Graph
) -> Iterator[tuple[str, EdgeScorer]]:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.methods.baselines import BASELINES

    if result is not None:
        embeddings = EdgeEmbeddings.load(result)
        if not _fitted_on(result, train):
            note(
                "the result was fitted on another graph than the train part of this split: it may "
                "have seen test edges, and then these numbers mean nothing"
            )
        yield f"arcvec, dim {embeddings.dim}", embeddings
    for name in methods:
        yield name, BASELINES[name]().fit(train)


def _fitted_on(result: Path, train: Graph) -> bool:
    from arcvec.embeddings import EdgeEmbeddings

    fitted_on = EdgeEmbeddings.load(result).settings.get("graph_fingerprint")
    return bool(fitted_on == train.fingerprint)


def _recommendation_rows(
    embeddings: EdgeEmbeddings, blocks: Iterator[tuple[NodeIds, NodeIds, Scores]]
) -> Iterator[tuple[str, int, str, float]]:
    names = embeddings.nodes
    for asked, best, scores in blocks:
        for i, node in enumerate(names.at(asked)):
            for rank, (other, value) in enumerate(zip(best[i], scores[i], strict=True), start=1):
                if other >= 0:
                    yield node, rank, names[int(other)], _plain(value)


def _draw_curves(asked: ExperimentSettings, results: Sequence[Result], out: Path) -> None:
    from arcvec.evaluation.tables import auc_curves
    from arcvec.plot.curves import draw_curves

    finished = any(result.dim is not None and result.status == "done" for result in results)
    if asked.kind != "auc" or not finished:
        return
    paths = [out / "curves.png", out / "curves.svg"]
    ours = asked.comparison.ours if asked.comparison else ""
    curves = auc_curves(results)
    try:
        draw_curves(curves, paths, title=asked.title, highlighted=ours, overwrite=True)
    except ImportError as error:
        note(str(error))


def _plain(value: float) -> float:
    """Return a score as it is worth printing: float32 has about six figures."""
    return float(f"{value:.6g}")


def _describe_result(embeddings: EdgeEmbeddings) -> str:
    auc = embeddings.settings.get("validation_auc")
    measured = "" if auc is None else f", validation AUC {auc:.4f}"
    nodes, steps = len(embeddings.nodes), embeddings.settings["steps_done"]
    return f"{nodes:,} nodes, dim {embeddings.dim}, {steps:,} steps{measured}"
