"""The figures of a result, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.plot.circle import circle_figure
from arcvec.plot.colours import colours_figure
from arcvec.plot.figures import save_figure
from arcvec.plot.measures import PlaneMeasures, measure_plane
from arcvec.plot.plane import Plane, fits_plane, graph_over, unit_norms
from arcvec.plot.spaces import spaces_figure
from arcvec.plot.training import training_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind: TypeAlias = Literal["auto", "spaces", "circle", "colours", "training"]


def draw_result(
    embeddings: EdgeEmbeddings,
    paths: Iterable[str | Path],
    *,
    kind: Kind = "auto",
    graph: Graph | None = None,
    nodes: Sequence[str] = (),
    overwrite: bool = False,
) -> PlaneMeasures | None:
    """Write a figure of a result to every path, in the format of its suffix.

    Args:
        kind, graph, nodes: see `result_figure`.

    Returns:
        In numbers what "circle" and "colours" show; None of the other kinds.
    """
    figure, measures = result_figure(embeddings, kind=kind, graph=graph, nodes=nodes)
    save_figure(figure, paths, overwrite=overwrite)
    return measures


def result_figure(
    embeddings: EdgeEmbeddings,
    *,
    kind: Kind = "auto",
    graph: Graph | None = None,
    nodes: Sequence[str] = (),
) -> tuple[Figure, PlaneMeasures | None]:
    """Return a figure of a result, and in numbers what "circle" and "colours" show.

    Args:
        kind: see `choose_kind` for "auto".
        graph: whose degrees and edges are drawn; all kinds but "training" need it. Nodes are
            matched by name.
        nodes: names of the targets whose edges "circle" and "colours" draw; by default a few.

    Raises:
        ValueError: the kind does not fit the result, or what else was given.
        KeyError: a node is unknown.
    """
    kind = choose_kind(embeddings) if kind == "auto" else kind
    in_plane = kind in ("circle", "colours")
    if nodes and not in_plane:
        raise ValueError(
            f'expected no nodes for the kind "{kind}"; "circle" and "colours" draw edges of nodes'
        )
    if kind == "training":
        return training_figure(embeddings), None
    if graph is None:
        raise ValueError(
            f'the kind "{kind}" draws degrees and edges: expected a graph, got none; '
            "pass --graph with a graph folder, split folder or edge file"
        )
    if not in_plane:
        return spaces_figure(embeddings, graph_over(graph, embeddings.nodes)), None
    plane = Plane.of(embeddings, graph)
    return _plane_figure(kind, plane, nodes), measure_plane(plane)


def choose_kind(embeddings: EdgeEmbeddings) -> Kind:
    """Return the kind that shows most of a result.

    Two numbers a side need no projection: "circle" if all vectors have norm 1, else "colours".
    Of more numbers, "spaces" shows the best projection.
    """
    if not fits_plane(embeddings):
        return "spaces"
    on_circle = unit_norms(embeddings.source) and unit_norms(embeddings.target)
    return "circle" if on_circle else "colours"


def _plane_figure(kind: Kind, plane: Plane, nodes: Sequence[str]) -> Figure:
    selected = plane.graph.nodes.ids(nodes) if nodes else None
    return (circle_figure if kind == "circle" else colours_figure)(plane, selected)
