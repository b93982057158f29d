"""JSON headers of folders and files, and checksums that detect corrupted files.

A folder has a `checksums.txt`, which `sha256sum --check checksums.txt` reads too. Folders without
one, such as those of the paper's authors, are read unchecked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

KEY = "checksum"
CHECKSUMS = "checksums.txt"

_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\0\n]+)\n")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Return the JSON value in a file; an error names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # RecursionError: nested brackets
        raise ValueError(f"{path}: expected JSON, got text that is not: {error}") from None


def read_header(
    path: Path, kind: str, allowed: Sequence[int], keys: Iterable[str] = (), is_sealed: bool = False
) -> dict[str, Any]:
    """Return a JSON header after checking its format (`kind`), which is removed, and its keys."""
    header = read_json(path)
    if is_sealed:
        header = unsealed(header, path)
    if not isinstance(header, dict) or header.get("format") != kind:
        raise ValueError(f'{path}: expected the format "{kind}"; is it the right folder?')
    found = header.get("format_version")
    if found not in allowed:
        raise ValueError(
            f"{path}: expected format version {' or '.join(map(str, allowed))}, got {found}; "
            "write the folder again with this arcvec"
        )
    for key in keys:
        if key not in header:
            raise ValueError(f'{path}: expected "{key}" in it; write the folder again')
    return {key: v for key, v in header.items() if key != "format"}


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with a checksum of itself added, for a file outside any folder.

    >>> sealed({"a": 1})["checksum"][:8]
    'f9d86028'
    """
    text = json.dumps(value, sort_keys=True)
    return {**value, KEY: hashlib.sha256(text.encode()).hexdigest()}


def unsealed(value: Any, path: Path) -> dict[str, Any]:
    """Return a JSON object without its checksum, or raise a ValueError if that differs."""
    if isinstance(value, dict):
        rest = {key: part for key, part in value.items() if key != KEY}
        if value == sealed(rest):
            return rest
    raise ValueError(
        f'{path}: not what was written, its "{KEY}" differs: the file is damaged; delete it, and '
        "let it be made again"
    )


def write_checksums(folder: Path) -> None:
    """Write the checksums of the files in a folder, but not of those in its subfolders."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    lines = [f"{file_digest(path)}  {path.name}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def verify_checksums(folder: Path) -> None:
    """Raise an error for the first file that differs from `checksums.txt`, if there is one."""
    listed = folder / CHECKSUMS
    if not listed.is_file():
        return
    # Replace bad bytes: a damaged list is reported as such, not as wrong UTF-8.
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
            fault = f"missing from the folder, but listed in {listed.name}"
            raise FileNotFoundError(f"{path}: {fault}; write the folder again")
        if file_digest(path) != found[1]:
            raise ValueError(
                f"{path}: not what was written, its checksum differs from the one in "
                f"{listed.name}: it is damaged, write the folder again; if you changed it "
                f"yourself, delete {listed.name}"
            )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
