"""Tables as text: Markdown that also reads well as it is, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

_LATEX = {
    **{"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%"},
    **{"#": r"\#", "$": r"\$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"±": r"$\pm$", "¹": "$^1$", "†": r"$\dagger$", "→": r"$\to$"},
    **{"<": "$<$", ">": "$>$"},
}


@dataclass(frozen=True)
class Entry:
    """The text of one place in a table."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under a header.

    Attributes:
        rows: as many entries each as the header has.
        groups: headings above the header, one a column, equal ones side by side being one heading;
            empty for none.
        notes: lines below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def markdown_page(title: str, tables: Sequence[Table]) -> str:
    """Return all tables under one title, as Markdown."""
    parts = [f"# {title}", *(f"## {table.title}\n\n{to_markdown(table)}" for table in tables)]
    return "\n\n".join(parts) + "\n"


def latex_page(tables: Sequence[Table]) -> str:
    """Return all tables as LaTeX, to be included in a document that loads booktabs."""
    return "\n\n".join(to_latex(table) for table in tables) + "\n"


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, its columns aligned; numbers to the right."""
    grid = [[_escape_markdown(text) for text in table.header]]
    for row in table.rows:
        texts = (_escape_markdown(entry.text) for entry in row)
        grid.append([f"**{t}**" if e.bold else t for t, e in zip(texts, row, strict=True)])
    widths = [max(3, *(len(text) for text in column)) for column in zip(*grid, strict=True)]
    left = [_is_text(table, i) for i in range(len(widths))]
    lines = [
        " | ".join(
            text.ljust(width) if to_left else text.rjust(width)
            for text, width, to_left in zip(row, widths, left, strict=True)
        )
        for row in grid
    ]
    rule = "|".join(
        "-" * (width + 2) if to_left else "-" * (width + 1) + ":"
        for width, to_left in zip(widths, left, strict=True)
    )
    text = "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])
    notes = "\n".join(f"- {_escape_markdown(note)}" for note in table.notes)
    return f"{text}\n\n{notes}" if notes else text


def to_latex(table: Table) -> str:
    """Return a table as a LaTeX float with booktabs rules; a dataset is named in its first row."""
    alignment = "".join("l" if _is_text(table, i) else "r" for i in range(len(table.header)))
    lines = [
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        *_latex_groups(table.groups),
        _latex_row([escape_latex(text) for text in table.header]),
        *_latex_body(table),
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
    """Return a measured number with the three digits that count, or what else there is.

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


def _latex_body(table: Table) -> list[str]:
    blocks = [list(rows) for _, rows in groupby(table.rows, key=lambda row: row[0].text)]
    if len(blocks) == len(table.rows):
        blocks = [list(table.rows)]  # no dataset has two rows: one block, one rule
    lines = []
    for rows in blocks:
        lines.append(r"\midrule")
        last = ""
        for row in rows:
            first = "" if row[0].text == last else _latex_entry(row[0])
            lines.append(_latex_row([first, *map(_latex_entry, row[1:])]))
            last = row[0].text
    return lines


def _latex_entry(entry: Entry) -> str:
    text = escape_latex(entry.text)
    return rf"\textbf{{{text}}}" if entry.bold else text


def _latex_row(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"


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
    return [_latex_row(headings), " ".join(rules)]


def _is_text(table: Table, column: int) -> bool:
    return table.header[column] in ("dataset", "method")


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")
