"""One writer for every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcvec.export.arrays import ExportedArrays
from arcvec.graph.names import NodeIds, NodeNames
from arcvec.storage import write_json


def write_npy(exported: ExportedArrays, folder: Path) -> None:
    """Write an .npy file for every array, `nodes.txt` and `meta.json` into a folder."""
    for name, array in exported.of().items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    exported.nodes.save(folder / "nodes.txt")
    write_json(folder / "meta.json", exported.header())


def write_safetensors(exported: ExportedArrays, path: Path) -> None:
    """Write a tensor for every array, and `nodes`, the bytes of a `nodes.txt`."""
    from safetensors.numpy import save_file

    # Not in the metadata, where more than a hundred megabytes of names could not be read again.
    arrays = {**exported.of(), "nodes": exported.nodes.text}
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(contiguous, path, metadata={"arcvec": json.dumps(exported.header())})


def write_parquet(exported: ExportedArrays, path: Path) -> None:
    """Write a column for every array, vectors as Arrow lists of fixed size.

    Raises:
        ImportError: pyarrow is not installed.
    """
    try:
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise ImportError(
            "vectors in Parquet need pyarrow; install it with: pip install 'arcvec[parquet]'"
        ) from None
    header = {"arcvec": json.dumps(exported.header())}
    schema = _arrow_table(exported, np.arange(0)).schema.with_metadata(header)
    # Parquet has int8 in four bytes, but by a dictionary in one; nothing else repeats itself.
    repeating = [f"{field.name}.list.element" for field in schema if _is_int8(field.type)]
    with ParquetWriter(path, schema, use_dictionary=repeating) as writer:
        for ids in exported.blocks():
            writer.write_table(_arrow_table(exported, ids).replace_schema_metadata(header))


def _arrow_table(exported: ExportedArrays, ids: NodeIds) -> Any:
    import pyarrow

    columns = {"node": pyarrow.array(exported.nodes.at(ids), pyarrow.string())}
    for name, array in exported.of(ids).items():
        numbers = pyarrow.array(array.ravel())
        columns[name] = numbers if name.endswith("_scale") else _fixed_lists(numbers, array)
    return pyarrow.table(columns)


def _is_int8(column: Any) -> bool:
    import pyarrow

    return bool(column.num_fields and column.value_type == pyarrow.int8())


def _fixed_lists(numbers: Any, vectors: NDArray[Any]) -> Any:
    from pyarrow import FixedSizeListArray

    return FixedSizeListArray.from_arrays(numbers, vectors.shape[1])


def write_word2vec(exported: ExportedArrays, path: Path) -> None:
    """Write a line with the numbers of nodes and coordinates, then name and numbers of each node.

    Raises:
        ValueError: a name has white space in it.
    """
    _require_words(exported.nodes)
    width = sum(array.shape[1] for array in exported.of(np.arange(0)).values())
    line = "%s" + " %.9g" * width + "\n"  # nine figures give every float32 back exactly
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(exported.nodes)} {width}\n")
        for ids in exported.blocks():
            rows = np.concatenate(list(exported.of(ids).values()), axis=1)
            for name, row in zip(exported.nodes.at(ids), rows.tolist(), strict=True):
                file.write(line % (name, *row))


def _require_words(nodes: NodeNames) -> None:
    # Refused, not replaced: a replaced space is another name, and may be that of another node.
    for name in nodes:
        if name.split() != [name]:
            raise ValueError(
                "word2vec text ends a name at the first space: expected names without white space, "
                f"got {name!r}; parquet, safetensors and npy keep such names"
            )
