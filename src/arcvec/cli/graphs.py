"""Graph in: `ingest` and `split`."""

from __future__ import annotations

from pathlib import Path

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles, Out, read_graph
from arcvec.console import escape, messages, note, plain_print
from arcvec.storage import require_writable


def ingest(
    edges: Path,
    /,
    *,
    out: Out,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
    overwrite: bool = False,
) -> None:
    """Read an edge list into a graph folder, which later commands open at once.

    Args:
        edges: text, csv, tsv or Parquet file, plain or gzipped, or a folder of such files.
        out: graph folder to write.
        overwrite: replace the folder if it exists.
    """
    from arcvec.graph.ingest import ingest_edges

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
    overwrite: bool = False,
) -> None:
    """Cut the edges into train and test, with negatives, by the paper's protocol.

    Args:
        graph: graph folder or edge file.
        out: split folder to write.
        test_fraction: part of the edges held out; train stays connected.
        validation_fraction: part of the edges held out besides, for choosing settings.
        seed: decides every random choice.
        overwrite: replace the folder if it exists.
    """
    from arcvec.graph.split import write_split

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
