"""Result to figures: `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, read_graph
from arcvec.console import plain_print
from arcvec.storage import require_writable

if TYPE_CHECKING:
    from arcvec.graph.edge_settings import EdgeFileSettings
    from arcvec.graph.graph import Graph

Kind = Literal["auto", "spaces", "circle", "colours", "training"]


def plot(
    result: Path,
    /,
    *,
    out: Annotated[tuple[Path, ...], Parameter(name=["--out", "-o"], negative_iterable=())],
    kind: Kind = "auto",
    graph: Path | None = None,
    node: Annotated[tuple[str, ...], Parameter(negative_iterable=())] = (),
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Draw the two spaces of a result, or the course of its training.

    Args:
        result: result folder.
        out: .png, .svg or .pdf file to write; may be given several times.
        kind: spaces: source and target space in the best projection; circle: two numbers a side
            with norm 1, as the paper's ego-Facebook; colours: two numbers a side, as its PPI;
            training: loss and validation AUC; auto: whichever of the first three fits the result.
        graph: graph folder, edge file or split folder whose degrees and edges are drawn; of a
            split folder train and test edges together, as in the paper. Training needs none.
        node: target whose edges circle and colours draw; may be given several times.
        overwrite: replace files that exist.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.plot.figures import require_figure_names
    from arcvec.plot.kinds import draw_result

    require_figure_names(out)
    for path in out:
        require_writable(path, overwrite=overwrite)
    embeddings = EdgeEmbeddings.load(result)
    drawn = None if graph is None else _whole_graph(graph, files)
    measures = draw_result(embeddings, out, kind=kind, graph=drawn, nodes=node, overwrite=overwrite)
    plain_print("\n".join(map(str, out)))
    if measures is not None:
        plain_print(str(measures))


def _whole_graph(path: Path, files: EdgeFileSettings) -> Graph:
    from arcvec.graph.split import is_split, read_split

    graph = read_graph(path, files)  # which refuses flags that do not belong to the path
    return read_split(path).graph if is_split(path) else graph
