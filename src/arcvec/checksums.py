"""Checksums of what is stored: a bit that flipped on a disk is told, and never becomes a number.

A folder has a `checksums.txt`, which `sha256sum --check checksums.txt` reads as well. Folders
without one, of the paper's authors or of an earlier arcvec, are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "checksums.txt"
KEY = "checksum"

_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\0\n]+)\n")


def write_checksums(folder: Path) -> None:
    """Write the checksums of the files in a folder, those of its own folders left out."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    lines = [f"{_digest(path)}  {path.name}\n" for path in files]
    (folder / FILE).write_text("".join(lines), encoding="utf-8")


def verify_checksums(folder: Path) -> None:
    """Check the files of a folder against its checksums, if it has any.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is not what was written; the message names it.
    """
    listed = folder / FILE
    if not listed.is_file():
        return
    # Whatever bytes there are: a list that was damaged is told as such, not as wrong UTF-8.
    text = listed.read_bytes().decode("utf-8", "replace")
    for line in text.splitlines(keepends=True):
        found = _LINE.fullmatch(line)
        if found is None or found[2] == "..":
            raise ValueError(
                f"{listed}: expected a checksum and a file name on each line; the file is damaged: "
                "write the folder again, or delete this file to read it unchecked"
            )
        path = folder / found[2]
        if not path.is_file():
            raise FileNotFoundError(
                f"{path}: missing from the folder, but listed in {FILE}; write the folder again"
            )
        if _digest(path) != found[1]:
            raise ValueError(
                f"{path}: not what was written, its checksum differs from the one in {FILE}: it is "
                f"damaged, write the folder again; if you changed it yourself, delete {FILE}"
            )


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with a checksum of the rest in it, for a file that stands alone.

    >>> sealed({"a": 1})["checksum"][:8]
    'f9d86028'
    """
    return {**value, KEY: _digest_of(value)}


def unsealed(value: Any, path: Path) -> dict[str, Any]:
    """Return a JSON object without its checksum.

    Raises:
        ValueError: it is not what was written.
    """
    if isinstance(value, dict):
        rest = {key: part for key, part in value.items() if key != KEY}
        if value.get(KEY) == _digest_of(rest):
            return rest
    raise ValueError(
        f'{path}: not what was written, its "{KEY}" differs: the file is damaged; delete it, and '
        "let it be made again"
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
