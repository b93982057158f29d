"""A model that begins at given vectors: the usual one, beside a part that hands them through.

Y has one column more for each number of a vector. In f two hidden units carry it past the relu,
as x = relu(x) - relu(-x), and the last BatchNorm gives it its mean and its size. L and R pick these
outputs of f and, before the first step, no others: scores are those of the vectors. All else is
as it always is, so that the training can find what the vectors do not say.
"""

from __future__ import annotations

import torch
from torch import Tensor

from arcvec.model.edge_model import EdgeModel
from arcvec.model.settings import ModelSettings


def widened(settings: ModelSettings, numbers: int) -> ModelSettings:
    """Return the settings of a model with room to hand so many numbers of a node through."""
    if settings.output_relu and settings.hidden:
        raise ValueError(
            "expected model.output_relu to be false: a relu at the end of the network cannot give "
            "earlier vectors back; leave it out, or begin without an earlier result"
        )
    hidden = tuple(size + 2 * numbers for size in settings.hidden)
    outer = {name: getattr(settings, name) + numbers for name in ("node_dim", "manifold_dim")}
    return settings.model_copy(update={"hidden": hidden, **outer})


@torch.no_grad()
def hand_through(model: EdgeModel, vectors: Tensor, scale: Tensor | None) -> Tensor:
    """Set the last units of every layer so that the sides of nodes are `vectors`.

    Args:
        model: of widened settings; it is changed.
        vectors: (num_nodes, numbers), source and target side by side, or one vector for both.
        scale: (numbers,), the weights of one vector for both; else None.

    Returns:
        the last columns of Y, (num_nodes, numbers).
    """
    numbers, same = vectors.shape[1], torch.eye(vectors.shape[1])
    both_signs = torch.cat([same, -same])  # (2 * numbers, numbers)
    incoming = same
    for i, layer in enumerate(model.layers):
        assert isinstance(layer.weight, Tensor)
        last = i + 1 == len(model.layers)
        handed = incoming if last else both_signs @ incoming
        layer.weight[-len(handed) :] = 0
        layer.weight[-len(handed) :, -handed.shape[1] :] = handed
        incoming = both_signs.T
    if model.scale is not None:
        assert scale is not None
        model.scale.copy_(scale)
    if model.source_projection is not None:
        columns = model.source_projection.shape[0]
        model.source_projection.zero_()[:, -numbers:] = same[:columns]
        if model.target_projection is not None:
            model.target_projection.zero_()[:, -numbers:] = same[columns:]
    if not model.layers:
        return vectors
    # Over the nodes as BatchNorm will see them; a number that is the same for all has no size.
    mean, size = vectors.mean(dim=0), vectors.std(dim=0, correction=0)
    size[size == 0] = 1.0
    norm = model.norms[-1]
    assert isinstance(norm, torch.nn.BatchNorm1d)
    norm.weight[-numbers:], norm.bias[-numbers:] = size, mean
    return (vectors - mean) / size
