"""Vectors for other tools, as Parquet, word2vec text, safetensors or plain .npy files.

In all of them the score of an edge is the inner product of the `source` vector of its source and
the `target` vector of its target. docs/howto/export.md shows how other tools compute it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from arcvec.embeddings import SIDES, EdgeEmbeddings, Scores, Side
from arcvec.recommendation.approximate import equally_long, squared_norms
from arcvec.settings import Settings, merge_settings
from arcvec.storage.arrays import blocks
from arcvec.storage.atomic import new_file, new_folder
from arcvec.storage.headers import write_json

Format: TypeAlias = Literal["parquet", "word2vec", "safetensors", "npy"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".safetensors": "safetensors",
    "": "npy",
}


class ExportSettings(Settings):
    """What is written of the vectors, and how."""

    format: Format | None = Field(
        None,
        description="word2vec is text, npy a folder of .npy files; by default what the suffix of "
        "the output says: .parquet, .txt or .vec, .safetensors, none",
    )
    side: Literal["source", "target", "both"] = Field(
        "both", description="vectors to write; word2vec text has both in one row, the source first"
    )
    precision: Literal["float32", "float16", "int8"] = Field(
        "float32",
        description="numbers to write; int8 has a scale per node and side: value = int8 * scale",
    )
    equal_norms: bool = Field(
        False,
        description="add a coordinate, 0 for sources, that makes all targets equally long: no "
        "score changes, and tools that know only the cosine rank targets as the score does",
    )


def choose_format(path: Path, settings: ExportSettings) -> Format:
    """Return the format that settings and suffix ask for; raise an error if they conflict."""
    by_suffix = SUFFIXES.get(path.suffix)
    chosen, precision = settings.format or by_suffix, settings.precision
    if chosen is None:
        raise ValueError(
            f"{path}: expected a name ending in .parquet, .txt or .vec (word2vec), .safetensors, "
            "or without a suffix (a folder of .npy files); choose such a name or pass --format"
        )
    if path.suffix and by_suffix not in (None, chosen):
        raise ValueError(
            f"{path}: expected a name for the format {chosen}, got the suffix of {by_suffix}; "
            "choose another name or leave out --format"
        )
    if precision != "float32" and chosen == "word2vec":
        raise ValueError(
            "word2vec text has decimal numbers: expected the precision float32, got "
            f"{precision}; parquet, safetensors and npy have it"
        )
    if precision != "float32" and settings.equal_norms:
        raise ValueError(
            "rounded vectors are not equally long: expected equal norms with the precision "
            f"float32, got {precision}"
        )
    return chosen


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
    - word2vec: text of one side, or of both in one row. Names must be free of white space.
    - safetensors: tensors `source` and `target`, and `nodes`, the names as bytes of UTF-8:
      `bytes(nodes).decode().split("\n")[:-1]`, with line breaks and backslashes escaped.
    - npy: a folder with `source.npy`, `target.npy` and such names in `nodes.txt`.

    int8 adds `source_scale` and `target_scale`, one number per node: value = int8 * scale.
    `changes` are fields of `ExportSettings`, as in `precision="int8"`.
    """
    settings = merge_settings(ExportSettings, settings or {}, changes)
    chosen = choose_format(Path(path), settings)
    exported = ExportedArrays(embeddings, settings)
    new_output = new_folder if chosen == "npy" else new_file
    with new_output(Path(path), overwrite=overwrite) as partial:
        _WRITERS[chosen](exported, partial)


@dataclass(frozen=True, eq=False)
class ExportedArrays:
    """Vectors whose inner product is the score, and their scales, of all nodes or of some."""

    embeddings: EdgeEmbeddings
    settings: ExportSettings

    def of(self, some: slice = slice(None)) -> dict[str, NDArray[Any]]:
        """Return what is written of some nodes, or of all, by name; scales are (n, 1) float32."""
        arrays: dict[str, NDArray[Any]] = {}
        for side in SIDES:
            if self.settings.side not in (side, "both"):
                continue
            vectors = self.embeddings.vectors(side, some)
            if self.settings.equal_norms and side == "source":
                vectors = np.pad(vectors, [(0, 0), (0, 1)])
            elif self.settings.equal_norms:
                vectors = equally_long(vectors, self._longest)
            arrays |= _rounded(side, vectors, self.settings.precision)
        return arrays

    def blocks(self) -> Iterator[tuple[NDArray[np.object_], dict[str, NDArray[Any]]]]:
        """Yield names and arrays of some nodes at a time."""
        for some in blocks(len(self.embeddings.nodes)):
            yield self.embeddings.nodes.at(np.arange(some.start, some.stop)), self.of(some)

    def header(self) -> dict[str, Any]:
        """Return what is written beside the arrays: what they are and how they were made."""
        return {
            "format": "arcvec-vectors",
            "format_version": 1,
            "directed": self.embeddings.directed,
            **self.settings.model_dump(include={"side", "precision", "equal_norms"}),
            "result": dict(self.embeddings.settings),
        }

    @cached_property
    def _longest(self) -> float:
        """The largest squared norm of a target."""
        return float(squared_norms(self.embeddings.vectors("target")).max(initial=0))


