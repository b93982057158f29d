"""What the API pages of the site do to docstrings: examples become blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

# A doctest ends at the first empty line, as it does where it is run.
EXAMPLE = re.compile(r"^>>> .+?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Examples(griffe.Extension):
    """Puts fences around doctests, which Markdown would take for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(docstring: str) -> str:
    """Return the docstring with every doctest in a block of code."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
