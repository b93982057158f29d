"""Arrays in files: load .npy files, keep arrays on disk instead of in memory, process in blocks."""

from __future__ import annotations

import ctypes
import io
import math
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

ROWS_PER_BLOCK = 1 << 18
# The header of an .npy file is Python source; numpy raises these besides ValueError if damaged.
_BAD_HEADER = (SyntaxError, TypeError, OverflowError, tokenize.TokenError)


def load_array(path: Path, *, mmap: bool = True) -> NDArray[Any]:
    """Return the array in a .npy file; an error names the file."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: missing from the folder") from None
    except (*_BAD_HEADER, ValueError, EOFError, MemoryError):
        text = "expected a numpy array, got a file cut short or damaged"
        raise ValueError(f"{path}: {text}") from None
    return array


def blocks(length: int) -> Iterator[slice]:
    """Yield slices that cover `length` rows, in order."""
    for start in range(0, length, ROWS_PER_BLOCK):
        yield slice(start, min(start + ROWS_PER_BLOCK, length))


def true_positions(mask: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield the positions where a mask is true, ascending, block by block."""
    for block in blocks(mask.size):
        yield block.start + np.flatnonzero(mask[block])


def open_binary(folder: Path | None, name: str | None = None) -> IO[bytes]:
    """Open a new file of a folder; in memory without a folder, deleted when closed if unnamed."""
    if folder is None:
        return io.BytesIO()
    return tempfile.TemporaryFile(dir=folder) if name is None else (folder / name).open("w+b")


class ArrayOnDisk:
    """An array in an .npy file that grows by rows and is read in slices.

    >>> with ArrayOnDisk(open_binary(None), np.int64) as array:
    ...     array.append(np.array([3, 1]))
    ...     array.append(np.array([2]))
    ...     print(len(array), array.read(), array.read(slice(1, 3)))
    3 [3 1 2] [1 2]
    """

    def __init__(self, file: IO[bytes], dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        """Start with no rows."""
        self._file, self._dtype, self._row_shape = file, np.dtype(dtype), row_shape
        self._length = 0
        self._write_header()
        self._start = file.tell()

    def _write_header(self) -> None:
        # numpy pads headers so that the length can grow in place.
        shape = (self._length, *self._row_shape)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def __enter__(self) -> ArrayOnDisk:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Write the final length into the header and close the file, unless it is in memory."""
        if isinstance(self._file, io.BytesIO):
            return
        with self._file:
            if error is None:
                self._file.seek(0)
                self._write_header()

    def __len__(self) -> int:
        return self._length

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        self._seek(self._length)
        self._file.write(np.ascontiguousarray(rows, self._dtype).data)
        self._length += len(rows)

    def read(self, part: slice | None = None) -> NDArray[Any]:
        """Return a copy of some rows, by default of all."""
        part = part or slice(0, self._length)
        rows = np.empty((part.stop - part.start, *self._row_shape), self._dtype)
        self._seek(part.start)
        self._file.readinto(rows.data)  # type: ignore[attr-defined]
        return rows

    def blocks(self, part: slice) -> Iterator[NDArray[Any]]:
        """Yield copies of some rows, block by block."""
        for block in blocks(part.stop - part.start):
            yield self.read(slice(part.start + block.start, part.start + block.stop))

    def truncate(self, length: int) -> None:
        """Keep only the first `length` rows."""
        self._length = min(self._length, length)

    def _seek(self, row: int) -> None:
        self._file.seek(self._start + row * self._dtype.itemsize * math.prod(self._row_shape))


def release_memory() -> None:
    """Return freed memory to the system, which the C library keeps by default."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim:
            trim(0)
