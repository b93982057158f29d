"""Result to new edges: `recommend`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
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
from arcvec.cli.workers import (
    NumWorkers,
    is_shared,
    is_worker,
    note_restart,
    one_of_many,
    start_workers,
)
from arcvec.console import messages, node_progress
from arcvec.storage import TABLE_MARKER, require_table_name, require_writable, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arcvec.embeddings import EdgeEmbeddings, Scores
    from arcvec.graph.graph import Graph
    from arcvec.graph.names import NodeIds
    from arcvec.recommendation.approximate import VectorIndex
    from arcvec.scaleout.workers import Workers


_Blocks: TypeAlias = "Iterator[tuple[NodeIds, NDArray[np.int32], Scores]]"


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
    workers: NumWorkers = None,
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
        out: .csv, .tsv or .parquet file to write; standard output by default. Of many workers it
            is a folder, in which each of them writes a part.
        workers: processes of this machine that share the nodes of --all; on several machines,
            start the command with torchrun instead.
        overwrite: replace the file or folder if it exists.
        quiet: show no progress bar.
    """
    if everyone == bool(node):
        raise ValueError("expected nodes to recommend for: either --node NAME, or --all")
    if out:
        require_table_name(out)
        require_writable(out, overwrite=overwrite)
    lists = exclude, files, only, without
    asked = _Asked(result, k, direction, *lists, approximate, probability)
    if not is_shared(workers):
        ids = asked.embeddings.nodes.ids(node) if node else np.arange(len(asked.embeddings.nodes))
        # A table on the terminal is progress enough.
        shown = everyone and out is not None and not quiet
        known = None if exclude is None else asked.read_known(exclude)
        asked.write(out, ids, known, asked.open_index, overwrite=overwrite, quiet=not shown)
        return
    if node:
        raise ValueError("--node belongs to one process; leave --workers out, or ask for --all")
    if out is None:
        raise ValueError("expected a folder to write to, as each worker writes a part: -o NAME")
    if not is_worker():
        raise SystemExit(start_workers(workers or 1))
    with one_of_many() as all_workers:
        note_restart("from the start")
        _write_together(asked, all_workers, out, overwrite=overwrite, quiet=quiet)


@dataclass(frozen=True)
class _Asked:
    """What is asked of a result, and how it is answered; for whom is said later."""

    result: Path
    k: int
    direction: Literal["targets", "sources"]
    exclude: Path | None
    files: EdgeFileFlags
    only: Path | None
    without: Path | None
    approximate: bool
    probability: Probability | None

    @cached_property
    def embeddings(self) -> EdgeEmbeddings:
        """The vectors of the result, memory-mapped."""
        from arcvec.embeddings import EdgeEmbeddings

        return EdgeEmbeddings.load(self.result)

    def read_known(self, exclude: Path) -> Graph:
        """Return the edges that are known already, over the nodes of the result."""
        return read_graph(exclude, self.files).over(self.embeddings.nodes)

    def open_index(self) -> VectorIndex | None:
        """Return the index, built if it must be; None if the answers are to be exact."""
        from arcvec.recommendation.index_files import open_index

        if not self.approximate:
            return None
        with messages.status("opening the index"):
            return open_index(self.result, self.embeddings, self.direction)

    def write(
        self,
        out: Path | None,
        ids: NodeIds,
        known: Graph | None,
        open_index: Callable[[], VectorIndex | None],
        *,
        overwrite: bool = False,
        quiet: bool = False,
        pace: Callable[[_Blocks], _Blocks] = iter,
    ) -> None:
        """Write the best new edges of some nodes.

        Args:
            known: graph of the edges that are known already.
            open_index: called last, when all else is known to be right: it may take long.
            pace: passes the answers on, block by block.
        """
        from arcvec.recommendation.candidates import Candidates, known_ids, only_ids, read_names
        from arcvec.recommendation.exact import top_k_blocks

        nodes, other = self.embeddings.nodes, self.direction[:-1]
        columns = {"node": "VARCHAR", "rank": "INTEGER", other: "VARCHAR", "score": "FLOAT"}
        probable = probability_function(self.result, self.embeddings, self.probability)
        if probable:
            columns["probability"] = "FLOAT"
        candidates = Candidates.of(
            nodes,
            self.direction,
            only=only_ids(nodes, read_names(self.only), f"--only {self.only}"),
            without=known_ids(nodes, read_names(self.without), f"--without {self.without}"),
            exclude=known,
        )
        blocks = top_k_blocks(
            self.embeddings,
            min(self.k, len(nodes)),
            ids=ids,
            candidates=candidates,
            direction=self.direction,
            index=open_index(),
        )
        with node_progress(len(ids), quiet=quiet) as report:
            rows = _rows(self.embeddings, pace(blocks), report, probable)
            write_table(out, columns, rows, overwrite=overwrite)


def _write_together(
    asked: _Asked, workers: Workers, out: Path, *, overwrite: bool, quiet: bool
) -> None:
    """Write a folder with the best new edges of all nodes, in a part of each worker."""
    from arcvec.scaleout.files import shared_folder

    with shared_folder(workers, out, overwrite=overwrite, checksums=False) as folder:
        part = folder / f"part-{workers.rank:05}{out.suffix}"
        _write_part(asked, workers, part, folder / "known", quiet=quiet or not workers.is_first)
        if workers.is_first:
            shutil.rmtree(folder / "known", ignore_errors=True)
            (folder / TABLE_MARKER).touch()


def _write_part(asked: _Asked, workers: Workers, out: Path, scratch: Path, *, quiet: bool) -> None:
    """Write what the nodes of this worker are recommended.

    Args:
        scratch: folder for known edges that all workers map; nobody needs it afterwards.
    """
    mine = workers.share(len(asked.embeddings.nodes))
    asked.write(
        out,
        np.arange(mine.start, mine.stop),
        None if asked.exclude is None else _mapped_known(asked, workers, asked.exclude, scratch),
        lambda: workers.after_first(asked.open_index),
        quiet=quiet,
        pace=workers.in_step,
    )


def _mapped_known(asked: _Asked, workers: Workers, exclude: Path, scratch: Path) -> Graph:
    """Return the known edges, on disk as far as they can be."""
    from arcvec.scaleout.graphs import mapped_both_ways, mapped_graph

    kept = scratch / "graph"
    graph = mapped_graph(workers, exclude, kept, lambda: asked.read_known(exclude))
    return mapped_both_ways(workers, graph, kept) if asked.direction == "sources" else graph


def _rows(
    embeddings: EdgeEmbeddings,
    blocks: _Blocks,
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