def _rounded(side: Side, vectors: Scores, precision: str) -> dict[str, NDArray[Any]]:
    if precision == "float32":
        return {side: vectors}
    if precision == "float16":
        largest = np.finfo(np.float16).max
        if np.abs(vectors).max(initial=0) > largest:
            raise ValueError(
                f"expected numbers of at most {largest} for the precision float16, got larger "
                f"ones in {side}; float32 and int8 hold them"
            )
        return {side: vectors.astype(np.float16)}
    # A scale per node, not per coordinate: errors are then relative to a node's own vector, and one
    # hub does not coarsen all others.
    scale = np.abs(vectors).max(axis=1, keepdims=True, initial=0) / np.float32(127)
    scale[scale == 0] = 1
    return {side: np.rint(vectors / scale).astype(np.int8), f"{side}_scale": scale}


def _write_npy(exported: ExportedArrays, folder: Path) -> None:
    for name, array in exported.of().items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    exported.embeddings.nodes.save(folder / "nodes.txt")
    write_json(folder / "meta.json", exported.header())


def _write_safetensors(exported: ExportedArrays, path: Path) -> None:
    from safetensors.numpy import save_file

    # Names are a tensor, as readers refuse more than a hundred megabytes of metadata.
    arrays = {**exported.of(), "nodes": exported.embeddings.nodes.text}
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(contiguous, path, metadata={"arcvec": json.dumps(exported.header())})


def _write_parquet(exported: ExportedArrays, path: Path) -> None:
    try:
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise ImportError(
            "vectors in Parquet need pyarrow; install it with: pip install 'arcvec[parquet]'"
        ) from None
    header = {"arcvec": json.dumps(exported.header())}
    # Parquet stores int8 in four bytes, or in one by a dictionary; nothing else repeats.
    nobody = exported.of(slice(0))
    repeating = [f"{name}.list.element" for name in nobody if nobody[name].dtype == np.int8]
    schema = _arrow_table(np.empty(0, dtype=object), nobody).schema.with_metadata(header)
    with ParquetWriter(path, schema, use_dictionary=repeating) as writer:
        for names, arrays in exported.blocks():
            writer.write_table(_arrow_table(names, arrays).replace_schema_metadata(header))


def _arrow_table(names: NDArray[np.object_], arrays: dict[str, NDArray[Any]]) -> Any:
    import pyarrow

    columns = {"node": pyarrow.array(names, pyarrow.string())}
    for name, array in arrays.items():
        numbers = pyarrow.array(array.ravel())
        if not name.endswith("_scale"):
            numbers = pyarrow.FixedSizeListArray.from_arrays(numbers, array.shape[1])
        columns[name] = numbers
    return pyarrow.table(columns)


def _write_word2vec(exported: ExportedArrays, path: Path) -> None:
    # Names with spaces are not rewritten: the new name might be that of another node.
    for name in exported.embeddings.nodes:
        if name.split() != [name]:
            raise ValueError(
                "word2vec text ends a name at the first space: expected names without white space, "
                f"got {name!r}; parquet, safetensors and npy keep such names"
            )
    width = sum(array.shape[1] for array in exported.of(slice(0)).values())
    line = "%s" + " %.9g" * width + "\n"  # nine figures reproduce every float32 exactly
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(exported.embeddings.nodes)} {width}\n")
        for names, arrays in exported.blocks():
            rows = np.concatenate(list(arrays.values()), axis=1).tolist()
            file.writelines(line % (name, *row) for name, row in zip(names, rows, strict=True))


_WRITERS = {
    "npy": _write_npy,
    "parquet": _write_parquet,
    "safetensors": _write_safetensors,
    "word2vec": _write_word2vec,
}
