"""What stands in a report, section by section; a section that cannot be says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arcvec import __version__
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.comparison import compare_reports
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.evaluation.table_text import Entry, Table
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split
from arcvec.methods.baselines import BASELINES
from arcvec.plot.kinds import result_figure
from arcvec.plot.reliability import reliability_figure
from arcvec.plot.shares import shares_figure
from arcvec.recommendation.calibration import Calibration, ReliabilityBin, calibrate
from arcvec.report.degree_bias import DegreeBias, K, measure_degree_bias
from arcvec.report.fit_settings import FitSettings, fit_settings
from arcvec.report.graph_facts import graph_facts
from arcvec.report.pictures import Picture, picture_of
from arcvec.report.samples import sample_tables
from arcvec.report.settings import ReportSettings
from arcvec.report.subject import Subject


@dataclass(frozen=True)
class Missing:
    """What is said in the place of a section."""

    why: str


@dataclass(frozen=True)
class Headline:
    """One of the few numbers that come first."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class TestPart:
    """How the result does on test edges, beside baselines.

    Attributes:
        headline: the AUC, with that of the best baseline.
        warning: why the numbers may mean nothing; empty if the fit saw exactly the train part.
    """

    __test__ = False  # of pytest, which takes the name for one of its own

    table: Table
    headline: Headline
    num_test_edges: int
    warning: str


@dataclass(frozen=True)
class Probabilities:
    """How scores become probabilities, and how well that goes."""

    calibration: Calibration
    edges: str
    table: Table
    picture: Picture


@dataclass(frozen=True)
class Spread:
    """How recommendations spread over nodes."""

    bias: DegreeBias
    table: Table
    picture: Picture
    k: int


@dataclass(frozen=True)
class Content:
    """All that a report says.

    Attributes:
        summaries: of the split and the result, tables in HTML as notebooks show them, escaped.
    """

    title: str
    version: str
    headlines: tuple[Headline, ...]
    facts: Table
    summaries: tuple[str, ...]
    settings: FitSettings | Missing
    training: Picture | Missing
    test: TestPart | Missing
    probabilities: Probabilities | Missing
    spread: Spread
    spaces: Picture
    measures: str
    samples: tuple[Table, ...]
    degree_word: str
    one_vector: bool


def make_content(
    embeddings: EdgeEmbeddings,
    graph: Graph | Split,
    settings: ReportSettings,
    calibration: Calibration | None,
    progress: Callable[[str], None],
) -> Content:
    """Return what a report says about a result; `progress` is told what comes next."""
    subject = Subject.of(embeddings, graph)
    embeddings.nodes.ids(settings.nodes)  # a misspelt name is told before minutes of work
    progress("measuring test edges")
    test = _test_part(subject, settings)
    progress("calibrating")
    probabilities = _probabilities(subject, calibration, settings.seed)
    progress("recommending")
    used = probabilities.calibration if isinstance(probabilities, Probabilities) else None
    samples = sample_tables(subject, settings.nodes, settings.k, used)
    spread = _spread(subject, settings.seed)
    progress("drawing")
    figure, measures = result_figure(embeddings, graph=subject.known)
    words = (
        "Two clouds of dots side by side: every node as a source on the left and as a target on "
        "the right. The nodes of highest degree carry their names."
        if measures is None
        else "Four panels: the source space, the target space, both, and edges of a few targets."
    )
    return Content(
        title=settings.title or "Report on a result",
        version=__version__,
        headlines=tuple(_headlines(subject, test, probabilities)),
        facts=_facts(subject),
        summaries=tuple(
            part._repr_html_() for part in (subject.split, embeddings) if part is not None
        ),
        settings=fit_settings(embeddings.settings)
        or Missing("The result does not remember settings of a method that is known here."),
        training=_training(embeddings),
        test=test,
        probabilities=probabilities,
        spread=spread,
        spaces=picture_of(figure, words),
        measures="" if measures is None else str(measures),
        samples=tuple(samples),
        degree_word=subject.degree_word,
        one_vector=embeddings.weights is not None,
    )


def _facts(subject: Subject) -> Table:
    if subject.split is None:
        return graph_facts("The graph", {"": subject.given})
    parts = {
        "train part, which a fit may see": subject.given,
        "whole graph, held-out edges too": subject.split.graph,
    }
    return graph_facts("The graph", parts)


def _training(embeddings: EdgeEmbeddings) -> Picture | Missing:
    try:
        figure, _ = result_figure(embeddings, kind="training")
    except ValueError as error:
        return Missing(f"There is no curve: {error}.")
    auc = embeddings.settings.get("validation_auc")
    reached = "" if auc is None else f" In the end the validation AUC is {auc:.4f}."
    words = f"Two curves against the step: the loss, and below it the validation AUC.{reached}"
    return picture_of(figure, words)


