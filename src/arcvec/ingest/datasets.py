"""Graphs that papers measure on: listed by name, and fetched from a folder or an https mirror.

Files are pinned by size and SHA-256, so it does not matter who keeps the mirror.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch

from arcvec.storage.atomic import new_file
from arcvec.storage.headers import file_digest, read_json

TIMEOUT = 30.0
"""Seconds after which a server that sends nothing is given up."""

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Dataset:
    """A graph as a gzipped edge list of `size` bytes; its counts are without self-loops."""

    name: str
    directed: bool
    num_nodes: int
    num_edges: int
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file, in a mirror and in the output folder."""
        return f"{self.name}.txt.gz"

    def is_at(self, path: Path) -> bool:
        """Return whether a path is this very file."""
        has_size = path.is_file() and path.stat().st_size == self.size
        return has_size and file_digest(path) == self.sha256


CATALOGUE: Mapping[str, Dataset] = {
    facts["name"]: Dataset(**facts) for facts in read_json(Path(__file__).with_suffix(".json"))
}


def find_dataset(name: str) -> Dataset:
    """Return the dataset of that name, or raise a ValueError that offers close names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    lower = {known.lower(): known for known in CATALOGUE}
    close = [lower[text] for text in difflib.get_close_matches(name.lower(), lower, n=2)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(CATALOGUE)}"
    raise ValueError(f'no dataset is called "{name}"; {hint}')


def usual_folders(kind: str = "raw", project: Path | None = None) -> list[Path]:
    """Return where data may be: `$ARCVEC_DATA/KIND`, then `shared/data/KIND` beside the project."""
    beside = (project or Path()).absolute().parent / "shared" / "data"
    return [Path(folder) / kind for folder in (os.environ.get("ARCVEC_DATA"), beside) if folder]


def fetch_dataset(
    dataset: Dataset,
    folder: Path,
    mirror: str | None = None,
    *,
    overwrite: bool = False,
    progress: Callable[[int], object] = lambda size: None,
) -> bool:
    """Put the file of a dataset into a folder; return false if it was there already.

    Args:
        mirror: a folder with the file, or the https address of one; by default `usual_folders`.
        progress: called with the number of bytes fetched so far.
    """
    path = folder / dataset.file
    if dataset.is_at(path):
        return False
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} exists already, and its SHA-256 is not that of {dataset.name}; choose another "
            "folder or pass --overwrite"
        )
    origin = _find(dataset, mirror)
    with new_file(path, overwrite=overwrite) as partial:
        if isinstance(origin, Path):
            shutil.copyfile(origin, partial)
            progress(partial.stat().st_size)
        else:
            _download(origin, partial, dataset, progress)
        if not dataset.is_at(partial):
            fault = f"its SHA-256 is not that of {dataset.name}; try another mirror"
            raise ValueError(f"{origin}: {fault}")
    return True


def _find(dataset: Dataset, mirror: str | None) -> Path | str:
    """Return the path or the address of the file of a dataset."""
    if mirror is not None and "://" in mirror:
        parts = urlsplit(mirror)
        if parts.scheme != "https":
            fault = f"expected a folder or an https address; {parts.scheme} is refused"
            raise ValueError(f"{mirror}: {fault}")
        return parts._replace(path=f"{parts.path.rstrip('/')}/{dataset.file}").geturl()
    folders = usual_folders() if mirror is None else [Path(mirror)]
    for folder in folders:
        if (folder / dataset.file).is_file():
            return folder / dataset.file
    raise FileNotFoundError(
        f"no {dataset.file} in {' or '.join(map(str, folders))}; name a folder, or the https "
        "address of one, with --mirror"
    )


def _download(
    address: str, partial: Path, dataset: Dataset, progress: Callable[[int], object]
) -> None:
    download = pooch.HTTPDownloader(
        progressbar=_ProgressBar(address, partial, dataset.size, progress),
        chunk_size=_CHUNK_BYTES,
        timeout=TIMEOUT,
        # Otherwise a server may declare a .gz file compressed, and it arrives unpacked.
        headers={"Accept-Encoding": "identity"},
        hooks={"response": _refuse_leaving_https},
    )
    try:
        download(address, str(partial), None)
    except OSError as error:
        if error.errno is not None:  # an error of the disk, not of requests
            raise
        # In one line, without words of the server.
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            missing = ": it has no such file" if status == 404 else ""
            raise OSError(f"{address}: the server answered {status}{missing}") from error
        kind = type(error).__name__
        reason = "its certificate is not trusted" if kind == "SSLError" else "cannot be fetched"
        raise ConnectionError(f"{address}: {reason} ({kind})") from error


def _refuse_leaving_https(response: Any, **_: Any) -> None:
    if response.is_redirect and urlsplit(response.headers["Location"]).scheme not in ("", "https"):
        raise ValueError(f"{response.url}: leads to an address that is not https")


@dataclass
class _ProgressBar:
    """What pooch reports to; it stops a download that is longer than expected."""

    address: str
    partial: Path
    size: int
    progress: Callable[[int], object]
    total: int = 0

    def update(self, _: int) -> None:
        """Report the size of the file; pooch counts every chunk as a full one."""
        done = self.partial.stat().st_size
        if done > self.size:
            raise ValueError(f"{self.address}: more than the {self.size:,} bytes expected")
        self.progress(done)

    def reset(self) -> None:
        """Do nothing: the size of the file is what counts."""

    close = reset
