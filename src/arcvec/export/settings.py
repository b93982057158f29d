"""What is written of the vectors and how, and what goes with what."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field

from arcvec.settings import Settings

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
    """Return the format that settings and suffix ask for.

    Raises:
        ValueError: neither says it, or something does not go with something else.
    """
    by_suffix = SUFFIXES.get(path.suffix)
    chosen = settings.format or by_suffix
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
    _check_precision(chosen, settings)
    return chosen


def _check_precision(chosen: Format, settings: ExportSettings) -> None:
    precision = settings.precision
    if precision == "float32":
        return
    if chosen == "word2vec":
        raise ValueError(
            "word2vec text has decimal numbers: expected the precision float32, got "
            f"{precision}; parquet, safetensors and npy have it"
        )
    if settings.equal_norms:
        raise ValueError(
            "rounded vectors are not equally long: expected equal norms with the precision "
            f"float32, got {precision}"
        )
