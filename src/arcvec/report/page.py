"""A result as one HTML page that needs nothing else: no file, no network, no script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split
from arcvec.recommendation.calibration import Calibration
from arcvec.report.content import Content, Missing, make_content
from arcvec.report.settings import ReportSettings
from arcvec.settings import merge_settings
from arcvec.storage import new_file


def write_report(
    embeddings: EdgeEmbeddings,
    graph: Graph | Split,
    path: str | Path,
    settings: ReportSettings | None = None,
    *,
    calibration: Calibration | None = None,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda words: None,
    **changes: Any,
) -> None:
    """Write what there is to say about a result as one HTML file; equal results, equal bytes.

    Facts of the graph, settings, training, test numbers beside baselines, calibration, degree
    bias, both spaces, and recommendations. Needs the extra `plot`.

    Args:
        graph: the graph of the result, or the split that it was fitted on; test numbers need a
            split. Edges of the graph, or of the train part, are known and not recommended again.
        calibration: of the result; by default one is made from validation edges, test edges, or
            edges of the graph, whichever of these there are first.
        progress: is told, in a few words, what comes next.
        changes: fields of `ReportSettings`, as in `nodes=["alice"]`.

    Raises:
        ValueError: the graph is not one of the result.
        KeyError: a node is unknown.
        FileExistsError: `path` exists and `overwrite` is false.
        ImportError: matplotlib is not installed.
    """
    chosen = merge_settings(ReportSettings, settings or {}, changes)
    with new_file(Path(path), overwrite=overwrite) as partial:
        content = make_content(embeddings, graph, chosen, calibration, progress)
        partial.write_text(render_page(content), encoding="utf-8")


def render_page(content: Content) -> str:
    """Return the page; whatever comes from the user is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("arcvec.report", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["missing"] = lambda part: isinstance(part, Missing)
    return environment.get_template("report.html").render(content=content)
