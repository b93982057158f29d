"""What to put into a bug report: `doctor`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from arcvec.console import escape, output, plain_print


def doctor(*, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """Tell versions, threads and folders, and check that this installation computes right.

    The exit code is 1 if a check fails. Paste what it prints into a bug report.

    Args:
        as_json: print JSON.
    """
    from arcvec.doctor import diagnose

    found = diagnose()
    if as_json:
        plain_print(json.dumps(found.as_dict(), indent=2))
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, value in found.facts.items():
            table.add_row(f"[bold]{escape(name)}[/]", escape(value))
        for check in found.checks:
            fate = f"[red]failed[/]: {escape(check.problem)}" if check.problem else "[green]ok[/]"
            table.add_row(f"[bold]{escape(check.name)}[/]", f"{fate} ({check.seconds:.1f} s)")
        output.print(table)
    if not found.healthy:
        sys.exit(1)
