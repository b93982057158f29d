"""Long arrays block by block: slices of them, and where to put them aside, in memory or on disk."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

EdgeArray: TypeAlias = NDArray[np.int32]
"""(m, 2) int32: source and target of each edge or non-edge."""

ROWS_PER_BLOCK = 1 << 18
_BYTES_PER_PAIR = 8


def blocks(length: int) -> Iterator[slice]:
    """Yield slices that cover `length` rows, in order.

    >>> list(blocks(3))
    [slice(0, 3, None)]
    """
    for start in range(0, length, ROWS_PER_BLOCK):
        yield slice(start, min(start + ROWS_PER_BLOCK, length))


def scratch_array(length: int, dtype: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """Return an array to fill: in memory, or in a nameless file of a folder.

    The file is mapped, so that what memory has no room for waits on disk; it goes with the array.
    """
    if folder is None or length == 0:
        return np.empty(length, dtype)
    nothing = np.zeros(min(length, ROWS_PER_BLOCK), dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        # Written, not left a hole: if the disk is full, that is an error here, and a signal that
        # ends the process where a page of a hole is touched.
        for block in blocks(length):
            file.write(nothing[: block.stop - block.start].data)
        file.flush()
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(length,)))


class PairFile:
    """Pairs in the order they came, put aside in memory or in a nameless file of a folder.

    >>> with PairFile(None) as pairs:
    ...     pairs.append(np.array([[0, 1], [2, 3]], dtype=np.int32))
    ...     pairs.append(np.array([[4, 5]], dtype=np.int32))
    ...     print(len(pairs), pairs.read(slice(1, 3)).tolist())
    3 [[2, 3], [4, 5]]
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._length = 0
        self._file = (
            io.BytesIO() if folder is None else tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        )

    def __enter__(self) -> PairFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._length

    def append(self, pairs: NDArray[np.integer]) -> None:
        """Add pairs at the end."""
        self._file.seek(self._length * _BYTES_PER_PAIR)
        self._file.write(np.ascontiguousarray(pairs, np.int32).data)
        self._length += len(pairs)

    def read(self, part: slice) -> EdgeArray:
        """Return the pairs of a slice, a copy."""
        pairs = np.empty((part.stop - part.start, 2), dtype=np.int32)
        self._file.seek(part.start * _BYTES_PER_PAIR)
        self._file.readinto(pairs.data)
        return pairs

    def blocks(self, part: slice) -> Iterator[EdgeArray]:
        """Yield the pairs of a slice block by block."""
        for block in blocks(part.stop - part.start):
            yield self.read(slice(part.start + block.start, part.start + block.stop))

    def shorten(self, length: int) -> None:
        """Leave out what comes after the first `length` pairs."""
        self._length = min(self._length, length)
