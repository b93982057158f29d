"""Result to a page to read, print and send: `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, Out, read_graph
from arcvec.console import messages, plain_print
from arcvec.methods.baselines import CHEAP_BASELINES, Baseline
from arcvec.storage import require_writable

if TYPE_CHECKING:
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.recommendation.calibration import Calibration

Baselines = Annotated[
    tuple[Baseline, ...], Parameter(consume_multiple=True, negative_iterable="no-")
]


def report(
    result: Path,
    /,
    *,
    graph: Path,
    out: Out,
    baselines: Baselines = CHEAP_BASELINES,
    node: Annotated[tuple[str, ...], Parameter(negative_iterable=())] = (),
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 8,
    title: str = "",
    overwrite: bool = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
) -> None:
    """Write a result as one HTML page: graph, settings, training, test numbers, recommendations.

    The page is one file that loads nothing: send it, print it, keep it beside the result.

    Args:
        result: result folder; its calibration is shown if it has one, else one is made.
        graph: split folder, graph folder or edge file; test numbers need the split folder that the
            result was fitted on.
        out: .html file to write.
        baselines: methods fitted on the train part and measured beside the result.
        node: node to recommend for; may be given several times. By default a few, from many edges
            to few.
        k: new edges named for each of these nodes.
        title: heading of the page; by default the name of the result folder.
        overwrite: replace the file if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.graph.split import is_split, read_split
    from arcvec.report.page import write_report

    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"{out}: expected a name ending in .html")
    require_writable(out, overwrite=overwrite, inputs=[result, graph])
    embeddings = EdgeEmbeddings.load(result)
    given = read_graph(graph, files)  # which refuses flags that do not belong to the path
    with messages.status("") as status:
        write_report(
            embeddings,
            read_split(graph) if is_split(graph) else given,
            out,
            calibration=_stored_calibration(result, embeddings),
            overwrite=overwrite,
            progress=status.update,
            title=title or result.resolve().name,
            baselines=baselines,
            nodes=node,
            k=k,
        )
    plain_print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _stored_calibration(result: Path, embeddings: EdgeEmbeddings) -> Calibration | None:
    from arcvec.recommendation.calibration import FILE, load_calibration

    return load_calibration(result, embeddings) if (result / FILE).is_file() else None
