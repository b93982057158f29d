"""Result to other tools: `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from arcvec.cli.flags import Out
from arcvec.console import plain_print
from arcvec.export.settings import ExportSettings, choose_format
from arcvec.storage import require_writable

ExportFlags = Annotated[ExportSettings, Parameter(name="*", group="Format")]


def export(
    result: Path,
    /,
    *,
    out: Out,
    settings: ExportFlags = ExportSettings(),  # noqa: B008  frozen
    overwrite: bool = False,
) -> None:
    """Write the vectors as Parquet, word2vec text, safetensors or .npy files.

    The score of an edge is the inner product of its source's source vector and its target's target
    vector. In DuckDB: array_inner_product(source::FLOAT[16], target::FLOAT[16]); in pgvector: <#>;
    in gensim, which knows only the cosine: --equal-norms.

    Args:
        result: result folder.
        out: file to write, or folder for npy.
        overwrite: replace it if it exists.
    """
    from arcvec.embeddings import EdgeEmbeddings
    from arcvec.export.vectors import export_vectors

    chosen = choose_format(out, settings)
    require_writable(out, overwrite=overwrite, inputs=[result])
    embeddings = EdgeEmbeddings.load(result)
    export_vectors(embeddings, out, settings, overwrite=overwrite)
    plain_print(f"{out}: {len(embeddings.nodes):,} nodes, {settings.precision}, {chosen}")
