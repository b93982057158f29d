"""Watch Your Step (Abu-El-Haija et al., 2018): graph likelihood with learned hop weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.methods.method import Method

if TYPE_CHECKING:
    from torch import Tensor

_ROWS_AT_ONCE = 256


class WatchYourStep(Method):
    """Learns source and target vectors, and how much a target counts by its distance in a walk.

    The expected number of pairs of u and v in walks from u is sum_k q_k (T^k)_uv, with transitions
    T and weights q that are learned along with the vectors; walks start in proportion to
    out-degrees, as in the authors' code. The objective is the graph likelihood over all pairs of
    nodes, by gradient steps of Adam over all of them. The `hops` powers of T are stored: graphs
    larger than `max_nodes` are refused.
    """

    dim: int = Field(
        32, ge=2, multiple_of=2, description="numbers stored per node, both sides together (even)"
    )
    seed: int = Field(0, ge=0, description="decides the initial vectors")
    hops: int = Field(5, ge=1, description="largest distance in a walk between nodes of a pair")
    walks_per_node: float = Field(80.0, gt=0, description="walks from a node, on average")
    hop_l2: float = Field(
        0.1, ge=0, description="penalty on the mean squared logits of the hop weights"
    )
    steps: int = Field(100, ge=1, description="gradient steps, each over all pairs of nodes")
    learning_rate: float = Field(0.1, gt=0, description="learning rate of Adam")
    max_nodes: int = Field(
        20_000, ge=1, description="refuse larger graphs; the memory is 2 bytes x hops x max_nodes^2"
    )

    def fit(self, graph: Graph) -> EdgeEmbeddings:
        """Return the vectors of all nodes.

        Raises:
            ValueError: the graph has more nodes than `max_nodes`.
        """
        from arcvec.methods.record import describe_fit
        from arcvec.methods.spectral import refuse_above

        refuse_above(self.max_nodes, graph, "Watch Your Step trains on")
        source, target, hop_weights = self._train(graph)
        return EdgeEmbeddings(
            source.numpy(),
            target.numpy(),
            graph.nodes,
            directed=graph.directed,
            settings={
                **describe_fit("watch-your-step", self, graph),
                "hop_weights": hop_weights.tolist(),
            },
        )

    def _train(self, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
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
        return source.detach(), target.detach(), torch.softmax(logits, 0).detach()


def graph_likelihood_of_rows(scores: Tensor, expected: Tensor, is_edge: Tensor) -> Tensor:
    """Return the negated log graph likelihood, summed over pairs of nodes.

    Args:
        scores: (B, n) of the pairs.
        expected: (B, n) expected numbers of occurrences in walks.
        is_edge: (B, n) bool; edges are no negatives.
    """
    from torch.nn.functional import logsigmoid

    likely = logsigmoid(scores)
    # log(1 - sigmoid(x)) = logsigmoid(x) - x.
    return -(expected * likely).sum() - (likely - scores).masked_fill(is_edge, 0).sum()


def transition_powers(graph: Graph, hops: int) -> Tensor:
    """Return T, T^2, ..., T^hops: (hops, n, n) float16, rows are sources."""
    import torch

    from arcvec.methods.spectral import adjacency, transitions

    step = transitions(adjacency(graph)).astype(np.float32)
    powers = torch.empty((hops, graph.num_nodes, graph.num_nodes), dtype=torch.float16)
    power = step.toarray()
    for hop in range(hops):
        if hop:
            power = step @ power
        powers[hop] = torch.from_numpy(power)
    return powers
