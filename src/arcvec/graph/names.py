"""Node names: any strings, kept as one block of bytes so that millions of them stay small."""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from arcvec.graph.blocks import blocks

NodeIds: TypeAlias = NDArray[np.integer]
"""Array of node ids, each in 0..num_nodes - 1."""

ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"))

_COMPARED = 200_000
# Bytes of names that are looked at at a time.
_CHUNK = 1 << 24
_END = ord("\n")


class NodeNames(Sequence[str]):
    r"""Names of the nodes 0, 1, 2, ...: the bytes of a `nodes.txt`, one escaped name a line.

    >>> names = NodeNames.from_strings(["alice", "bob", "two\nlines"])
    >>> names[2]
    'two\nlines'
    >>> names.ids(["bob", "alice"])
    array([1, 0])
    """

    def __init__(self, text: NDArray[np.uint8]) -> None:
        """Take the bytes of a `nodes.txt`, memory-mapped or not; every line ends in a newline."""
        if text.size and text[-1] != _END:
            raise ValueError("node names: expected a newline after the last name; file cut short?")
        self.text = text

    @classmethod
    def from_strings(cls, names: Iterable[object]) -> NodeNames:
        """Return names made from strings, or from anything else by `str`."""
        text = "".join(f"{escape(str(name))}\n" for name in names)
        try:
            return cls(np.frombuffer(text.encode(), dtype=np.uint8))
        except UnicodeEncodeError as error:
            name = text[text.rfind("\n", 0, error.start) + 1 :].partition("\n")[0]
            raise ValueError(
                f"expected names that are text, got {name!a}, half of a character"
            ) from None

    @classmethod
    def numbered(cls, num_nodes: int) -> NodeNames:
        """Return the names "0", "1", ..."""
        return cls.from_strings(range(num_nodes))

    @classmethod
    def load(cls, path: Path) -> NodeNames:
        """Return the names in a `nodes.txt`, memory-mapped."""
        require_inside(path)
        if path.stat().st_size == 0:
            return cls(np.empty(0, dtype=np.uint8))
        text = np.memmap(path, dtype=np.uint8, mode="r")
        _require_utf8(text, path)
        return cls(text)

    def save(self, path: Path) -> None:
        """Write a `nodes.txt`."""
        self.text.tofile(path)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return sum(int((self.text[some] == _END).sum()) for some in self._chunks())

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where each name ends; eight bytes a name, which a training does not need."""
        ends = [np.flatnonzero(self.text[some] == _END) + some.start for some in self._chunks()]
        return np.concatenate([np.empty(0, dtype=np.int64), *ends])

    def _chunks(self) -> Iterator[slice]:
        for start in range(0, self.text.size, _CHUNK):
            yield slice(start, start + _CHUNK)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start = self._ends[index - 1] + 1 if index else 0
        return _unescape(self.text[start : self._ends[index]].tobytes().decode())

    def __iter__(self) -> Iterator[str]:
        for block in blocks(len(self)):
            start = self._ends[block.start - 1] + 1 if block.start else 0
            text = self.text[start : self._ends[block.stop - 1]].tobytes().decode()
            yield from map(_unescape, text.split("\n"))

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:3])
        return f"NodeNames({len(self):,}: {shown}{', ...' if len(self) > 3 else ''})"

    def at(self, ids: NodeIds) -> NDArray[np.object_]:
        """Return the names of many nodes, in the shape of `ids`; "" where an id is negative."""
        names = np.empty(ids.size, dtype=object)
        names[:] = [self[int(i)] if i >= 0 else "" for i in ids.ravel()]
        return names.reshape(ids.shape)

    def ids(self, names: Iterable[object]) -> NDArray[np.int64]:
        """Return the ids of names.

        Raises:
            KeyError: a name is unknown; the message offers close ones.
        """
        return np.array([self._id(str(name)) for name in names], dtype=np.int64)

    def find(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of names, and -1 for those that are unknown."""
        return np.array([self._index.get(name, -1) for name in names], dtype=np.int64)

    def _id(self, name: str) -> int:
        found = self._index.get(name)
        if found is None:
            close = difflib.get_close_matches(name, self._likely_meant(name), n=3)
            hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
            raise KeyError(f"unknown node {name!r}: not among the {len(self):,} nodes{hint}")
        return found

    def _likely_meant(self, name: str) -> list[str]:
        """Return names to compare a wrong one with, as many as can be compared in seconds."""
        names: Iterable[str] = self._index
        if len(self) > _COMPARED:
            # A slip of the pen is in one half of a name, and the other half is as it was.
            half = max(1, len(name) // 2)
            start, end = name[:half], name[-half:]
            names = (other for other in names if other.startswith(start) or other.endswith(end))
        return list(islice(names, _COMPARED))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}


def require_inside(path: Path) -> None:
    """Refuse a link that leaves the folder it is in: what comes from others shows nothing of ours.

    Raises:
        ValueError: the link leads outside.
    """
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise ValueError(
            f"{path}: expected a file of this folder, got a link that leaves it; "
            "copy the file to its place"
        )


def _require_utf8(text: NDArray[np.uint8], path: Path) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, text.size, _CHUNK):
            decoder.decode(text[start : start + _CHUNK].data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        reason = f"{error.reason}; it is damaged"
        raise ValueError(f"{path}: expected names in UTF-8, got {reason}") from None


def escape(name: str) -> str:
    """Return the name as one line of `nodes.txt`."""
    for plain, escaped in ESCAPES:
        name = name.replace(plain, escaped)
    return name


def _unescape(line: str) -> str:
    if "\\" not in line:
        return line
    parts = line.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\r", "\r") for part in parts)
