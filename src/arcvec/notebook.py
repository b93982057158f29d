"""How values look in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small HTML table: a title, then a name and a value a row; None is left out.

    Colours and lines are the notebook's own, so that light and dark both look right.

    >>> html_table("Graph", {"nodes": "1,234", "first": "<b>"}).splitlines()[3]
    '<tr><th style="text-align: left">first</th><td style="text-align: left">&lt;b&gt;</td></tr>'
    """
    left = 'style="text-align: left"'
    lines = (
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(_text(value))}</td></tr>"
        for name, value in rows.items()
        if value is not None
    )
    head = f'<thead><tr><th colspan="2" {left}>{escape(title)}</th></tr></thead>'
    return "\n".join(["<table>", head, *lines, "</table>"])


def _text(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
