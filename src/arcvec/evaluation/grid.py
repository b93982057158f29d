"""The grid of an experiment: its cells, each a method with all its settings on one split."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from arcvec import __version__
from arcvec.evaluation.experiment_file import ExperimentSettings, MethodEntry
from arcvec.methods.baselines import BASELINES
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.method import Method
from arcvec.methods.presets import PRESETS
from arcvec.settings import merge_settings

METHODS: dict[str, type[Method]] = {"edge-projection": EdgeProjection, **BASELINES}


@dataclass(frozen=True)
class Cell:
    """One run of the grid.

    Attributes:
        dim, seed: None where the method has no such setting.
        first_seed: whether no other seed of the same run comes before it.
        refusal: why it is not to be run; empty if it is.
    """

    dataset: str
    label: str
    dim: int | None
    seed: int | None
    first_seed: bool
    method_name: str
    method: Method
    split: SplitFolder
    ranking: bool
    refusal: str

    @cached_property
    def digest(self) -> str:
        """Digest of all that decides the numbers: method, settings, split, arcvec version."""
        parts = {**self.definition, "split": self.split.fingerprint}
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The method, its settings and what is measured; ready for JSON."""
        return {
            "arcvec_version": __version__,
            "method": self.method_name,
            "settings": self.method.model_dump(mode="json"),
            "ranking": self.ranking,
        }

    @property
    def cost(self) -> tuple[bool, int, int]:
        """Sorts cheap cells first: methods without a dim, small graphs, small dims."""
        return self.dim is not None, self.split.num_train_bytes, self.dim or 0

    @property
    def file_name(self) -> str:
        """Name of its file: the same for the same run, whatever experiment asks for it."""
        dim = "" if self.dim is None else f"-dim{self.dim}"
        seed = "" if self.seed is None else f"-seed{self.seed}"
        dataset = self.dataset.replace("/", "_")
        return f"{dataset}-{self.method_name}{dim}{seed}-{self.digest}.json"

    def __str__(self) -> str:
        dim = "" if self.dim is None else f", dim {self.dim}"
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.dataset}, {self.label}{dim}{seed}"


@dataclass(frozen=True)
class SplitFolder:
    """Where a dataset lies, with what the grid needs to know of it."""

    path: Path

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all its files."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(self.path.iterdir()):
            if file.suffix in (".npy", ".json"):
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()

    @cached_property
    def num_nodes(self) -> int:
        """Nodes of the graph, those without any edge included."""
        from arcvec.graph.edge_files import read_index

        return len(read_index(self.path / "index.json"))

    @cached_property
    def num_train_bytes(self) -> int:
        """Size of the file of train edges: a measure of the work."""
        return (self.path / "train.txt.npy").stat().st_size


def grid_cells(experiment: ExperimentSettings, folders: list[Path]) -> list[Cell]:
    """Return all cells: by dataset, method, dim and seed, each in the order of the experiment.

    Args:
        folders: where split folders are looked for, in this order.
    """
    splits = {name: find_split(name, folders) for name in experiment.datasets}
    return [
        cell
        for name, split in splits.items()
        for entry in experiment.methods
        for cell in _cells_of(experiment, entry, name, split)
    ]


def _cells_of(
    experiment: ExperimentSettings, entry: MethodEntry, dataset: str, split: SplitFolder
) -> Iterator[Cell]:
    fields = _method_class(entry).model_fields
    dims = (entry.dims or experiment.dims) if "dim" in fields else (None,)
    seeds = (entry.seeds or experiment.seeds) if "seed" in fields else (None,)
    if not dims:
        raise ValueError(f'expected dims for the method "{entry.label}", which has a dim')
    for dim in dims:
        for seed in seeds:
            chosen = {"dim": dim, "seed": seed}
            yield Cell(
                dataset=dataset,
                label=entry.label,
                dim=dim,
                seed=seed,
                first_seed=seed == seeds[0],
                method_name=entry.method,
                method=_build_method(
                    entry,
                    experiment.quick.settings.get(entry.method, {}),
                    {name: value for name, value in chosen.items() if value is not None},
                ),
                split=split,
                ranking=experiment.ranking if entry.ranking is None else entry.ranking,
                refusal=_refusal(entry, dataset, split),
            )


def _method_class(entry: MethodEntry) -> type[Method]:
    if entry.method not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f'method "{entry.label}": expected one of {known}, got "{entry.method}"')
    return METHODS[entry.method]


def _build_method(entry: MethodEntry, *overrides: dict[str, Any]) -> Method:
    presets = PRESETS if entry.method == "edge-projection" else {"default": ()}
    if entry.preset not in presets:
        raise ValueError(
            f'method "{entry.label}": expected a preset among {", ".join(presets)}, '
            f'got "{entry.preset}"'
        )
    try:
        return merge_settings(
            _method_class(entry), *presets[entry.preset], entry.settings, *overrides
        )
    except ValueError as error:
        raise ValueError(f'method "{entry.label}": {error}') from None


def _refusal(entry: MethodEntry, dataset: str, split: SplitFolder) -> str:
    if dataset in entry.skip:
        return entry.skip[dataset]
    if entry.max_nodes is not None and split.num_nodes > entry.max_nodes:
        return f"more than {entry.max_nodes:,} nodes"
    return ""


def data_folders(
    experiment: ExperimentSettings, named: Path | None = None, project: Path | None = None
) -> list[Path]:
    """Return where split folders may lie: the one named, else the experiment's, else the usual.

    Args:
        project: folder beside which `shared/data/splits` is looked for.
    """
    if named is not None:
        return [named]
    if experiment.data is not None:
        return [experiment.data]
    in_environment = os.environ.get("ARCVEC_DATA")
    folders = [Path(in_environment) / "splits"] if in_environment else []
    return [*folders, (project or Path()).absolute().parent / "shared" / "data" / "splits"]


def find_split(name: str, folders: list[Path]) -> SplitFolder:
    """Return the split folder of that name in the first folder that has it."""
    from arcvec.graph.split import is_split

    for folder in folders:
        if is_split(folder / name):
            return SplitFolder(folder / name)
    places = " or ".join(str(folder) for folder in folders)
    raise ValueError(
        f'expected a split folder "{name}" in {places}, found none; name its folder with --data'
    )
