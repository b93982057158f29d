"""DNGR (Cao, Lu and Xu, 2016): an auto-encoder of how often nodes meet in random surfing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method

if TYPE_CHECKING:
    from torch import Generator, Tensor

_ROWS_AT_ONCE = 512


class DNGR(Method):
    """Compresses each node's row of positive pointwise mutual information; symmetric scores.

    The row of a node says how much more often random surfing meets every other node than chance
    would. A stacked denoising auto-encoder makes `dim` numbers of it, trained layer by
    layer; the score is Y_u . Y_v. Network, training and defaults are those of the authors' code.

    The rows are a dense num_nodes x num_nodes matrix, and so are the first layer's inputs:
    larger graphs than `max_nodes` are refused.
    """

    dim: int = Field(32, ge=1, description="numbers stored per node")
    seed: int = Field(0, ge=0, description="decides every random choice")
    surfing_steps: int = Field(3, ge=1, description="steps of random surfing")
    continuation: float = Field(
        0.98, gt=0, le=1, description="probability of a further step, else back to the start"
    )
    hidden: tuple[int, ...] = Field((512,), description="sizes of the layers before the last")
    masked: float = Field(0.2, ge=0, lt=1, description="part of the inputs set to 0 in training")
    epochs: int = Field(10, ge=1, description="times that each layer goes over all nodes")
    batch_nodes: int = Field(50, ge=1, description="nodes in one step")
    learning_rate: float = Field(0.25, gt=0, description="step of gradient descent")
    learning_rate_decay: float = Field(
        0.95, gt=0, le=1, description="factor on the learning rate after every epoch"
    )
    max_nodes: int = Field(
        20_000, ge=1, description="refuse larger graphs; memory is 4 max_nodes^2"
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes.

        Raises:
            ValueError: the graph has more nodes than `max_nodes`.
        """
        import torch

        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import refuse_above

        refuse_above(self.max_nodes, graph, "DNGR stores and compresses")
        rows = torch.from_numpy(mutual_information(graph, self.surfing_steps, self.continuation))
        generator = torch.Generator().manual_seed(self.seed)
        for size in (*self.hidden, self.dim):
            rows = self._compress(rows, size, generator)
        vectors = rows.numpy() if graph.num_edges else np.zeros_like(rows.numpy())
        return EdgeEmbeddings.one_vector(
            vectors,
            np.ones(self.dim),
            graph.nodes,
            directed=graph.directed,
            settings=describe_fit("dngr", self, graph),
        )

    def _compress(self, rows: Tensor, size: int, generator: Generator) -> Tensor:
        """Return the codes of a denoising auto-encoder with one layer, trained on the rows."""
        import torch

        num_nodes, width = rows.shape
        # The initialisation usual for sigmoids.
        bound = 4 * (6 / (width + size)) ** 0.5
        encoder = torch.empty(width, size).uniform_(-bound, bound, generator=generator)
        decoder = torch.empty(size, width).uniform_(-bound, bound, generator=generator)
        parameters = [encoder, torch.zeros(size), decoder, torch.zeros(width)]
        for parameter in parameters:
            parameter.requires_grad_()
        optimiser = torch.optim.SGD(parameters, lr=self.learning_rate)
        decay = torch.optim.lr_scheduler.ExponentialLR(optimiser, self.learning_rate_decay)
        for _ in range(self.epochs):
            order = torch.randperm(num_nodes, generator=generator)
            for first in range(0, num_nodes, self.batch_nodes):
                clean = rows[order[first : first + self.batch_nodes]]
                kept = torch.rand(clean.shape, generator=generator) >= self.masked
                codes = torch.sigmoid((clean * kept) @ parameters[0] + parameters[1])
                output = torch.sigmoid(codes @ parameters[2] + parameters[3])
                loss = (output - clean).square().sum(dim=1).mean() / 2
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            decay.step()
        with torch.no_grad():
            return torch.sigmoid(rows @ parameters[0] + parameters[1])


def mutual_information(graph: Graph, steps: int, continuation: float) -> NDArray[np.float32]:
    """Return the positive pointwise mutual information of random surfing.

    A surfer starts at a node, follows a random out-edge with probability `continuation` and else
    starts again; visits after 1 to `steps` steps are added up, a node's visits to itself left out.

    Returns:
        (num_nodes, num_nodes) float32, rows are starts; zeros where nothing is visited.
    """
    from arcvec.methods.spectral import adjacency, transitions

    matrix = adjacency(graph)
    matrix.setdiag(0)
    follow = transitions(matrix).T.tocsr().astype(np.float32)
    num_nodes = graph.num_nodes
    visits = np.zeros((num_nodes, num_nodes), dtype=np.float32)
    for first in range(0, num_nodes, _ROWS_AT_ONCE):
        starts = np.arange(first, min(first + _ROWS_AT_ONCE, num_nodes))
        visits[starts] = _surf(follow, starts, steps, continuation).T
    expected = visits.sum(axis=0, dtype=np.float64) / max(1.0, visits.sum(dtype=np.float64))
    # Rows sum to 1, so what a node adds to the chance of a meeting is its column's part of all.
    for row in visits:
        seen = row > 0
        row[seen] = np.maximum(0, np.log(row[seen] / expected[seen]))
    return visits


def _surf(
    follow: Any, starts: NDArray[np.int64], steps: int, continuation: float
) -> NDArray[np.float32]:
    """Return the parts of all visits that fall on each node: a column per start."""
    columns = np.arange(starts.size)
    present = np.zeros((follow.shape[0], starts.size), dtype=np.float32)
    present[starts, columns] = 1
    visits = np.zeros_like(present)
    for _ in range(steps):
        present = np.float32(continuation) * (follow @ present)
        present[starts, columns] += np.float32(1 - continuation)
        visits += present
    visits[starts, columns] = 0
    sums = visits.sum(axis=0)
    visits /= np.where(sums > 0, sums, 1)
    return visits
