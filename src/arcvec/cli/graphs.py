"""Graph in: `datasets`, `ingest` and `split`."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.filesize import decimal
from rich.table import Table

from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Json, Out, Overwrite, Quiet, read_graph
from arcvec.graph.split import write_split
from arcvec.ingest.datasets import CATALOGUE, fetch_dataset, find_dataset, usual_folders
from arcvec.ingest.ingest import ingest_edges
from arcvec.storage.atomic import require_writable
from arcvec.view.console import download_progress, escape, messages, note, output, plain_print


def datasets(
    *names: str,
    out: Out = Path("data"),
    mirror: str | None = None,
    overwrite: bool = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List the graphs that papers measure on, or put some of them into a folder.

    A file must match its SHA-256, so any mirror will do. An interrupted download continues.

    Args:
        names: datasets to fetch; without any, all are listed.
        out: folder to put NAME.txt.gz into.
        mirror: folder with these files, or the https address of one; by default $ARCVEC_DATA/raw
            and ../shared/data/raw.
        overwrite: replace files of these names that are others.
    """
    chosen = [find_dataset(name) for name in names] or list(CATALOGUE.values())
    with download_progress(quiet=quiet) as report:
        for one in chosen if names else ():
            progress = partial(report, one.file, one.size)
            fetch_dataset(one, out, mirror, overwrite=overwrite, progress=progress)
    folders = [out] if names else [out, *usual_folders()]
    found = []
    table = Table("name", "kind", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for name in ("nodes", "edges", "size"):
        table.add_column(name, justify="right")
    table.add_column("at hand")
    for one in chosen:
        paths = (folder / one.file for folder in folders)
        path = next((str(path) for path in paths if one.is_at(path)), None)
        found.append({**asdict(one), "path": path})
        kind = "directed" if one.directed else "undirected"
        counts = f"{one.num_nodes:,}", f"{one.num_edges:,}"
        table.add_row(one.name, kind, *counts, decimal(one.size), "yes" if path else "no")
        if names and not as_json:
            plain_print(f"{path}: {counts[0]} nodes, {counts[1]} edges, {kind}")
    if as_json:
        plain_print(json.dumps(found, indent=2))
    elif not names:
        output.print(table)


def ingest(
    edges: Path,
    /,
    *,
    out: Out,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
    overwrite: Overwrite = False,
) -> None:
    """Read an edge list into a graph folder, which later commands open at once.

    Args:
        edges: text, csv, tsv or Parquet file, plain or gzipped, or a folder of such files.
        out: graph folder to write.
    """
    with messages.status(escape(f"reading {edges}")) as status:
        report = ingest_edges(edges, out, files, overwrite=overwrite, progress=status.update)
    for text in report.notes:
        note(text)
    kind = "directed" if report.directed else "undirected"
    weighted = ", weighted" if report.weighted else ""
    plain_print(f"{out}: {report.num_nodes:,} nodes, {report.num_edges:,} edges, {kind}{weighted}")


def split(
    graph: Path,
    /,
    *,
    out: Out,
    test_fraction: float = 0.5,
    validation_fraction: float = 0.0,
    seed: int = 0,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
    overwrite: Overwrite = False,
) -> None:
    """Cut the edges into train and test, with negatives, by the paper's protocol.

    Args:
        graph: graph folder or edge file.
        out: split folder to write.
        test_fraction: part of the edges held out; train stays connected.
        validation_fraction: part of the edges held out besides, for choosing settings.
        seed: decides every random choice.
    """
    require_writable(out, overwrite=overwrite, inputs=[graph])
    rows = write_split(
        read_graph(graph, files),
        out,
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        seed=seed,
        overwrite=overwrite,
    )
    shown = {
        "train.txt.npy": "train edges",
        "test.txt.npy": "test edges",
        "validation.txt.npy": "validation edges",
        "test.directed.neg.txt.npy": "test negatives with reversed edges",
    }
    counts = [f"{rows[name]:,} {what}" for name, what in shown.items() if name in rows]
    plain_print(f"{out}: {', '.join(counts)}")
