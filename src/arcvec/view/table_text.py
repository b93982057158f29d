"""Tables as text: Markdown that also reads well as it is, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcvec.evaluation.link_prediction import LinkPredictionReport

_LATEX = str.maketrans(
    {
        **{"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%"},
        **{"#": r"\#", "$": r"\$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{"±": r"$\pm$", "¹": "$^1$", "†": r"$\dagger$", "→": r"$\to$", "<": "$<$", ">": "$>$"},
    }
)
# Names of the numbers of a report, those at every k without it -> headings, in order.
_HEADINGS = {
    **{"auc": "AUC", "mrr": "MRR", "recall": "recall", "ndcg": "nDCG"},
    **{"auc_random": "random", "auc_reversed": "reversed", "average_precision": "AP"},
    **{"hits@10": "hits@10", "hits@100": "hits@100", "precision": "precision", "map": "MAP"},
    **{"hit_rate": "hit rate", "source_mrr": "source MRR", "coverage": "coverage"},
    **{"popular_share": "popular", "popularity": "popularity"},
}


class Bold(str):
    """The text of a cell that is shown in bold, such as the best number of a row."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, which may have a group per column above, and notes below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    groups: Sequence[str] = ()

    @property
    def alignment(self) -> str:
        """One letter per column: l for names, r for numbers."""
        return "".join("l" if name in ("dataset", "method") else "r" for name in self.header)


def compare_reports(reports: Mapping[str, LinkPredictionReport], title: str) -> Table:
    """Return a table with a row for every scorer, by name; the best number of a column is bold."""
    first = next(iter(reports.values()))
    numbers = [report.as_dict() for report in reports.values()]
    shown = {
        heading + key.removeprefix(name): key
        for name, heading in _HEADINGS.items()
        for key, value in numbers[0].items()
        if value is not None and re.fullmatch(rf"{name}(@\d+)?", key)
    }
    explained = ""
    if "reversed" in shown:
        explained = "random, reversed: AUC against these negatives alone; "
    else:
        del shown["random"]  # random negatives are the only ones, so AUC is the same number
    columns = [_column(numbers, key, is_sample=first.is_sample) for key in shown.values()]
    rows = list(zip(reports, *columns, strict=True))
    notes = [f"{explained}AP: average precision", *_explain_ranks(first)]
    return Table(title, ["method", *shown], rows, notes)


def _explain_ranks(report: LinkPredictionReport) -> Iterator[str]:
    if not report.by_source:
        return
    num_sources, true_popularity = report.num_ranked_sources, report.by_source["target_popularity"]
    yield f"MRR, hits: means over test edges; other ranks: over {num_sources:,} sources"
    yield (
        "coverage: part of the nodes that are recommended; popular: part of the recommendations "
        "that goes to the tenth of highest in-degree; popularity: mean in-degree of recommended "
        f"nodes, {figure(true_popularity)} for test edges"
    )
    if report.is_sample:
        counts = f"{report.num_ranked:,} of {report.num_test_edges:,}"
        yield f"± standard errors: ranks are of {counts} test edges, drawn at random"


def _column(rows: Sequence[Mapping[str, Any]], key: str, *, is_sample: bool) -> list[str]:
    form = figure if key.startswith("popularity") else "{:.3f}".format
    best = max(row[key] for row in rows if row.get(key) is not None)
    texts = []
    for row in rows:
        value, error = row.get(key), row.get(f"{key}_standard_error")
        text = "-" if value is None else form(value)
        if not key.startswith("popular"):  # whose best is neither the highest nor the lowest
            text += f" ± {error:.3f}" if is_sample and error is not None else ""
            text = Bold(text) if value == best else text
        texts.append(text)
    return texts


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, its columns aligned; numbers to the right."""
    rows = (table.header, *table.rows)
    grid = [[_marked(text, _escape_markdown, "**{}**") for text in row] for row in rows]
    columns = []
    for texts, side in zip(zip(*grid, strict=True), table.alignment, strict=True):
        width = max(3, *map(len, texts))
        header, *body = (f" {text:{'<' if side == 'l' else '>'}{width}} " for text in texts)
        rule = "-" * (width + 1) + ("-" if side == "l" else ":")
        columns.append([header, rule, *body])
    text = "\n".join(f"|{'|'.join(cells)}|" for cells in zip(*columns, strict=True))
    notes = "\n".join(f"- {_escape_markdown(note)}" for note in table.notes)
    return f"{text}\n\n{notes}" if notes else text


def to_latex(table: Table) -> str:
    """Return a table as a LaTeX float with booktabs rules; a dataset is named in its first row."""
    blocks = [list(rows) for _, rows in groupby(table.rows, key=lambda row: str(row[0]))]
    some_has_two = len(blocks) < len(table.rows)
    body: list[str] = []
    for first, *others in blocks:
        lines = [_latex_row(first), *(_latex_row(["", *row[1:]]) for row in others)]
        body += [r"\midrule", *lines] if some_has_two or not body else lines
    lines = [
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{table.alignment}}}",
        r"\toprule",
        *_latex_groups(table.groups),
        _latex_row(table.header),
        *(body or [r"\midrule"]),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {escape_latex(note)}" for note in table.notes),
        r"\end{table*}",
    ]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    # A minus is longer than a hyphen.
    return re.sub(r"(?<!\w)-(?=[.\d])", "$-$", text.translate(_LATEX))


def figure(value: object) -> str:
    """Return a number with three significant digits, and any other value as text.

    >>> figure(0.12345), figure(1234.5), figure(1234), figure("PPR")
    ('0.123', '1,234', '1,234', 'PPR')
    """
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def short(value: float) -> str:
    """Return a number in [0, 1] with three decimals and no leading zero."""
    return f"{value:.3f}".replace("0.", ".", 1) if value < 1 else f"{value:.3f}"


def signed(value: float) -> str:
    """Return a difference with its sign and three decimals, no leading zero."""
    text = f"{abs(value):.3f}"
    sign = "+" if value >= 0 or float(text) == 0 else "-"
    return sign + text.removeprefix("0")


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(_marked(text, escape_latex, r"\textbf{{{}}}") for text in texts) + r" \\"


def _marked(text: str, escape: Callable[[str], str], bold: str) -> str:
    return bold.format(escape(text)) if isinstance(text, Bold) else escape(text)


def _latex_groups(groups: Sequence[str]) -> list[str]:
    if not any(groups):
        return []
    headings, rules, column = [], [], 1
    for group, columns in groupby(groups):
        width = len(list(columns))
        headings.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [" & ".join(headings) + r" \\", " ".join(rules)]


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")
