"""What a result is for: `score`, `recommend`, `explain`, and `export` to other tools."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from arcvec.cli import common
from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Overwrite, Result, read_graph
from arcvec.embeddings import EdgeEmbeddings, EdgeScorer, Scores
from arcvec.export.vectors import ExportSettings, choose_format, export_vectors
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.ingest.ingest import read_pairs
from arcvec.parallel.alone import Alone
from arcvec.parallel.shared import shared_folder, shared_graph
from arcvec.recommendation.approximate import open_index
from arcvec.recommendation.calibration import Odds, load_calibration
from arcvec.recommendation.exact import Candidates, Direction, known_ids, read_names, top_k_blocks
from arcvec.recommendation.explain import explain as explain_edge
from arcvec.recommendation.rerank import load_reranker
from arcvec.storage.atomic import TABLE_MARKER, require_writable
from arcvec.storage.tables import require_table_name, write_table
from arcvec.view.console import escape, messages, node_progress, note, output, plain_print

ExportFlags = Annotated[ExportSettings, Parameter(name="*", group="Format")]
Probability = Annotated[
    Odds | None,
    Parameter(
        help="add how likely each edge is, as `calibrate` found: against one random non-edge "
        "(even), or among all pairs of nodes with this score (density)."
    ),
]


def score(
    result: Result,
    pairs: Path,
    /,
    *,
    probability: Probability = None,
    rerank: Path | None = None,
    out: common.OptionalOut = None,
    overwrite: Overwrite = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Score the pairs of nodes in a file, in their order.

    Args:
        pairs: file with a source and a target in each line, in any format `ingest` reads.
        rerank: graph folder, split folder or edge file with the known edges: score by the second
            stage for pairs, as `rerank` has fitted it, instead of by the vectors alone.
        out: .csv, .tsv or .parquet file to write; standard output by default.
    """
    if out:
        require_writable(out, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    if rerank and probability:
        raise ValueError("probabilities are those of the vectors; leave --probability or --rerank")
    numbers_of = _numbers_function(result, embeddings, probability)
    scorer: EdgeScorer | None = embeddings
    if rerank is not None:
        scorer = load_reranker(result, embeddings, read_graph(rerank, EdgeFileFlags()))
    if scorer is None:
        raise FileNotFoundError(
            f"{result}: expected a second stage; make it with: arcvec rerank RESULT --graph GRAPH"
        )
    sources, targets = read_pairs(pairs, files)
    scores = scorer.score(embeddings.nodes.ids(sources), embeddings.nodes.ids(targets))
    columns = {"source": "VARCHAR", "target": "VARCHAR", "score": "FLOAT"}
    columns |= {"probability": "FLOAT"} if probability else {}
    rows = zip(sources, targets, *numbers_of(scores), strict=True)
    write_table(out, columns, rows, overwrite=overwrite)


def recommend(
    result: Result,
    /,
    *,
    node: common.Nodes = (),
    everyone: Annotated[bool, Parameter(name="--all", negative=())] = False,
    k: common.K = 10,
    exclude: Path | None = None,
    only: Path | None = None,
    without: Path | None = None,
    direction: Direction = "targets",
    popularity: float = 1,
    approximate: bool = False,
    rerank: bool = True,
    probability: Probability = None,
    out: common.OptionalOut = None,
    workers: common.NumWorkers = None,
    overwrite: Overwrite = False,
    quiet: common.Quiet = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Name the best new edges of some nodes, or of all.

    Args:
        node: node to recommend for; may be given several times.
        everyone: recommend for every node.
        k: edges per node.
        exclude: graph folder, split folder or edge file whose edges are known already.
        only: file of the nodes that may be recommended, one name a line, as in nodes.txt.
        without: file of nodes that may not be recommended, of the same form.
        direction: whom the node would link to (targets), or who would link to it (sources).
        popularity: how much the popularity of a recommended node counts, which is its mean score
            over all nodes: from 1, as trained, to 0, taken out.
        approximate: look only where high scores are likely, by an index that is built when it is
            missing or out of date; many times faster on large graphs, and misses a few.
        rerank: let the second stage, if `rerank` has fitted one, order what the vectors propose by
            what the known edges say; needs --exclude, and leaves out --probability.
        out: .csv, .tsv or .parquet file to write; standard output by default. Of many workers it
            is a folder, in which each of them writes a part.
    """
    if everyone == bool(node):
        raise ValueError("expected nodes to recommend for: either --node NAME, or --all")
    if probability and popularity != 1:
        raise ValueError(
            "probabilities are those of scores as trained; leave out --popularity or --probability"
        )
    if out:
        require_table_name(out)
        require_writable(out, overwrite=overwrite)
    shared = common.is_shared(workers)
    if shared and node:
        raise ValueError("--node belongs to one process; leave --workers out, or ask for --all")
    if shared and out is None:
        raise ValueError("expected a folder to write to, as each worker writes a part: -o NAME")
    with common.joined_workers(workers) as team:
        embeddings = EdgeEmbeddings.load(result)
        nodes = embeddings.nodes
        ids = nodes.ids(node) if node else np.arange(len(nodes))
        mine = team.share(len(ids))
        ids = ids[mine.start : mine.stop]
        numbers_of = _numbers_function(result, embeddings, probability)
        columns = {"node": "VARCHAR", "rank": "INTEGER", direction[:-1]: "VARCHAR"}
        columns |= {"score": "FLOAT"} | ({"probability": "FLOAT"} if probability else {})
        with _part(team, out, shared=shared, overwrite=overwrite) as (part, scratch):
            known = None
            if exclude is not None:
                known = shared_graph(
                    team,
                    scratch and scratch / "graph",
                    lambda: read_graph(exclude, files).over(nodes),
                    both_ways=direction == "sources",
                )
            candidates = Candidates.of(
                nodes,
                direction,
                exclude=known,
                only=known_ids(nodes, read_names(only), f"--only {only}", required=True),
                without=known_ids(nodes, read_names(without), f"--without {without}"),
                popularity=popularity,
            )
            index = second = None
            if approximate:  # last, since building it may take long
                with messages.status("opening the index"):
                    index = team.after_first(lambda: open_index(result, embeddings, direction))
            if rerank and known is not None:
                second = load_reranker(result, embeddings, known, index)
            if second is not None and probability:
                note("probabilities are those of the vectors alone: not re-ranked")
                second = None
            search = second or index
            blocks = top_k_blocks(embeddings, ids, min(k, len(nodes)), candidates, search)
            # A table on the terminal shows its own progress.
            hidden = quiet or not everyone or out is None or not team.is_first
            with node_progress(len(ids), quiet=hidden) as report:
                rows = _rows(nodes, team.in_step(blocks), report, numbers_of)
                write_table(part, columns, rows, overwrite=overwrite)


@contextmanager
def _part(
    workers: Alone, out: Path | None, *, shared: bool, overwrite: bool
) -> Iterator[tuple[Path | None, Path | None]]:
    """Yield `out`, or the table in it that this worker writes, and a scratch folder."""
    if out is None or not shared:
        yield out, None
        return
    common.note_restart("from the start")
    with shared_folder(workers, out, overwrite=overwrite, checksums=False) as folder:
        scratch = folder / "known"
        yield folder / f"part-{workers.rank:05}{out.suffix}", scratch
        if workers.is_first:
            shutil.rmtree(scratch, ignore_errors=True)
            (folder / TABLE_MARKER).touch()


def _rows(
    names: NodeNames,
    blocks: Iterator[tuple[NodeIds, NDArray[np.int32], Scores]],
    report: Callable[[int], None],
    numbers_of: Callable[[Scores], list[list[float]]],
) -> Iterator[tuple[object, ...]]:
    for ids, best, scores in blocks:
        row, column = np.nonzero(best >= 0)  # there may be fewer candidates
        ends = names.at(ids)[row], (column + 1).tolist(), names.at(best)[row, column]
        yield from zip(*ends, *numbers_of(scores[row, column]), strict=True)
        report(len(ids))


def _numbers_function(
    result: Path, embeddings: EdgeEmbeddings, odds: Odds | None
) -> Callable[[Scores], list[list[float]]]:
    """Return the function from scores to columns of a table: scores, and probabilities if asked."""
    calibration = load_calibration(result, embeddings) if odds else None

    def numbers_of(scores: Scores) -> list[list[float]]:
        columns = [scores]
        if calibration is not None and odds is not None:
            columns.append(calibration.probabilities(scores, odds))
        # Rounded to the six significant figures that float32 has.
        return [[float(f"{value:.6g}") for value in column.tolist()] for column in columns]

    return numbers_of


def explain(
    result: Result,
    from_node: str,
    to_node: str,
    /,
    *,
    graph: Path | None = None,
    k: common.K = 5,
    as_json: common.Json = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Say where an edge ranks, and which known edges are most like it.

    Args:
        from_node: source of the edge.
        to_node: target of the edge.
        graph: graph folder, split folder (then its train part) or edge file with the known edges;
            known targets of the source then leave the ranking, but for the one asked about.
        k: known edges of each kind.
    """
    embeddings = EdgeEmbeddings.load(result)
    embeddings.nodes.ids([from_node, to_node])  # report a typo before a graph is read
    known = None if graph is None else read_graph(graph, files)
    second = None if known is None else load_reranker(result, embeddings, known)
    found = explain_edge(embeddings, from_node, to_node, graph=known, k=k, second_stage=second)
    if as_json:
        plain_print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
        return
    source, target = escape(found.source), escape(found.target)
    left_out = "" if found.known is None else f" and {found.num_left_out:,} other known targets"
    output.print(
        f"[bold]{source} -> {target}[/]{' (a known edge)' if found.known else ''}\n"
        f"score  {found.score:.4f}\n"
        f"rank   {found.rank:,} of {found.num_candidates:,} candidates, "
        f"above {found.percentile:.1f} % of the others\n"
        f"       left out: {source} itself{left_out}",
        soft_wrap=True,
    )
    if found.second_stage:
        total = sum(found.second_stage.values())
        terms = sorted(found.second_stage.items(), key=lambda term: -term[1])
        parts = ", ".join(f"{name} {value:+.2f}" for name, value in terms)
        output.print(f"second stage  {total:.4f}, compared with a usual candidate: {parts}")
    if known is None:
        note("the known edges most like this one are shown with --graph")
        return
    for title, side, edges in (
        (f"sources linked to {target}, by nearness to {source}", "source", found.similar_sources),
        (f"targets linked from {source}, by nearness to {target}", "target", found.similar_targets),
    ):
        output.print(f"\n[bold]Known {title}[/]" + ("" if edges else ": none"), soft_wrap=True)
        table = Table(side, box=SIMPLE_HEAD, pad_edge=False)
        for name in ("similarity", "score"):
            table.add_column(name, justify="right")
        for edge in edges:
            name = escape(getattr(edge, side))
            table.add_row(name, f"{edge.similarity:.3f}", f"{edge.score:.4f}")
        if edges:
            output.print(table)


def export(
    result: Result,
    /,
    *,
    out: common.Out,
    settings: ExportFlags = ExportSettings(),  # noqa: B008  frozen
    overwrite: Overwrite = False,
) -> None:
    """Write the vectors as Parquet, word2vec text, safetensors or .npy files.

    The score of an edge is the inner product of its source's source vector and its target's target
    vector. In DuckDB: array_inner_product(source::FLOAT[16], target::FLOAT[16]); in pgvector: <#>;
    in gensim, which knows only the cosine: --equal-norms.

    Args:
        out: file to write, or folder for npy.
    """
    chosen = choose_format(out, settings)
    require_writable(out, overwrite=overwrite, inputs=[result])
    embeddings = EdgeEmbeddings.load(result)
    export_vectors(embeddings, out, settings, overwrite=overwrite)
    plain_print(f"{out}: {len(embeddings.nodes):,} nodes, {settings.precision}, {chosen}")
