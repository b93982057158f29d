"""From what members learned to the vectors that a result keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from arcvec.methods import mean_score
from arcvec.methods.mean_score import Vectors

if TYPE_CHECKING:
    from torch import Tensor

    from arcvec.training.state import Trained


_SIDES = ("source", "target")


def stored_vectors(
    trained: Sequence[Trained],
    dim: int,
    all_nodes: mean_score.AllNodes = mean_score.IN_ONE_TABLE,
) -> tuple[dict[str, Vectors], Vectors | None]:
    """Return vectors of dim numbers per node, both sides together, by the name of their file.

    Args:
        trained: what each member learned; the score is the mean of theirs.
        all_nodes: where they are about some of the nodes only.

    Returns:
        "source" and "target", with None; or "vectors" that serve both sides, with the weights of
        their columns.
    """
    sources, targets = ([_array(getattr(m.sides, side)) for m in trained] for side in _SIDES)
    scales = [_array(m.sides.scale) for m in trained if m.sides.scale is not None]
    # What degrees add comes in two columns more than there is room for.
    together = len(trained) > 1 or bool(trained[0].degree_terms)
    if scales and together:
        vectors, signs = mean_score.one_side(targets, scales, dim, all_nodes)
        return {"vectors": vectors}, signs
    if scales:
        # Vectors that carry the size of their weights: a norm says how much a node counts.
        return {"vectors": targets[0] * np.sqrt(np.abs(scales[0]))}, np.sign(scales[0])
    sides = sources[0], targets[0]
    if together:
        sides = mean_score.two_sides(sources, targets, dim // 2, all_nodes)
    return dict(zip(_SIDES, sides, strict=True)), None


def _array(tensor: Tensor) -> Vectors:
    array: Vectors = tensor.cpu().numpy()
    return array
