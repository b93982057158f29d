"""Methods trained with torch on dense matrices of nodes by nodes: DNGR and Watch Your Step."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.matrices import adjacency, refuse_above, transitions
from arcvec.method import Dim, EvenDim, MaxNodes, Method, Seed, one_side, two_sides

_STARTS_AT_ONCE = 512
_ROWS_AT_ONCE = 256


class DNGR(Method):
    """Compresses each node's row of positive pointwise mutual information; symmetric scores.

    By Cao, Lu and Xu (2016), with their network, training and defaults: a stacked denoising
    auto-encoder compresses the row of a node to `dim` numbers; the score is Y_u . Y_v.
    """

    dim: Dim = 32
    seed: Seed = 0
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
    max_nodes: MaxNodes = 20_000

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; a ValueError above `max_nodes`."""
        refuse_above(self.max_nodes, graph, "DNGR stores and compresses")
        rows = torch.from_numpy(mutual_information(graph, self.surfing_steps, self.continuation))
        generator = Generator().manual_seed(self.seed)
        for size in (*self.hidden, self.dim):
            rows = self._compress(rows, size, generator)
        vectors = rows.numpy() if graph.num_edges else np.zeros_like(rows.numpy())
        return one_side("dngr", self, graph, vectors, np.ones(self.dim))

    def _compress(self, rows: Tensor, size: int, generator: Generator) -> Tensor:
        """Return the codes of a denoising auto-encoder with one layer, trained on the rows."""
        num_nodes, width = rows.shape
        bound = 4 * (6 / (width + size)) ** 0.5  # Glorot's initialisation for sigmoids
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
    """Return the positive pointwise mutual information of random surfing; rows are starts.

    A surfer starts at a node, follows a random out-edge with probability `continuation` and else
    starts again; visits after 1 to `steps` steps are added up, a node's visits to itself left out.
    """
    matrix = adjacency(graph)
    matrix.setdiag(0)
    follow = transitions(matrix).T.tocsr().astype(np.float32)
    num_nodes = graph.num_nodes
    visits = np.zeros((num_nodes, num_nodes), dtype=np.float32)
    for first in range(0, num_nodes, _STARTS_AT_ONCE):
        starts = np.arange(first, min(first + _STARTS_AT_ONCE, num_nodes))
        visits[starts] = _surf(follow, starts, steps, continuation).T
    expected = visits.sum(axis=0, dtype=np.float64) / max(1.0, visits.sum(dtype=np.float64))
    # Rows sum to 1, so the expected share of a node is its column's part of all visits.
    for row in visits:
        seen = row > 0
        row[seen] = np.maximum(0, np.log(row[seen] / expected[seen]))
    return visits


def _surf(
    follow: Any, starts: NDArray[np.int64], steps: int, continuation: float
) -> NDArray[np.float32]:
    """Return the share of all visits that each node gets: a column per start."""
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


class WatchYourStep(Method):
    """Learns source and target vectors, and a weight for each distance in a walk.

    By Abu-El-Haija et al. (2018). The expected number of pairs of u and v in walks from u is
    sum_k q_k (T^k)_uv, with transitions T and learned weights q; walks start in proportion to
    out-degrees, as in the authors' code. Every step of Adam takes all pairs of nodes.
    """

    dim: EvenDim = 32
    seed: Seed = 0
    hops: int = Field(5, ge=1, description="largest distance in a walk between nodes of a pair")
    walks_per_node: float = Field(80.0, gt=0, description="walks from a node, on average")
    hop_l2: float = Field(
        0.1, ge=0, description="penalty on the mean squared logits of the hop weights"
    )
    steps: int = Field(100, ge=1, description="gradient steps, each over all pairs of nodes")
    learning_rate: float = Field(0.1, gt=0, description="learning rate of Adam")
    max_nodes: MaxNodes = 20_000

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes; a ValueError above `max_nodes`."""
        refuse_above(self.max_nodes, graph, "Watch Your Step trains on")
        generator = Generator().manual_seed(self.seed)
        shape = (graph.num_nodes, self.dim // 2)
        bound = 0.1 if graph.num_edges else 0.0
        source, target = (
            torch.empty(shape).uniform_(-bound, bound, generator=generator).requires_grad_()
            for _ in range(2)
        )
        logits = torch.zeros(self.hops, requires_grad=True)
        powers = transition_powers(graph, self.hops)
        mean_degree = max(1, graph.indices.size) / max(1, graph.num_nodes)
        walks = self.walks_per_node * graph.out_degrees / mean_degree
        walks_from = torch.from_numpy(walks).float()[:, None]
        optimiser = torch.optim.Adam([source, target, logits], lr=self.learning_rate)
        for _ in range(self.steps if graph.num_edges else 0):
            optimiser.zero_grad()
            penalty = self.hop_l2 * logits.square().mean()
            penalty.backward()  # type: ignore[no-untyped-call]
            for first in range(0, graph.num_nodes, _ROWS_AT_ONCE):
                rows = slice(first, first + _ROWS_AT_ONCE)
                expected = torch.softmax(logits, 0) @ powers[:, rows].float().flatten(1)
                loss = graph_likelihood_of_rows(
                    source[rows] @ target.T,
                    walks_from[rows] * expected.view(-1, graph.num_nodes),
                    powers[0, rows] > 0,
                )
                # Averaged over pairs, so that the penalty weighs alike on graphs of all sizes.
                (loss / graph.num_nodes**2).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        sides = source.detach().numpy(), target.detach().numpy()
        hop_weights = torch.softmax(logits, 0).tolist()
        return two_sides("watch-your-step", self, graph, *sides, hop_weights=hop_weights)


def graph_likelihood_of_rows(scores: Tensor, expected: Tensor, is_edge: Tensor) -> Tensor:
    """Return the negated log graph likelihood, summed over pairs of nodes; all are (B, n).

    `expected` are numbers of occurrences in walks. Edges are no negatives.
    """
    likely = logsigmoid(scores)
    # log(1 - sigmoid(x)) = logsigmoid(x) - x.
    return -(expected * likely).sum() - (likely - scores).masked_fill(is_edge, 0).sum()


def transition_powers(graph: Graph, hops: int) -> Tensor:
    """Return T, T^2, ..., T^hops: (hops, n, n) float16, rows are sources."""
    step = transitions(adjacency(graph)).astype(np.float32)
    powers = torch.empty((hops, graph.num_nodes, graph.num_nodes), dtype=torch.float16)
    power = step.toarray()
    for hop in range(hops):
        if hop:
            power = step @ power
        powers[hop] = torch.from_numpy(power)
    return powers
