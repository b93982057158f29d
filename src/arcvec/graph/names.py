"""Node names: any strings, kept as one block of bytes."""

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

from arcvec.storage.arrays import blocks

NodeIds: TypeAlias = NDArray[np.integer]
"""Array of node ids, each in 0..num_nodes - 1."""

EdgeArray: TypeAlias = NDArray[np.int32]
"""(m, 2) int32: source and target of each edge or non-edge."""

ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"))

_MAX_COMPARED_NAMES = 200_000
_END = ord("\n")


class NodeNames(Sequence[str]):
    r"""Names of the nodes 0, 1, 2, ...: the bytes of a `nodes.txt`, one escaped name per line.

    >>> names = NodeNames.from_strings(["alice", "bob", "two\nlines"])
    >>> names[2]
    'two\nlines'
    >>> names.ids(["bob", "alice"])
    array([1, 0])
    """

    def __init__(self, text: NDArray[np.uint8]) -> None:
        """Take the bytes of a `nodes.txt`, in which every name ends in a newline."""
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
        if not path.is_file():
            raise FileNotFoundError(f"{path}: missing from the folder")
        if path.stat().st_size == 0:
            return cls(np.empty(0, dtype=np.uint8))
        text = np.memmap(path, dtype=np.uint8, mode="r")
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for part in blocks(text.size):
                decoder.decode(text[part].data, final=part.stop == text.size)
            return cls(text)
        except UnicodeDecodeError as error:
            fault = f"expected names in UTF-8, got {error.reason}; it is damaged"
            raise ValueError(f"{path}: {fault}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        """Write a `nodes.txt`."""
        self.text.tofile(path)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return sum(int((self.text[part] == _END).sum()) for part in blocks(self.text.size))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each name starts, and one more; computed lazily: training only needs the count."""
        starts = [np.zeros(1, dtype=np.int64)]
        for part in blocks(self.text.size):
            starts.append(part.start + 1 + np.flatnonzero(self.text[part] == _END))
        return np.concatenate(starts)

    def _lines(self, start: int, stop: int) -> list[str]:
        text = self.text[self._starts[start] : self._starts[stop] - 1].tobytes().decode()
        return [_unescape(line) for line in text.split("\n")]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return self._lines(index, index + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for block in blocks(len(self)):
            yield from self._lines(block.start, block.stop)

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
        """Return the ids of names, or raise a KeyError that offers names close to an unknown."""
        texts = [str(name) for name in names]
        found = self.find(texts)
        if (found < 0).any():
            raise self._unknown(texts[found.argmin()])
        return found

    def find(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of names, and -1 for those that are unknown."""
        return np.array([self._index.get(name, -1) for name in names], dtype=np.int64)

    def _unknown(self, name: str) -> KeyError:
        others: Iterable[str] = self._index
        if len(self) > _MAX_COMPARED_NAMES:
            # A typo is in one half of a name; the other half is right.
            half = max(1, len(name) // 2)
            start, end = name[:half], name[-half:]
            others = (other for other in others if other.startswith(start) or other.endswith(end))
        close = difflib.get_close_matches(name, list(islice(others, _MAX_COMPARED_NAMES)), n=3)
        hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
        return KeyError(f"unknown node {name!r}: not among the {len(self):,} nodes{hint}")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}


def require_inside(path: Path) -> None:
    """Raise a ValueError for a symlink that points outside its folder."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise ValueError(
            f"{path}: expected a file of this folder, got a link that leaves it; "
            "copy the file to its place"
        )


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
