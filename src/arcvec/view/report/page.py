"""A result as one HTML page that needs nothing else: no file, no network, no script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from arcvec import __version__
from arcvec.baselines.by_name import BASELINES, CHEAP_BASELINES, Baseline
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split
from arcvec.recommendation.calibration import Calibration, calibrate
from arcvec.settings import Settings, merge_settings
from arcvec.storage.atomic import new_file
from arcvec.view.figures import reliability_figure, svg_text, training_figure
from arcvec.view.report import sections
from arcvec.view.report.sections import Subject
from arcvec.view.spaces import result_figure
from arcvec.view.table_text import Bold, compare_reports

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADLINES = {"auc": "test AUC", "mrr": "MRR", "recall@10": "recall@10", "ndcg@10": "nDCG@10"}


class ReportSettings(Settings):
    """What a report shows beside the result itself."""

    title: str = Field("", description="heading of the page")
    baselines: tuple[Baseline, ...] = Field(
        CHEAP_BASELINES,
        description="methods fitted on the train part of a split and measured beside the result",
    )
    nodes: tuple[str, ...] = Field(
        (), description="nodes to recommend for; by default a few, from many edges to few"
    )
    k: int = Field(8, ge=1, description="new edges named for each of these nodes")
    seed: int = Field(0, ge=0, description="seed of the samples that some numbers are taken from")


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
    """Write a report on a result as one HTML file, which needs the extra `plot`.

    Args:
        graph: the graph of the result, or the split that it was fitted on, with test numbers.
        calibration: by default made from validation edges, test edges, or edges of the graph.
        progress: called with a few words on each next step.
        changes: fields of `ReportSettings`, as in `nodes=["alice"]`.
    """
    chosen = merge_settings(ReportSettings, settings or {}, changes)
    environment = Environment(
        loader=PackageLoader("arcvec.view.report", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["bold"] = lambda text: isinstance(text, Bold)
    with new_file(Path(path), overwrite=overwrite) as partial:
        content = _content(Subject.of(embeddings, graph), chosen, calibration, progress)
        page = environment.get_template("report.html").render(content)
        partial.write_text(page, encoding="utf-8")


def _content(
    subject: Subject,
    settings: ReportSettings,
    calibration: Calibration | None,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return the variables of the template; a section that cannot be made is None or says why."""
    embeddings = subject.embeddings
    embeddings.nodes.ids(settings.nodes)  # raises for a typo before minutes of work
    progress("measuring test edges")
    test = _test_section(subject, settings)
    progress("calibrating")
    probabilities = _probabilities(subject, calibration, settings.seed)
    progress("recommending")
    used = None if isinstance(probabilities, str) else probabilities["calibration"]
    samples = sections.sample_tables(subject, settings.nodes, settings.k, used)
    bias = sections.degree_bias(subject, settings.seed)
    progress("drawing")
    figure, measures = result_figure(embeddings, graph=subject.known)
    try:
        training: dict[str, Any] | str = _picture(training_figure(embeddings))
    except ValueError as error:
        training = str(error)
    return {
        "title": settings.title or "Report on a result",
        "version": __version__,
        "subject": subject,
        "embeddings": embeddings,
        "facts": sections.graph_facts(subject),
        "settings": sections.fit_settings(embeddings.settings),
        "training": training,
        "test": test,
        "probabilities": probabilities,
        "bias": bias,
        "spaces": _picture(figure),
        "measures": measures,
        "samples": samples,
    }


def _picture(figure: Figure) -> dict[str, Any]:
    """Return a drawing as a data URI, and its size in pixels."""
    address = f"data:image/svg+xml;base64,{b64encode(svg_text(figure).encode()).decode()}"
    width, height = (round(side * 96) for side in figure.get_size_inches())  # pixels per inch
    return {"address": address, "width": width, "height": height}


def _test_section(subject: Subject, settings: ReportSettings) -> dict[str, Any] | None:
    embeddings, split = subject.embeddings, subject.split
    if split is None or subject.test is None:
        return None
    ours = link_prediction(embeddings, split, seed=settings.seed)
    reports = {f"arcvec, dim {embeddings.dim}": ours}
    for name in settings.baselines:
        scorer = BASELINES[name]().fit(split.train)
        reports[name] = link_prediction(scorer, split, seed=settings.seed)
    headlines = []
    for key, words in _HEADLINES.items():
        mine, *others = ((report.as_dict()[key], name) for name, report in reports.items())
        best = max(others, default=None)
        beside = "" if best is None else f"best baseline {best[0]:.3f}, {best[1]}"
        headlines.append((words, f"{mine[0]:.3f}", beside))
    title = "Link prediction on the test edges; the best of a column is bold"
    return {"table": compare_reports(reports, title), "headlines": headlines}


def _probabilities(subject: Subject, stored: Calibration | None, seed: int) -> dict[str, Any] | str:
    try:
        made, edges = _calibration(subject, seed) if stored is None else (stored, "")
    except ValueError as error:
        return str(error)
    return {
        "calibration": made,
        "edges": edges or "the edges that arcvec calibrate was given",
        "picture": _picture(reliability_figure(made.bins)),
    }


def _calibration(subject: Subject, seed: int) -> tuple[Calibration, str]:
    """Return a calibration on the least biased edges there are, and a description of these."""
    embeddings, split = subject.embeddings, subject.split
    seen = embeddings.learned_from(subject.given)
    if split is not None:
        for name, edges in (("validation", split.validation), ("test", split.test)):
            if edges is not None and len(edges):
                unseen = ", which the training has not seen" if seen else ""
                made = calibrate(embeddings, split.graph, edges, seed=seed)
                return made, f"{name} edges{unseen}"
    words = "edges of the graph"
    if seen:
        words += (
            " that the vectors have learned from, so that probabilities of new edges come out too "
            "high; held-out edges would make them right"
        )
    return calibrate(embeddings, subject.given, seed=seed), words
