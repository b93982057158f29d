"""The file of a dataset, from a folder or over https: whole and the very one, or not at all."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from arcvec.datasets.catalogue import Dataset
from arcvec.datasets.https import sent_blocks
from arcvec.storage import new_file

_BLOCK = 1 << 18


def usual_folders() -> list[Path]:
    """Return where the files may be: `$ARCVEC_DATA/raw`, then `../shared/data/raw`."""
    named = os.environ.get("ARCVEC_DATA")
    folders = [Path(named)] if named else []
    return [folder / "raw" for folder in (*folders, Path.cwd().parent / "shared" / "data")]


def fetch_dataset(
    dataset: Dataset,
    folder: Path,
    mirror: str | None = None,
    *,
    overwrite: bool = False,
    context: ssl.SSLContext | None = None,
    progress: Callable[[int], object] = lambda size: None,
) -> bool:
    """Put the file of a dataset into a folder; return false if it was there already.

    What has come of it stays beside it, as `.NAME.partial`, until it is whole.

    Args:
        mirror: a folder with the file, or the https address of one; by default `usual_folders`.
        overwrite: whether another file of that name may be replaced.
        context: whom to trust; by default whom the system trusts.
        progress: told how many bytes are there.

    Raises:
        ValueError: the mirror has another file of that name.
        OSError: the file cannot be had, or not be written.
    """
    path = (folder / dataset.file).resolve()
    if dataset.is_at(path):
        return False
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} exists already, and its SHA-256 is not that of {dataset.name}; choose another "
            "folder or pass --overwrite"
        )
    place = _place_of(dataset, mirror)
    with new_file(path, overwrite=overwrite) as whole:
        partial = path.with_name(f".{dataset.name}.partial")
        if partial.is_symlink():
            partial.unlink()
        if partial.exists():
            with suppress(ValueError):  # it does not fit; now it is gone, and begun anew
                _complete(partial, dataset, place, context, progress)
        if not partial.exists():
            _complete(partial, dataset, place, context, progress)
        partial.replace(whole)
    return True


def _place_of(dataset: Dataset, mirror: str | None) -> Path | str:
    """Return the path or the address of the file of a dataset."""
    if mirror is not None and "://" in mirror:
        parts = urlsplit(mirror)
        if parts.scheme != "https":
            raise ValueError(
                f"{mirror}: expected a folder or an https address; {parts.scheme} is refused"
            )
        return parts._replace(path=f"{parts.path.rstrip('/')}/{dataset.file}").geturl()
    folders = usual_folders() if mirror is None else [Path(mirror)]
    for folder in folders:
        if (folder / dataset.file).is_file():
            return folder / dataset.file
    places = " or ".join(map(str, folders))
    raise FileNotFoundError(
        f"no {dataset.file} in {places}; name a folder, or the https address of one, with --mirror"
    )


def _complete(
    partial: Path,
    dataset: Dataset,
    place: Path | str,
    context: ssl.SSLContext | None,
    progress: Callable[[int], object],
) -> None:
    """Append to a partial file until it is whole; one that cannot become so is removed."""
    try:
        with partial.open("ab") as file:
            size = file.tell()
            for start, block in _missing_blocks(place, size, dataset.size, context):
                size = start + len(block)
                if size > dataset.size:
                    raise ValueError(f"{place}: more than the {dataset.size:,} bytes expected")
                file.truncate(start)
                file.write(block)
                progress(size)
        if size < dataset.size:
            raise ConnectionError(
                f"{place}: ended after {size:,} of {dataset.size:,} bytes; the same command goes "
                "on from there"
            )
        if not dataset.is_at(partial):
            raise ValueError(
                f"{place}: its SHA-256 is not that of {dataset.name}; try another mirror"
            )
    except ValueError:
        partial.unlink()
        raise
    except OSError:
        if partial.is_file() and partial.stat().st_size == 0:
            partial.unlink()
        raise


def _missing_blocks(
    place: Path | str, start: int, end: int, context: ssl.SSLContext | None
) -> Iterator[tuple[int, bytes]]:
    if start >= end:
        return
    if isinstance(place, str):
        yield from sent_blocks(place, start, end, context)
        return
    with place.open("rb") as file:
        if (size := place.stat().st_size) != end:
            raise ValueError(f"{place}: expected {end:,} bytes, got {size:,}")
        file.seek(start)
        while block := file.read(_BLOCK):
            yield start, block
            start += len(block)
