"""Result to new edges: `recommend`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from arcvec.cli.flags import (
    EdgeFileFlags,
    EdgeFiles,
    OptionalOut,
    Probability,
    plain_number,
    probability_function,
    read_graph,
)
from arcvec.console import messages, node_progress
from arcvec.storage import require_writable, write_table

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings, Scores
    from arcvec.graph.names import NodeIds
    from arcvec.recommendation.approximate import VectorIndex


def recommend(
    result: Path,
    /,
    *,
    node: Annotated[tuple[str, ...], Parameter(negative_iterable=())] = (),
    everyone: Annotated[bool, Parameter(name="--all", negative=())] = False,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 10,
    exclude: Path | None = None,
    only: Path | None = None,
    without: Path | None = None,
    direction: Literal["targets", "sources"] = "targets",
    approximate: bool = False,
    probability: Probability | None = None,
    out: OptionalOut = None,
    overwrite: bool = False,
    quiet: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Name the best new edges of some nodes, or of all.

    Args:
        result: result folder.
        node: node to recommend for; may be given several times.
        everyone: recommend for every node.
        k: edges per node.
        exclude: graph folder, split folder or edge file whose edges are known already.
        only: file of the nodes that may be recommended, one name a line, as in nodes.txt.
        without: file of nodes that may not be recommended, of the same form.
        direction: whom the node would link to (targets), or who would link to it (sources).
        approximate: look only where high scores are likely, by an index that is built when it is
            missing or out of date; many times faster on large graphs, and misses a few.
        probability: add how likely each edge is, as `calibrate` found: against one random non-edge
            (even), or among all pairs of nodes with this score (density).
        out: .csv, .tsv or .parquet file to write; standard output by default.
        overwrite: replace the file if it exists.
        quiet: show no progress bar.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.candidates import Candidates, known_ids, only_ids, read_names
    from arcvec.recommendation.exact import top_k_blocks

    if everyone == bool(node):
        raise ValueError("expected nodes to recommend for: either --node NAME, or --all")
    if out:
        require_writable(out, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    nodes = embeddings.nodes
    probable = probability_function(result, embeddings, probability)
    ids = None if everyone else nodes.ids(node)
    candidates = Candidates.of(
        nodes,
        direction,
        only=only_ids(nodes, read_names(only), f"--only {only}"),
        without=known_ids(nodes, read_names(without), f"--without {without}"),
        exclude=None if exclude is None else read_graph(exclude, files),
    )
    columns = {"node": "VARCHAR", "rank": "INTEGER", direction[:-1]: "VARCHAR", "score": "FLOAT"}
    if probable:
        columns["probability"] = "FLOAT"
    blocks = top_k_blocks(
        embeddings,
        min(k, len(nodes)),
        ids=ids,
        candidates=candidates,
        direction=direction,
        index=_index(result, embeddings, direction) if approximate else None,
    )
    # A table on the terminal is progress enough.
    with node_progress(len(nodes), quiet=quiet or out is None or not everyone) as report:
        rows = _rows(embeddings, blocks, report, probable)
        write_table(out, columns, rows, overwrite=overwrite)


def _index(
    result: Path, embeddings: EdgeEmbeddings, direction: Literal["targets", "sources"]
) -> VectorIndex:
    from arcvec.recommendation.index_files import open_index

    with messages.status("opening the index"):
        return open_index(result, embeddings, direction)


def _rows(
    embeddings: EdgeEmbeddings,
    blocks: Iterator[tuple[NodeIds, NodeIds, Scores]],
    report: Callable[[int], None],
    probable: Callable[[Scores], Scores] | None,
) -> Iterator[tuple[object, ...]]:
    names = embeddings.nodes
    for asked, best, scores in blocks:
        numbers = [scores] if probable is None else [scores, probable(scores)]
        others = names.at(best)
        for i, node in enumerate(names.at(asked)):
            for j, other in enumerate(others[i]):
                if best[i, j] >= 0:
                    yield node, j + 1, other, *(plain_number(table[i, j]) for table in numbers)
        report(len(asked))
