"""Result to fast recommendations: `index`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from arcvec.console import messages, plain_print


def index(
    result: Path,
    /,
    *,
    direction: Literal["targets", "sources", "both"] = "both",
    recall: float = 0.97,
) -> None:
    """Build the index that `recommend --approximate` uses, and keep it in the result folder.

    `recommend` builds it by itself when it is missing; this is for doing so beforehand.

    Args:
        result: result folder.
        direction: whom nodes would link to (targets), who would link to them (sources), or both.
        recall: the part of the best candidates that is to be found; more takes longer to answer.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.approximate import indexed_side
    from arcvec.recommendation.candidates import Direction
    from arcvec.recommendation.index_files import index_folder, open_index

    embeddings = EdgeEmbeddings.load(result)
    chosen: tuple[Direction, ...] = ("targets", "sources") if direction == "both" else (direction,)
    # Where scores are the same in both directions, so is the index.
    for side, one in {indexed_side(embeddings, one): one for one in chosen}.items():
        with messages.status("building the index"):
            built = open_index(result, embeddings, one, recall=recall)
        plain_print(
            f"{index_folder(result, side)}: {len(embeddings.nodes):,} {side} vectors in "
            f"{built.num_clusters:,} clusters, {built.probes[0]} looked through for a recall of "
            f"{built.recall:g} at 10"
        )
