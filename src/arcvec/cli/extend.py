"""What is added to a result: `add` new nodes, `calibrate` its scores, `index` its vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Out, Overwrite, Result, read_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import EdgeArray
from arcvec.graph.split import is_split, read_split
from arcvec.recommendation import calibration
from arcvec.recommendation.approximate import index_folder, indexed_side, open_index
from arcvec.recommendation.exact import Direction
from arcvec.recommendation.new_nodes import add_nodes
from arcvec.storage.atomic import require_writable
from arcvec.view.console import messages, plain_print


def add(
    result: Result,
    edges: Path,
    /,
    *,
    out: Out,
    graph: Path | None = None,
    seed: int = 0,
    overwrite: Overwrite = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Give vectors to new nodes by their edges to known ones, without training again.

    Known nodes keep their vectors, byte for byte; new ones come after them.

    Args:
        edges: edges of the new nodes, in any form of graph that `fit` reads.
        out: result folder to write.
        graph: graph of the known nodes, which gives the average degree; by default the new edges
            do.
        seed: decides which nodes stand for those without an edge.
    """
    require_writable(out, overwrite=overwrite, inputs=[result, edges])
    embeddings = EdgeEmbeddings.load(result)
    linked = read_graph(edges, files)
    usual = None if graph is None else read_graph(graph, EdgeFileFlags())
    with messages.status("fitting the new nodes"):
        larger = add_nodes(embeddings, linked, graph=usual, seed=seed)
    larger.save(out, float16=larger.target.dtype == np.float16, overwrite=overwrite)
    num_new = len(larger.nodes) - len(embeddings.nodes)
    plain_print(f"{out}: {len(larger.nodes):,} nodes, {num_new:,} of them new, dim {larger.dim}")


def calibrate(
    result: Path,
    /,
    *,
    graph: Path,
    seed: int = 0,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Fit how scores become probabilities, for `score` and `recommend` with --probability.

    Args:
        result: result folder, in which calibration.json is written or replaced.
        graph: graph folder, split folder or edge file whose edges and non-edges are scored; best
            with edges that the training has not seen. Of a split, its validation part is taken.
        seed: decides which non-edges are drawn.
    """
    embeddings = EdgeEmbeddings.load(result)
    edges: EdgeArray | None = None
    if is_split(graph):
        split = read_split(graph)
        known, edges = split.graph, split.validation
    if edges is None or not len(edges):
        known, edges = read_graph(graph, files), None
    made = calibration.calibrate(embeddings, known, edges, seed=seed)
    path = calibration.save_calibration(made, result)
    plain_print(
        f"{path}: even odds of a score are exp({made.slope:.4g} * score {made.intercept:+.4g}); on "
        f"{made.num_edges:,} other edges and as many non-edges, log loss {made.log_loss:.4f}, "
        f"probabilities off by {made.error:.4f} on average"
    )


def index(
    result: Result,
    /,
    *,
    direction: Literal["targets", "sources", "both"] = "both",
    recall: float = 0.97,
) -> None:
    """Build the index that `recommend --approximate` uses, and keep it in the result folder.

    `recommend` builds it by itself when it is missing; this is for doing so beforehand.

    Args:
        direction: whom nodes would link to (targets), who would link to them (sources), or both.
        recall: the part of the best candidates that is to be found; more takes longer to answer.
    """
    embeddings = EdgeEmbeddings.load(result)
    chosen: tuple[Direction, ...] = ("targets", "sources") if direction == "both" else (direction,)
    # If scores are symmetric, one index serves both directions.
    for side, one in {indexed_side(embeddings, one): one for one in chosen}.items():
        with messages.status("building the index"):
            built = open_index(result, embeddings, one, recall=recall)
        plain_print(
            f"{index_folder(result, side)}: {len(embeddings.nodes):,} {side} vectors in "
            f"{built.num_clusters:,} clusters, {built.probes[0]} looked through for a recall of "
            f"{built.recall:g} at 10"
        )
