"""Scores to probabilities: `calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, read_graph
from arcvec.console import plain_print

if TYPE_CHECKING:
    from arcvec.graph.blocks import EdgeArray
    from arcvec.graph.graph import Graph


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
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.calibration import calibrate as calibrate_scores
    from arcvec.recommendation.calibration import save_calibration

    embeddings = EdgeEmbeddings.load(result)
    known, edges = _edges(graph, files)
    made = calibrate_scores(embeddings, known, edges, seed=seed)
    path = save_calibration(made, result)
    plain_print(
        f"{path}: even odds of a score are exp({made.slope:.4g} * score {made.intercept:+.4g}); on "
        f"{made.num_edges:,} other edges and as many non-edges, log loss {made.log_loss:.4f}, "
        f"probabilities off by {made.error:.4f} on average"
    )


def _edges(path: Path, files: EdgeFileFlags) -> tuple[Graph, EdgeArray | None]:
    """Return the graph at a path, and the edges of it to fit to if not all."""
    from arcvec.graph.split import is_split, read_split

    if is_split(path):
        split = read_split(path)
        if split.validation is not None and len(split.validation):
            return split.graph, split.validation
    return read_graph(path, files), None
