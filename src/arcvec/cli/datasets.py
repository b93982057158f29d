"""Graphs to begin with: `datasets`."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.filesize import decimal
from rich.table import Table

from arcvec.cli.flags import Out
from arcvec.console import download_progress, output, plain_print

if TYPE_CHECKING:
    from arcvec.datasets.catalogue import Dataset


def datasets(
    *names: str,
    out: Out = Path("data"),
    mirror: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """List the graphs that papers measure on, or put some of them into a folder.

    A file is the very one, by its SHA-256, or an error: it does not matter who keeps the mirror.
    A download that broke off goes on where it was.

    Args:
        names: datasets to fetch; without any, all are listed.
        out: folder to put NAME.txt.gz into.
        mirror: folder with these files, or the https address of one; by default $ARCVEC_DATA/raw
            and ../shared/data/raw.
        overwrite: replace files of these names that are others.
        quiet: show no progress.
        as_json: print JSON.
    """
    from arcvec.datasets.catalogue import CATALOGUE, find_dataset
    from arcvec.datasets.fetch import fetch_dataset, usual_folders

    chosen = [find_dataset(name) for name in names] or list(CATALOGUE.values())
    with download_progress(quiet=quiet) as report:
        for dataset in chosen if names else ():
            fetch_dataset(
                dataset,
                out,
                mirror,
                overwrite=overwrite,
                progress=partial(report, dataset.file, dataset.size),
            )
    folders = [out] if names else [out, *usual_folders()]
    found = {dataset: _found(dataset, folders) for dataset in chosen}
    if as_json:
        rows = [{**asdict(dataset), "path": path and str(path)} for dataset, path in found.items()]
        plain_print(json.dumps(rows, indent=2))
    elif names:
        for dataset, path in found.items():
            counts = f"{dataset.num_nodes:,} nodes, {dataset.num_edges:,} edges"
            plain_print(f"{path}: {counts}, {_kind(dataset)}")
    else:
        output.print(_table(found))


def _found(dataset: Dataset, folders: list[Path]) -> Path | None:
    """Return where the file is, if it is in one of the folders."""
    paths = (folder / dataset.file for folder in folders)
    return next((path for path in paths if dataset.is_at(path)), None)


def _table(found: dict[Dataset, Path | None]) -> Table:
    table = Table("name", "kind", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for name in ("nodes", "edges", "size"):
        table.add_column(name, justify="right")
    table.add_column("at hand")
    for dataset, path in found.items():
        counts = f"{dataset.num_nodes:,}", f"{dataset.num_edges:,}"
        at_hand = "yes" if path else "no"
        table.add_row(dataset.name, _kind(dataset), *counts, decimal(dataset.size), at_hand)
    return table


def _kind(dataset: Dataset) -> str:
    return "directed" if dataset.directed else "undirected"
