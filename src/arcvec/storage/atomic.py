"""Atomic files and folders: written under a temporary name by one process, then renamed."""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from arcvec.storage.headers import read_json, write_checksums

_HEADERS = ("meta.json", "split.json", "settings.json", "checkpoint.json")
DEMO_MARKER = "arcvec-demo.txt"
# Marks a folder of tables: Spark and pandas skip such names, polars skips empty files.
TABLE_MARKER = "_arcvec-table"
# A disk with less free space counts as full.
_MIN_FREE_BYTES = 1 << 20
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
# Arguments of Linux's renameat2.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def require_writable(path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raise an `OSError` now if `path` could not be written later, after hours of work.

    An existing output of arcvec is replaced only with `overwrite`, the inputs never.
    """
    path = path.resolve()
    for read in inputs:
        if path in (read.resolve(), *read.resolve().parents):
            raise FileExistsError(f"{path}: the input {read} is in there; choose another output")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; choose another name or pass --overwrite")
    if path.is_dir() and not _is_ours(path):
        raise FileExistsError(
            f"{path} is a folder that arcvec did not write, so that --overwrite leaves it alone; "
            "choose another output"
        )
    parent = next(folder for folder in path.parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write to {parent}: {reason}; choose another output") from None


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is empty, or has a marker or a header written by arcvec."""
    if (folder / DEMO_MARKER).is_file() or (folder / TABLE_MARKER).is_file():
        return True
    for name in _HEADERS:
        with suppress(OSError, ValueError):
            header = read_json(folder / name)
            if isinstance(header, dict) and str(header.get("format")).startswith("arcvec-"):
                return True
    return not any(folder.iterdir())


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False, checksums: bool = True) -> Iterator[Path]:
    """Yield an empty temporary folder that replaces `path` when the block ends without an error."""
    with _writing(path, overwrite) as path:
        if path.is_file():
            raise FileExistsError(f"{path} is a file; expected the name of a folder")
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
        try:
            with _explain_full_disk(path):
                yield partial
                if checksums:
                    write_checksums(partial)
                partial.chmod(0o755)
                for file in (*partial.rglob("*"), partial):
                    _sync(file)
            if path.exists():
                _exchange(partial, path)
            else:
                partial.rename(path)
            _sync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder, if there is one; a process killed meanwhile leaves none of that name."""
    if path.is_dir():
        # The next writer of this path clears what is left under such a name.
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
        shutil.rmtree(path.rename(partial / path.name).parent)


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary file name that becomes `path` when the block ends without an error."""
    with _writing(path, overwrite) as path:
        if path.is_dir():
            raise FileExistsError(f"{path} is a folder; expected the name of a file")
        # The suffix stays last: writers choose the format by it.
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}{path.suffix}")
        try:
            with _explain_full_disk(path):
                yield partial
                _sync(partial)
            partial.replace(path)
            _sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path, overwrite: bool) -> Iterator[Path]:
    """Hold the lock of a path after checking that it can be written; yield it resolved."""
    require_writable(path, overwrite=overwrite)
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with sole_writer(path) as alone:
        if alone:
            # Partial outputs of processes that were killed.
            for stale in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
        yield path


@contextmanager
def _explain_full_disk(path: Path) -> Iterator[None]:
    """Re-raise any error caused by a full disk, or a removed folder, as one clear OSError."""
    try:
        yield
    except Exception as error:
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{path.parent} was removed while {path.name} was written into it; write it again"
            ) from error
        is_full = shutil.disk_usage(path.parent).free < _MIN_FREE_BYTES
        cause: BaseException | None = error
        while cause is not None and not is_full:
            is_full = getattr(cause, "errno", None) == errno.ENOSPC
            is_full = is_full or "no space left" in str(cause).lower()
            cause = cause.__cause__ or cause.__context__
        if is_full:
            raise OSError(
                f"{path.parent}: no space left on the disk; make room or choose another output. "
                "What was there before is unchanged"
            ) from error
        raise


def _exchange(one: Path, other: Path) -> None:
    """Let two folders of the same parent take each other's name."""
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None), "renameat2", None)
        paths = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
        if rename is not None and rename(*paths, _RENAME_EXCHANGE) == 0:
            return
    # Not a name that the next writer clears away: after a kill here it is the only copy.
    aside = Path(tempfile.mkdtemp(prefix=f".{other.name}.old-", dir=other.parent))
    other.rename(aside / other.name)
    one.rename(other)
    shutil.rmtree(aside)


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def sole_writer(path: Path, lock: Path | None = None) -> Iterator[bool]:
    """Hold the lock of a path to be written, and yield false if the file system has no locks.

    A process may take it several times. The lock file, by default `.NAME.lock`, is freed with it.
    """
    path = path.resolve()
    file = lock or path.with_name(f".{path.name}.lock")
    held = FileLock(file, thread_local=False, is_singleton=True)
    if held.is_locked:
        yield True
    elif not _acquire(held, file, path):
        file.unlink(missing_ok=True)
        yield False
    else:
        try:
            yield True
        finally:
            # Unlink before release: a process that opened the file earlier finds that it is gone.
            file.unlink(missing_ok=True)
            held.release()


def _acquire(held: FileLock, file: Path, path: Path) -> bool:
    """Take the lock and write the process id into its file; return false if there are no locks."""
    try:
        held.acquire(blocking=False)
    except Timeout:
        holder = file.read_text(errors="replace").strip() if file.is_file() else ""
        raise BlockingIOError(
            f"{path}: process {holder or '?'} is writing it; wait for it, or choose another output"
        ) from None
    except NotImplementedError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    if not isinstance(held, SoftFileLock):  # whose file has a content of its own
        with suppress(OSError):
            file.write_text(f"{os.getpid()}\n")
    return True
