"""The settings that say how raw edge files are to be read."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from arcvec.settings import Settings


class EdgeFileSettings(Settings):
    """How edges stand in a file, and what becomes of them."""

    directed: bool = Field(True, description="edges have a direction, or none")
    separator: str | None = Field(
        None,
        min_length=1,
        max_length=4,
        description='what splits the columns, such as "," or "\\t"; guessed by default',
    )
    header: Literal["auto", "yes", "no"] = Field(
        "auto", description="whether the first line names the columns"
    )
    source: str | None = Field(
        None, description="column of the sources: its name, or its position from 0"
    )
    target: str | None = Field(
        None, description="column of the targets: its name, or its position from 0"
    )
    weight: str | None = Field(
        None, description='column of the weights: its name, or its position from 0; "" for none'
    )
    self_loops: Literal["drop", "keep"] = Field(
        "drop", description="what becomes of edges from a node to itself"
    )
    largest_component: bool = Field(
        False, description="keep only the largest weakly connected component"
    )
    comment: str = Field("#", description='lines that start with this are skipped; "" for none')
    memory_limit: str = Field(
        "1.5GB",
        pattern=r"^\d+(\.\d+)? ?[KMGT]i?B$",
        description="memory for sorting and joining; what is more goes to disk for a while",
    )
