r"""Vectors for other tools, as Parquet, word2vec text, safetensors or plain .npy files.

In all of them the score of an edge is the inner product of the `source` vector of its source and
the `target` vector of its target. On an undirected graph too, where vectors are twice as long as
in the result: see `EdgeEmbeddings.vectors`. Where the result has one vector for both sides,
`target` is that vector and `source` the same times its weights, `dim` numbers each.

Parquet in DuckDB, with 16 numbers a side (Parquet itself knows only lists of any length, hence the
casts), and the best targets of alice:

    CREATE TABLE vectors AS
        SELECT node, source::FLOAT[16] AS source, target::FLOAT[16] AS target
        FROM 'vectors.parquet';
    SELECT v.node, array_inner_product(u.source, v.target) AS score
        FROM vectors AS u, vectors AS v
        WHERE u.node = 'alice' AND v.node <> 'alice'
        ORDER BY score DESC LIMIT 10;

pgvector reads the text that DuckDB makes of lists; its `<#>` is the inner product negated:

    COPY (FROM 'vectors.parquet') TO 'vectors.csv';  -- this in DuckDB, the rest in psql
    CREATE TABLE vectors (node text PRIMARY KEY, source vector(16), target vector(16));
    \copy vectors FROM 'vectors.csv' CSV HEADER
    SELECT node FROM vectors WHERE node <> 'alice'
        ORDER BY target <#> (SELECT source FROM vectors WHERE node = 'alice') LIMIT 10;

word2vec text in gensim, whose `similar_by_vector` divides by the norms: it ranks targets as
`recommend` does if they are equally long, and as the cosine does otherwise.

    export_vectors(embeddings, "sources.txt", side="source", equal_norms=True)
    export_vectors(embeddings, "targets.txt", side="target", equal_norms=True)
    sources, targets = map(KeyedVectors.load_word2vec_format, ("sources.txt", "targets.txt"))
    targets.similar_by_vector(sources["alice"])   # the order of recommend, alice among them
    targets.vectors @ sources["alice"]            # scores; right without equal norms, too
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arcvec.embeddings import EdgeEmbeddings
from arcvec.export.arrays import ExportedArrays
from arcvec.export.settings import ExportSettings, choose_format
from arcvec.export.writers import write_npy, write_parquet, write_safetensors, write_word2vec
from arcvec.settings import merge_settings
from arcvec.storage import new_file, new_folder

FILE_WRITERS = {
    "parquet": write_parquet,
    "word2vec": write_word2vec,
    "safetensors": write_safetensors,
}


def export_vectors(
    embeddings: EdgeEmbeddings,
    path: str | Path,
    settings: ExportSettings | None = None,
    *,
    overwrite: bool = False,
    **changes: Any,
) -> None:
    r"""Write vectors and names in a format of other tools.

    - parquet: columns `node`, `source` and `target`, the vectors as Arrow lists of fixed size.
      Needs the extra `parquet`.
    - word2vec: text of one side, or of both in one row. Names must be free of white space.
    - safetensors: tensors `source` and `target`, and `nodes`, the names as bytes of UTF-8:
      `bytes(nodes).decode().split("\n")[:-1]`. Line breaks and backslashes in a name are escaped by
      a backslash.
    - npy: a folder with `source.npy`, `target.npy` and such names in `nodes.txt`.

    int8 adds `source_scale` and `target_scale`, one number per node: value = int8 * scale.

    Args:
        changes: fields of `ExportSettings`, as in `precision="int8"`.

    Raises:
        ValueError: settings, suffix and names do not go together.
        FileExistsError: `path` exists and `overwrite` is false.
    """
    settings = merge_settings(ExportSettings, settings or {}, changes)
    chosen = choose_format(Path(path), settings)
    exported = ExportedArrays(embeddings, settings)
    if chosen == "npy":
        with new_folder(Path(path), overwrite=overwrite) as folder:
            write_npy(exported, folder)
    else:
        with new_file(Path(path), overwrite=overwrite) as partial:
            FILE_WRITERS[chosen](exported, partial)
