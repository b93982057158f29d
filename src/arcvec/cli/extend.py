"""What is added to a result: `add`, `calibrate`, `index` and `rerank`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter
from cyclopts.validators import Number

from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Out, Overwrite, Result, read_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import EdgeArray
from arcvec.graph.split import is_split, read_split
from arcvec.recommendation import calibration
from arcvec.recommendation.approximate import index_folder, indexed_side, open_index
from arcvec.recommendation.exact import Direction
from arcvec.recommendation.new_nodes import add_nodes
from arcvec.recommendation.rerank import NUM_BEST, save_model
from arcvec.storage.atomic import require_writable
from arcvec.training.presets import load_method
from arcvec.view.console import messages, note, plain_print


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


def rerank(
    result: Result,
    /,
    *,
    graph: Path,
    refit: Literal["quick", "whole"] = "quick",
    num_best: Annotated[int, Parameter(validator=Number(gte=1))] = NUM_BEST,
    seed: int = 0,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Learn to re-rank what the vectors propose by what the graph says, for `recommend`.

    The weights of a few features are fitted on held-out edges and written to rerank.json in the
    result folder. If they do not gain there, that is printed and the vectors are used alone.

    Args:
        graph: graph folder, split folder (then its train part) or edge file that the result was
            fitted on.
        refit: vectors that have not seen the held-out edges: from a quick sketch, or from a fit
            with the settings of the result, which takes as long as the first one.
        num_best: candidates by the vectors, by three paths and by short walks, as many of each.
        seed: decides which edges are held out.
    """
    # Both import scipy.
    from arcvec.recommendation.rerank_fit import fit_reranker
    from arcvec.training.sketch import SpectralSketch

    embeddings = EdgeEmbeddings.load(result)
    known = read_graph(graph, files)
    if not embeddings.learned_from(known):
        note("the result was fitted on another graph: edges it has not seen are known here too")

    def fit_again(seen: Graph) -> EdgeEmbeddings:
        if refit == "quick":
            return SpectralSketch(dim=embeddings.dim + embeddings.dim % 2).fit(seen)
        return load_method(config=result / "settings.json").fit(seen)

    with messages.status("fitting the second stage on held-out edges"):
        model = fit_reranker(embeddings, known, fit_again, num_best=num_best, seed=seed)
    path = save_model(model, result)
    for question, head in model.heads.items():
        measure = "AUC" if question == "pairs" else "MRR"
        used = "" if head.is_used else "; no gain beyond noise: not used"
        plain_print(
            f"{path}: {question}: {measure} on held-out edges {head.vectors:.4f} by vectors, "
            f"{head.vectors + head.gain:.4f} re-ranked (gain {head.gain:+.4f}, standard error "
            f"{head.standard_error:.4f}), {100 * head.found:.0f} % among candidates{used}"
        )