def _test_part(subject: Subject, settings: ReportSettings) -> TestPart | Missing:
    if subject.split is None or subject.test is None:
        return Missing(
            "There is no test part, so there are no test numbers: the report was made with a graph "
            "whose edges the vectors may have learned from. For honest numbers, cut the graph "
            "with arcvec split, fit on the split folder, and report with --graph SPLIT."
        )
    embeddings, split = subject.embeddings, subject.split
    ours = f"arcvec, dim {embeddings.dim}"
    reports = {ours: link_prediction(embeddings, split, seed=settings.seed)}
    for name in settings.baselines:
        scorer = BASELINES[name]().fit(split.train)
        reports[name] = link_prediction(scorer, split, seed=settings.seed)
    best = max(settings.baselines, key=lambda name: reports[name].auc, default=None)
    beside = "" if best is None else f"best baseline {reports[best].auc:.3f}, {best}"
    warning = (
        ""
        if embeddings.learned_from(split.train)
        else "The result was fitted on another graph than the train part of this split: it may "
        "have seen test edges, and then these numbers mean nothing."
    )
    return TestPart(
        compare_reports(reports, "Link prediction on the test edges; the best of a column is bold"),
        Headline("test AUC", f"{reports[ours].auc:.3f}", beside),
        len(subject.test),
        warning,
    )


def _probabilities(
    subject: Subject, stored: Calibration | None, seed: int
) -> Probabilities | Missing:
    embeddings, split = subject.embeddings, subject.split
    try:
        if stored is not None:
            made, edges = stored, "the edges that arcvec calibrate was given"
        elif split is not None and subject.validation is not None:
            made = calibrate(embeddings, split.graph, subject.validation, seed=seed)
            edges = f"validation edges{_unseen(subject)}"
        elif split is not None and subject.test is not None:
            made = calibrate(embeddings, split.graph, subject.test, seed=seed)
            edges = f"test edges{_unseen(subject)}"
        else:
            made = calibrate(embeddings, subject.given, seed=seed)
            edges = "edges of the graph"
            if embeddings.learned_from(subject.given):
                edges += (
                    " that the vectors have learned from, so that probabilities of new edges "
                    "come out too high; held-out edges would make them right"
                )
    except ValueError as error:
        return Missing(f"Scores could not be turned into probabilities: {error}.")
    bins = made.bins
    rows = tuple(
        tuple(map(Entry, (f"{b.low:.1f} to {b.high:.1f}", f"{b.count:,}", *_parts(b))))
        for b in bins
    )
    header = ("probability", "pairs", "mean probability", "part that are edges")
    figure = reliability_figure(
        [b.probability for b in bins], [b.edges for b in bins], [b.count for b in bins]
    )
    words = (
        "The part of pairs that are edges against their probability, beside the diagonal, and "
        f"below it the number of pairs. The two differ by {made.error:.3f} on average."
    )
    table = Table("Reliability at even odds", header, rows)
    return Probabilities(made, edges, table, picture_of(figure, words))


def _unseen(subject: Subject) -> str:
    """Say that held-out edges are new to the vectors, where that is known."""
    new = subject.embeddings.learned_from(subject.given)
    return ", which the training has not seen" if new else ""


def _parts(one: ReliabilityBin) -> tuple[str, str]:
    return f"{one.probability:.3f}", f"{one.edges:.3f}"


def _spread(subject: Subject, seed: int) -> Spread:
    bias = measure_degree_bias(subject, seed)
    shares = {
        "known edges": [group.edges for group in bias.groups],
        "recommended": [group.recommended for group in bias.groups],
    }
    if subject.test is not None:
        shares["test edges"] = [group.test or 0.0 for group in bias.groups]
    top = bias.groups[-1]
    label = f"tenths of the nodes, from lowest to highest {subject.degree_word}"
    groups = [str(number + 1) for number in range(len(bias.groups))]
    words = (
        f"Bars by tenths of the nodes. The tenth of highest {subject.degree_word} has "
        f"{100 * top.edges:.0f} % of the known edges and {100 * top.recommended:.0f} % of the "
        "recommended ones."
    )
    picture = picture_of(shares_figure(shares, groups, label), words)
    return Spread(bias, bias.table(subject.degree_word), picture, K)


def _headlines(
    subject: Subject, test: TestPart | Missing, probabilities: Probabilities | Missing
) -> list[Headline]:
    embeddings, known = subject.embeddings, subject.known
    kind = "directed" if embeddings.directed else "undirected"
    which = "train edges" if subject.split is not None else "edges"
    half = embeddings.dim // 2
    sides = f"{half} as source, {half} as target"
    sides = sides if embeddings.weights is None else "one vector for both sides"
    found = [
        Headline("nodes", f"{len(embeddings.nodes):,}", kind),
        Headline(which, f"{known.num_edges:,}", f"{known.out_degrees.mean():.1f} a node"),
        Headline("dim", str(embeddings.dim), sides),
    ]
    if isinstance(test, TestPart):
        found.append(test.headline)
    elif (auc := embeddings.settings.get("validation_auc")) is not None:
        found.append(Headline("validation AUC", f"{auc:.3f}", "held out of training"))
    if isinstance(probabilities, Probabilities):
        error = probabilities.calibration.error
        found.append(
            Headline("calibration error", f"{error:.3f}", "probabilities off by, on average")
        )
    return found
