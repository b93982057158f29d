"""Both stages as one method, for experiments: fit the vectors, then what re-ranks them."""

from __future__ import annotations

from pydantic import Field

from arcvec.graph.graph import Graph
from arcvec.method import Method
from arcvec.recommendation.rerank import NUM_BEST, Reranker
from arcvec.recommendation.rerank_fit import fit_reranker
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.sketch import SpectralSketch


class TwoStages(Method):
    """Recommends in two stages: vectors propose, the graph decides."""

    dim: int = Field(32, ge=2, multiple_of=2, description="numbers per node of the vectors")
    seed: int = Field(0, ge=0, lt=1 << 63, description="decides every random choice")
    first: EdgeProjection = Field(
        EdgeProjection(), description="how vectors are made; their dim and seed are those above"
    )
    num_best: int = Field(
        NUM_BEST, ge=1, description="candidates by vectors, three paths, short walks: of each"
    )

    def fit(self, graph: Graph) -> Reranker:
        """Return a scorer that keeps the graph."""
        shared = {"dim": self.dim, "seed": self.seed}
        embeddings = self.first.model_copy(update=shared).fit(graph)
        model = fit_reranker(
            embeddings,
            graph,
            lambda seen: SpectralSketch(dim=self.dim, seed=self.seed).fit(seen),
            num_best=self.num_best,
            seed=self.seed,
        )
        return Reranker(embeddings, graph, model)
