"""One writer at a time: a lock file beside what is written, which ends with its process."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_held: set[Path] = set()


@contextmanager
def sole_writer(path: Path, lock: Path | None = None) -> Iterator[bool]:
    """Hold the lock of a file or folder to be written.

    The system lets go of it however the process ends, so that a lock file that was left behind
    stops nobody. Within a process it may be taken again, by a part of the same work.

    Args:
        lock: the lock file; by default `.NAME.lock` beside the path.

    Yields:
        whether nobody else can be writing: false where the file system has no locks.

    Raises:
        BlockingIOError: another process holds it.
    """
    path = path.resolve()
    if path in _held:
        yield True
        return
    lock = lock or path.with_name(f".{path.name}.lock")
    descriptor = _acquired(lock, path)
    _held.add(path)
    try:
        yield descriptor is not None
    finally:
        _held.discard(path)
        if descriptor is not None:
            # First the name, then the lock: who opened the file before finds that it is gone.
            lock.unlink(missing_ok=True)
            os.close(descriptor)


def _acquired(lock: Path, path: Path) -> int | None:
    """Return the descriptor of the lock file; None where there are no locks."""
    if sys.platform == "win32":
        return None
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise BlockingIOError(
                f"{path}: process {holder or '?'} is writing it; wait for it, or choose another "
                "output"
            ) from None
        if _is_file(descriptor, lock):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return descriptor
        os.close(descriptor)  # its last holder removed it meanwhile


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
