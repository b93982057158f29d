"""What is learned about a result on a graph: `rerank`, the second stage of recommendations."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Result, read_graph
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.recommendation.rerank import NUM_BEST, save_model
from arcvec.view.console import messages, note, plain_print


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
    from arcvec.recommendation.rerank_fit import fit_reranker  # imports scipy

    embeddings = EdgeEmbeddings.load(result)
    known = read_graph(graph, files)
    if not embeddings.learned_from(known):
        note("the result was fitted on another graph: edges it has not seen are known here too")
    again = partial(_refit, embeddings, refit, result / "settings.json")
    with messages.status("fitting the second stage on held-out edges"):
        model = fit_reranker(embeddings, known, again, num_best=num_best, seed=seed)
    path = save_model(model, result)
    for question, head in model.heads.items():
        measure = "AUC" if question == "pairs" else "MRR"
        used = "" if head.is_used else "; no gain beyond noise: not used"
        plain_print(
            f"{path}: {question}: {measure} on held-out edges {head.vectors:.4f} by vectors, "
            f"{head.vectors + head.gain:.4f} re-ranked (gain {head.gain:+.4f}, standard error "
            f"{head.standard_error:.4f}), {100 * head.found:.0f} % among candidates{used}"
        )


def _refit(
    embeddings: EdgeEmbeddings, kind: Literal["quick", "whole"], settings: Path, seen: Graph
) -> EdgeEmbeddings:
    if kind == "quick":
        from arcvec.training.sketch import SpectralSketch

        return SpectralSketch(dim=embeddings.dim + embeddings.dim % 2).fit(seen)
    from arcvec.training.presets import load_method

    return load_method(config=settings).fit(seen)
