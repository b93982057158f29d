"""What a result is for: `evaluate` and `score`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from arcvec.cli.flags import (
    EdgeFileFlags,
    EdgeFiles,
    OptionalOut,
    Probability,
    plain_number,
    probability_function,
)
from arcvec.cli.workers import (
    NumWorkers,
    is_shared,
    is_worker,
    note_restart,
    one_of_many,
    start_workers,
)
from arcvec.console import escape, link_prediction_table, note, output, plain_print
from arcvec.methods.baselines import Baseline
from arcvec.storage import require_writable, write_table

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeScorer
    from arcvec.evaluation.link_prediction import LinkPredictionReport
    from arcvec.evaluation.together import Together
    from arcvec.graph.graph import Graph
    from arcvec.graph.split import Split
    from arcvec.scaleout.workers import Workers


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
    workers: NumWorkers = None,
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
        workers: processes of this machine that share the edges, each with those of its part of the
            nodes; on several machines, start the command with torchrun instead.
    """
    from arcvec.evaluation.link_prediction import link_prediction
    from arcvec.graph.split import read_split

    if result is None and not method:
        raise ValueError("nothing to evaluate: give a result folder, or baselines with --method")
    shared = is_shared(workers)
    if shared and method:
        raise ValueError("--method belongs to one process; leave it or --workers out")
    if shared and not is_worker():
        raise SystemExit(start_workers(workers or 1))
    with one_of_many() if shared else nullcontext() as worker:
        parts = read_split(split)
        together = None if worker is None else _together(worker, parts)
        reports = {
            name: link_prediction(
                scorer,
                parts,
                ranking=ranking,
                max_ranked_edges=max_ranked_edges,
                seed=seed,
                together=together,
            )
            for name, scorer in _scorers(result, method, parts.train)
        }
        if worker is None or worker.is_first:
            _print(reports, result, split, parts, as_json=as_json)


def _together(worker: Workers, split: Split) -> Together:
    from arcvec.scaleout.measuring import MeasuringWorkers

    note_restart("from the start")
    return MeasuringWorkers(worker, split.train.num_nodes)


def _print(
    reports: dict[str, LinkPredictionReport],
    result: Path | None,
    folder: Path,
    split: Split,
    *,
    as_json: bool,
) -> None:
    from arcvec.embeddings import EdgeEmbeddings

    if not as_json:
        output.print(link_prediction_table(reports, f"Link prediction on {escape(str(folder))}"))
        return
    values = {name: report.as_dict() for name, report in reports.items()}
    if result is not None:
        fitted_on_train = EdgeEmbeddings.load(result).learned_from(split.train)
        next(iter(values.values()))["fitted_on_train"] = fitted_on_train
    only = next(iter(values.values())) if len(values) == 1 else values
    plain_print(json.dumps(only, indent=2))


def score(
    result: Path,
    pairs: Path,
    /,
    *,
    probability: Probability | None = None,
    out: OptionalOut = None,
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Score the pairs of nodes in a file, in their order.

    Args:
        result: result folder.
        pairs: file with a source and a target in each line, in any format `ingest` reads.
        probability: add how likely each edge is, as `calibrate` found: against one random non-edge
            (even), or among all pairs of nodes with this score (density).
        out: .csv, .tsv or .parquet file to write; standard output by default.
        overwrite: replace the file if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.ingest import read_pairs

    if out:
        require_writable(out, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    probable = probability_function(result, embeddings, probability)
    sources, targets = read_pairs(pairs, files)
    scores = embeddings.score(embeddings.nodes.ids(sources), embeddings.nodes.ids(targets))
    columns = {"source": "VARCHAR", "target": "VARCHAR", "score": "FLOAT"}
    numbers = [scores]
    if probable:
        columns["probability"] = "FLOAT"
        numbers.append(probable(scores))
    rows = zip(sources, targets, *(map(plain_number, column) for column in numbers), strict=True)
    write_table(out, columns, rows, overwrite=overwrite)


def _scorers(
    result: Path | None, methods: Sequence[str], train: Graph
) -> Iterator[tuple[str, EdgeScorer]]:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.methods.baselines import BASELINES

    if result is not None:
        embeddings = EdgeEmbeddings.load(result)
        if not embeddings.learned_from(train):
            note(
                "the result was fitted on another graph than the train part of this split, or went "
                "on from one that was: it may have seen test edges, and then these numbers mean "
                "nothing"
            )
        yield f"arcvec, dim {embeddings.dim}", embeddings
    for name in methods:
        yield name, BASELINES[name]().fit(train)
