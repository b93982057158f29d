"""How values look in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small HTML table: a title, then a name and a value per row; None is left out.

    >>> print(html_table("Graph", {"first node": "<b>"}))
    <table>
    <caption style="text-align: left">Graph</caption>
    <tr><th scope="row" style="text-align: left">first node</th>
    <td style="text-align: left">&lt;b&gt;</td></tr>
    </table>
    """
    left = 'style="text-align: left"'
    lines = (
        f'<tr><th scope="row" {left}>{escape(name)}</th>\n<td {left}>'
        f"{escape(f'{value:.4f}' if isinstance(value, float) else str(value))}</td></tr>"
        for name, value in rows.items()
        if value is not None
    )
    return "\n".join(["<table>", f"<caption {left}>{escape(title)}</caption>", *lines, "</table>"])
