"""What a report is about: a result, the graph it is held against, and test edges if there are."""

from __future__ import annotations

from dataclasses import dataclass

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.blocks import EdgeArray
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split
from arcvec.plot.plane import graph_over


@dataclass(frozen=True, eq=False)
class Subject:
    """A result beside its graph.

    Attributes:
        given: the graph, or the train part of the split, as it was given.
        known: the edges of it that are known, over the nodes of the result.
    """

    embeddings: EdgeEmbeddings
    given: Graph
    known: Graph
    split: Split | None = None

    @classmethod
    def of(cls, embeddings: EdgeEmbeddings, graph: Graph | Split) -> Subject:
        """Return the subject, of a split with its train part as what is known.

        Raises:
            ValueError: the graph is not one of the result.
        """
        split = graph if isinstance(graph, Split) else None
        given = graph.train if isinstance(graph, Split) else graph
        if given.directed != embeddings.directed:
            words = ("undirected", "directed")
            raise ValueError(
                f"expected the graph of the result, which is {words[embeddings.directed]}, got "
                f"one that is {words[given.directed]}; an edge file is directed unless "
                "--undirected says otherwise"
            )
        known = graph_over(given, embeddings.nodes)
        if known.num_edges == 0:
            raise ValueError("expected a graph with edges to report on, got none")
        return cls(embeddings, given, known, split)

    @property
    def test(self) -> EdgeArray | None:
        """The test edges, (m, 2) ids; None without any."""
        return None if self.split is None or not len(self.split.test) else self.split.test

    @property
    def validation(self) -> EdgeArray | None:
        """The validation edges, (m, 2) ids; None without any."""
        held_out = None if self.split is None else self.split.validation
        return None if held_out is None or not len(held_out) else held_out

    @property
    def degree_word(self) -> str:
        """What the number of sources of a node is called."""
        return "in-degree" if self.given.directed else "degree"
