"""Result to numbers, figures and a page to send: `evaluate`, `plot` and `report`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

from cyclopts import Parameter, Token

from arcvec.baselines.by_name import BASELINES, CHEAP_BASELINES, Baseline
from arcvec.cli import common
from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Nodes, Overwrite, read_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import LinkPredictionReport, link_prediction
from arcvec.graph.split import is_split, read_split
from arcvec.recommendation.calibration import FILE, load_calibration
from arcvec.recommendation.exact import with_popularity
from arcvec.recommendation.rerank import load_reranker
from arcvec.storage.atomic import require_writable
from arcvec.view.console import messages, method_progress, note, output, plain_print, results_tables
from arcvec.view.figures import require_figure_names, save_figure
from arcvec.view.plane import Kind
from arcvec.view.spaces import result_figure
from arcvec.view.table_text import compare_reports

Outs = Annotated[tuple[Path, ...], Parameter(name=["--out", "-o"], negative_iterable=())]
Baselines = Annotated[
    tuple[Baseline, ...], Parameter(consume_multiple=True, negative_iterable="no-")
]


def _split_at_commas(kind: Any, tokens: Sequence[Token]) -> tuple[Any, ...]:
    """Return the numbers in the value of a flag whose type is tuple[number, ...]."""
    number, _ = get_args(kind)
    return tuple(number(part) for token in tokens for part in token.value.split(","))


Numbers = Parameter(converter=_split_at_commas, negative_iterable=())


def evaluate(
    result: Path | None = None,
    /,
    *,
    split: Path,
    method: Annotated[tuple[Baseline, ...], Parameter(negative_iterable=())] = (),
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    rerank: Annotated[bool, Parameter(negative=())] = False,
    ranking: bool = True,
    k: Annotated[tuple[int, ...], Numbers, Parameter(name=["-k", "--k"])] = (10,),
    popularity: Annotated[tuple[float, ...], Numbers] = (1.0,),
    max_ranked_edges: int = 100_000,
    seed: int = 0,
    workers: common.NumWorkers = None,
    quiet: common.Quiet = False,
) -> None:
    """Measure link prediction on the test edges of a split.

    Args:
        result: result folder fitted on the split; leave it out to measure baselines alone.
        split: split folder, ours or in the layout the paper's authors published.
        method: baselines to fit on the train part and measure beside the result.
        as_json: print JSON: one object, or one per method if there are several.
        rerank: measure the second stage, which `rerank` has fitted on the train part, too.
        ranking: rank each test edge's target among all nodes (MRR, recall@k, nDCG@k, coverage).
        k: lengths of the lists of recommendations to measure, as in --k 5,10,20.
        popularity: measure the result as `recommend --popularity` would use it, once for each
            value, as in --popularity 1,0.5,0.
        max_ranked_edges: rank a random sample of this many test edges where there are more.
        seed: decides that sample, and the order of equal scores.
    """
    if result is None and not method:
        raise ValueError("nothing to evaluate: give a result folder, or baselines with --method")
    if result is None and popularity != (1,):
        raise ValueError("--popularity belongs to a result; give its folder, or leave it out")
    if common.is_shared(workers) and method:
        raise ValueError("--method belongs to one process; leave it or --workers out")
    with common.joined_workers(workers) as team:
        common.note_restart("from the start")
        parts = read_split(split)
        measure = partial(
            link_prediction,
            split=parts,
            ranking=ranking,
            k=k,
            max_ranked_edges=max_ranked_edges,
            seed=seed,
            workers=team,
        )
        reports: dict[str, LinkPredictionReport] = {}
        more: dict[str, bool] = {}
        if result is not None:
            embeddings = EdgeEmbeddings.load(result)
            more["fitted_on_train"] = embeddings.learned_from(parts.train)
            if not more["fitted_on_train"]:
                note(
                    "the result was fitted on another graph than the train part of this split, or "
                    "went on from one that was: it may have seen test edges, and then these "
                    "numbers mean nothing"
                )
        with method_progress(quiet=quiet) as start:
            if result is not None:
                for value in popularity:
                    name = f"arcvec, dim {embeddings.dim}"
                    name += "" if value == 1 else f", popularity {value:g}"
                    scorer = embeddings if value == 1 else with_popularity(embeddings, value)
                    reports[name] = measure(scorer, progress=start(name))
                second = load_reranker(result, embeddings, parts.train) if rerank else None
                if second is not None:
                    progress = start("re-ranked")
                    reports["re-ranked"] = measure(second, progress=progress)
                elif rerank:
                    note("the result has no second stage: arcvec rerank RESULT --graph SPLIT")
            for name in method:
                progress = start(name)
                reports[name] = measure(BASELINES[name]().fit(parts.train), progress=progress)
        if team.is_first and as_json:
            values = {name: report.as_dict() for name, report in reports.items()}
            first = next(iter(values.values()))
            first.update(more)
            plain_print(json.dumps(first if len(values) == 1 else values, indent=2))
        elif team.is_first:
            output.print(*results_tables(compare_reports(reports, f"Link prediction on {split}")))


def plot(
    result: common.Result,
    /,
    *,
    out: Outs,
    kind: Kind = "auto",
    graph: Path | None = None,
    node: Nodes = (),
    overwrite: Overwrite = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Draw the two spaces of a result, or the course of its training.

    Args:
        out: .png, .svg or .pdf file to write; may be given several times.
        kind: spaces: source and target space in the best projection; circle: two numbers per side
            with norm 1, as the paper's ego-Facebook; colours: two numbers per side, as its PPI;
            training: loss and validation AUC; auto: whichever of the first three fits the result.
        graph: graph folder, edge file or split folder whose degrees and edges are drawn; of a
            split folder train and test edges together, as in the paper. Training needs none.
        node: target whose edges circle and colours draw; may be given several times.
    """
    require_figure_names(out)
    for path in out:
        require_writable(path, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    drawn = None
    if graph is not None:
        drawn = read_graph(graph, files)  # rejects flags that do not belong to the path
        drawn = read_split(graph).graph if is_split(graph) else drawn
    figure, measures = result_figure(embeddings, kind=kind, graph=drawn, nodes=node)
    save_figure(figure, out, overwrite=overwrite)
    plain_print("\n".join(map(str, out)))
    for name, value in measures.items():
        plain_print(f"{name}: {value:.3f}")


def report(
    result: Path,
    /,
    *,
    graph: Path,
    out: common.Out,
    baselines: Baselines = CHEAP_BASELINES,
    node: Nodes = (),
    k: common.K = 8,
    title: str = "",
    overwrite: Overwrite = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
) -> None:
    """Write a result as one HTML page: graph, settings, training, test numbers, recommendations.

    The page is one file that loads nothing: send it, print it, keep it beside the result.

    Args:
        result: result folder; its calibration is shown if it has one, else one is made.
        graph: split folder, graph folder or edge file; test numbers need the split folder that the
            result was fitted on.
        out: .html file to write.
        baselines: methods fitted on the train part and measured beside the result.
        node: node to recommend for; may be given several times. By default a few, from many edges
            to few.
        k: new edges named for each of these nodes.
        title: heading of the page; by default the name of the result folder.
    """
    from arcvec.view.report.page import write_report

    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"{out}: expected a name ending in .html")
    require_writable(out, overwrite=overwrite, inputs=[result, graph])
    embeddings = EdgeEmbeddings.load(result)
    has_calibration = (result / FILE).is_file()
    given = read_graph(graph, files)  # rejects flags that do not belong to the path
    with messages.status("") as status:
        write_report(
            embeddings,
            read_split(graph) if is_split(graph) else given,
            out,
            calibration=load_calibration(result, embeddings) if has_calibration else None,
            overwrite=overwrite,
            progress=status.update,
            title=title or result.resolve().name,
            baselines=baselines,
            nodes=node,
            k=k,
        )
    plain_print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")
