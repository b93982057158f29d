"""Everything once: `demo`."""

from __future__ import annotations

from pathlib import Path

from arcvec.cli.flags import Out


def demo(*, out: Out = Path("arcvec-demo"), seed: int = 0) -> None:
    """Learn the import graph of Python's standard library, end to end, in under a minute.

    Args:
        out: folder for split, result and picture; that of an earlier demo is replaced.
        seed: decides every random choice.
    """
    from arcvec.demo import run_demo

    run_demo(out, seed)
