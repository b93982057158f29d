"""Tables as text: Markdown that also reads well as it is, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcvec.evaluation.link_prediction import LinkPredictionReport

_LATEX = {
    **{"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%"},
    **{"#": r"\#", "$": r"\$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"±": r"$\pm$", "¹": "$^1$", "†": r"$\dagger$", "→": r"$\to$", "<": "$<$", ">": "$>$"},
}
_MEASURES = {
    **{"AUC": "auc", "random": "auc_random", "reversed": "auc_reversed"},
    **{"AP": "average_precision", "MRR": "mrr", "hits@10": "hits_at_10", "hits@100": "hits_at_100"},
}
_TEXT_COLUMNS = ("dataset", "method")


@dataclass(frozen=True)
class Entry:
    """The text of one cell of a table."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, which may have a group per column above, and notes below."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of_texts(
        cls, title: str, header: Iterable[str], rows: Iterable[Iterable[str]], *notes: str
    ) -> Table:
        """Return a table without any bold entry."""
        entries = tuple(tuple(map(Entry, row)) for row in rows)
        return cls(title, tuple(header), entries, notes=notes)

    @property
    def alignment(self) -> str:
        """One letter per column: l for names, r for numbers."""
        return "".join("l" if name in _TEXT_COLUMNS else "r" for name in self.header)


def compare_reports(reports: Mapping[str, LinkPredictionReport], title: str) -> Table:
    """Return a table with a row for every scorer, by name; the best number of a column is bold."""
    first = next(iter(reports.values()))
    shown = {name: field for name, field in _MEASURES.items() if getattr(first, field) is not None}
    notes = ["AP: average precision"]
    if "reversed" in shown:
        notes[0] = "random, reversed: AUC against these negatives alone; " + notes[0]
    else:
        del shown["random"]  # random negatives are the only ones, so AUC is the same number
    if first.mrr_standard_error is not None:
        notes.append(
            f"MRR, hits: of {first.num_ranked:,} of {first.num_test_edges:,} test edges, drawn "
            "at random, with standard errors"
        )
    columns = []
    for field in shown.values():
        best = max(v for v in (getattr(one, field) for one in reports.values()) if v is not None)
        columns.append([_measured(report, field, best) for report in reports.values()])
    rows = tuple(zip(map(Entry, reports), *columns, strict=True))
    return Table(title, ("method", *shown), rows, notes=tuple(notes))


def _measured(report: LinkPredictionReport, field: str, best: float) -> Entry:
    value, error = getattr(report, field), getattr(report, f"{field}_standard_error", None)
    if value is None:
        return Entry("-")
    return Entry(f"{value:.3f}" + ("" if error is None else f" ± {error:.3f}"), value == best)


def markdown_page(title: str, tables: Sequence[Table]) -> str:
    """Return all tables under one title, as Markdown."""
    parts = [f"# {title}", *(f"## {table.title}\n\n{to_markdown(table)}" for table in tables)]
    return "\n\n".join(parts) + "\n"


def latex_page(tables: Sequence[Table]) -> str:
    """Return all tables as LaTeX, to be included in a document that loads booktabs."""
    return "\n\n".join(to_latex(table) for table in tables) + "\n"


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, its columns aligned; numbers to the right."""
    grid = []
    for row in (map(Entry, table.header), *table.rows):
        escaped = ((_escape_markdown(entry.text), entry.bold) for entry in row)
        grid.append([f"**{text}**" if bold else text for text, bold in escaped])
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
    blocks = [list(rows) for _, rows in groupby(table.rows, key=lambda row: row[0].text)]
    some_has_two = len(blocks) < len(table.rows)
    body: list[str] = []
    for first, *others in blocks:
        lines = [_latex_row(first), *(_latex_row((Entry(""), *row[1:])) for row in others)]
        body += [r"\midrule", *lines] if some_has_two or not body else lines
    lines = [
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{table.alignment}}}",
        r"\toprule",
        *_latex_groups(table.groups),
        _latex_row(map(Entry, table.header)),
        *(body or [r"\midrule"]),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {escape_latex(note)}" for note in table.notes),
        r"\end{table*}",
    ]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return re.sub(r"(?<!\w)-(?=[.\d])", "$-$", escaped)  # a minus is longer than a hyphen


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


def _latex_row(entries: Iterable[Entry]) -> str:
    texts = ((escape_latex(entry.text), entry.bold) for entry in entries)
    return " & ".join(rf"\textbf{{{text}}}" if bold else text for text, bold in texts) + r" \\"


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
