"""Result to larger result: `add`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, Out, read_graph
from arcvec.console import messages, plain_print
from arcvec.storage import require_writable


def add(
    result: Path,
    edges: Path,
    /,
    *,
    out: Out,
    graph: Path | None = None,
    seed: int = 0,
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Give vectors to new nodes by their edges to known ones, without training again.

    Known nodes keep their vectors, byte for byte; new ones come after them.

    Args:
        result: result folder.
        edges: edges of the new nodes, in any form of graph that `fit` reads.
        out: result folder to write.
        graph: graph of the known nodes, to learn from how many edges a node usually has; by
            default the new edges tell.
        seed: decides which nodes stand for those without an edge.
        overwrite: replace the output if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.new_nodes import add_nodes

    require_writable(out, overwrite=overwrite, inputs=[result, edges])
    embeddings = EdgeEmbeddings.load(result)
    linked = read_graph(edges, files)
    usual = None if graph is None else read_graph(graph, EdgeFileFlags())
    with messages.status("fitting the new nodes"):
        larger = add_nodes(embeddings, linked, graph=usual, seed=seed)
    float16 = larger.target.dtype == np.float16
    larger.save(out, float16=float16, overwrite=overwrite)
    num_new = len(larger.nodes) - len(embeddings.nodes)
    plain_print(f"{out}: {len(larger.nodes):,} nodes, {num_new:,} of them new, dim {larger.dim}")
