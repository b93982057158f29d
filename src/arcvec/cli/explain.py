"""Why an edge is predicted: `explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.table import Table

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, read_graph
from arcvec.console import escape, note, output, plain_print

if TYPE_CHECKING:
    from arcvec.embeddings import Side
    from arcvec.recommendation.explain import Explanation, KnownEdge


def explain(
    result: Path,
    from_node: str,
    to_node: str,
    /,
    *,
    graph: Path | None = None,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 5,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Say where an edge ranks, and which known edges are most like it.

    Args:
        result: result folder.
        from_node: source of the edge.
        to_node: target of the edge.
        graph: graph folder, split folder (then its train part) or edge file with the known edges;
            known targets of the source then leave the ranking, but for the one asked about.
        k: known edges of each kind.
        as_json: print JSON.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.explain import explain as explain_edge

    embeddings = EdgeEmbeddings.load(result)
    embeddings.nodes.ids([from_node, to_node])  # a misspelt name is told before a graph is read
    known = None if graph is None else read_graph(graph, files)
    found = explain_edge(embeddings, from_node, to_node, graph=known, k=k)
    if as_json:
        plain_print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
        return
    output.print("\n".join(_standing(found)), soft_wrap=True)
    if known is None:
        note("the known edges most like this one are shown with --graph")
        return
    source, target = escape(found.source), escape(found.target)
    _print_known(
        f"sources linked to {target}, by nearness to {source}", "source", found.similar_sources
    )
    _print_known(
        f"targets linked from {source}, by nearness to {target}", "target", found.similar_targets
    )


def _standing(found: Explanation) -> Iterator[str]:
    source, target = escape(found.source), escape(found.target)
    yield f"[bold]{source} -> {target}[/]" + (" (a known edge)" if found.known else "")
    yield f"score  {found.score:.4f}"
    yield (
        f"rank   {found.rank:,} of {found.num_candidates:,} candidates, "
        f"above {found.percentile:.1f} % of the others"
    )
    left_out = "" if found.known is None else f" and {found.num_left_out:,} other known targets"
    yield f"       left out: {source} itself{left_out}"


def _print_known(title: str, side: Side, edges: Sequence[KnownEdge]) -> None:
    output.print(f"\n[bold]Known {title}[/]" + ("" if edges else ": none"), soft_wrap=True)
    if not edges:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(side)
    for name in ("similarity", "score"):
        table.add_column(name, justify="right")
    for edge in edges:
        name = edge.source if side == "source" else edge.target
        table.add_row(escape(name), f"{edge.similarity:.3f}", f"{edge.score:.4f}")
    output.print(table)
