"""An experiment: its TOML file, and its grid of cells, each a method with settings on a split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from arcvec import __version__
from arcvec.baselines.by_name import METHODS
from arcvec.graph.files import read_index
from arcvec.graph.split import is_split
from arcvec.ingest.datasets import usual_folders
from arcvec.method import Method
from arcvec.settings import Settings, merge_settings, read_settings_file
from arcvec.training.presets import PRESETS


class MethodEntry(Settings):
    """One column of the tables: a method with settings of its own."""

    label: str = Field(min_length=1, description="heading of the column")
    method: str = Field(description="edge-projection, or the name of a baseline")
    group: str = Field("", description="heading above neighbouring columns of one kind")
    counterpart: str = Field("", description="the paper's column beside it, if not of its label")
    preset: str = Field("default", description="named set of settings (edge-projection)")
    settings: dict[str, Any] = Field({}, description="settings that override the preset")
    dims: tuple[int, ...] | None = Field(None, description="instead of the experiment's")
    seeds: tuple[int, ...] | None = Field(None, description="instead of the experiment's")
    max_nodes: int | None = Field(None, ge=1, description="larger graphs are refused")
    ranking: bool | None = Field(None, description="instead of the experiment's")


class ComparisonSettings(Settings):
    """Which columns are compared: named here, never chosen by test numbers."""

    ours: str = Field(description="label of the method in question")
    against: tuple[str, ...] = Field(min_length=1, description="labels; the best one counts")


class QuickSettings(Settings):
    """What `--quick` changes, so that the experiment ends in minutes."""

    datasets: tuple[str, ...] | None = None
    dims: tuple[int, ...] | None = None
    seeds: tuple[int, ...] | None = None
    settings: dict[str, dict[str, Any]] = Field({}, description="by method; they override others")


class ExperimentSettings(Settings):
    """An experiment: datasets x methods x dims x seeds, and the tables made of them."""

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    # The table: AUC by dim, AUC of each method against the first, test over train AUC, or the
    # spread of norms.
    kind: Literal["auc", "ablation", "generalisation", "norms"] = "auc"
    datasets: tuple[str, ...] = Field(min_length=1, description="names of split folders")
    data: Path | None = Field(None, description="folder of the split folders")
    dims: tuple[int, ...] = Field((), description="for methods that have a dim")
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="for methods that have a seed")
    more_seeds_below: float | None = Field(
        None, gt=0, description="seconds: seeds after the first only where it was fitted in less"
    )
    ranking: bool = Field(False, description="also rank test edges among all nodes")
    also: tuple[str, ...] = Field((), description="further numbers that get a table of their own")
    paper: Path | None = Field(None, description="csv of the paper's numbers, shown beside ours")
    comparison: ComparisonSettings | None = None
    methods: tuple[MethodEntry, ...] = Field(min_length=1)
    quick: QuickSettings = QuickSettings()

    @model_validator(mode="after")
    def _check_labels(self) -> ExperimentSettings:
        labels = [entry.label for entry in self.methods]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f'expected methods of different labels, got "{label}" twice')
        if self.comparison is not None:
            for label in (self.comparison.ours, *self.comparison.against):
                if label not in labels:
                    raise ValueError(f'comparison: expected the label of a method, got "{label}"')
        elif self.kind == "generalisation":
            raise ValueError('expected a [comparison] of two methods for the kind "generalisation"')
        return self


def read_experiment(path: Path, *, quick: bool = False) -> ExperimentSettings:
    """Return the experiment in a TOML file, in whose folder relative file names are looked up."""
    try:
        experiment = merge_settings(ExperimentSettings, read_settings_file(path))
    except ValueError as error:
        text = " ".join(str(error).split())  # labels may have several lines
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    changes: dict[str, Any] = {
        "data": experiment.data and path.parent / experiment.data,
        "paper": experiment.paper and path.parent / experiment.paper,
    }
    if quick:
        changes["title"] = f"{experiment.title} (quick size)"
        changes |= experiment.quick.model_dump(exclude_none=True, exclude={"settings"})
        # Dims and seeds of single methods give way too.
        own: dict[str, Any] = {name: None for name in ("dims", "seeds") if name in changes}
        changes["methods"] = tuple(entry.model_copy(update=own) for entry in experiment.methods)
    else:
        changes["quick"] = QuickSettings()
    return experiment.model_copy(update=changes)


@dataclass(frozen=True)
class SplitFolder:
    """A dataset on disk, with what the grid needs of it."""

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
        """Nodes of the graph, isolated ones included."""
        return len(read_index(self.path / "index.json"))


@dataclass(frozen=True)
class Cell:
    """One run of the grid; dim and seed are None if the method has no such setting."""

    dataset: str
    label: str
    dim: int | None
    seed: int | None
    first_seed: bool  # whether no other seed of the same run comes before it
    method_name: str
    method: Method
    split: SplitFolder
    ranking: bool
    refusal: str  # why it is not to be run; empty if it is

    @cached_property
    def digest(self) -> str:
        """Digest of all that decides the numbers: method, settings, split, arcvec version."""
        text = json.dumps({**self.definition, "split": self.split.fingerprint}, sort_keys=True)
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
        train = self.split.path / "train.txt.npy"
        return self.dim is not None, train.stat().st_size, self.dim or 0

    @property
    def file_name(self) -> str:
        """Name of its file: the same in every experiment that has the cell."""
        dim = "" if self.dim is None else f"-dim{self.dim}"
        seed = "" if self.seed is None else f"-seed{self.seed}"
        dataset = self.dataset.replace("/", "_")
        return f"{dataset}-{self.method_name}{dim}{seed}-{self.digest}.json"

    def __str__(self) -> str:
        dim = "" if self.dim is None else f", dim {self.dim}"
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.dataset}, {self.label}{dim}{seed}"


def grid_cells(experiment: ExperimentSettings, folders: list[Path]) -> list[Cell]:
    """Return all cells by dataset, method, dim and seed; splits are searched in the folders."""
    splits = {name: find_split(name, folders) for name in experiment.datasets}
    grid = product(splits.items(), experiment.methods)
    return [cell for split, entry in grid for cell in _cells_of(experiment, entry, *split)]


def _cells_of(
    experiment: ExperimentSettings, entry: MethodEntry, dataset: str, split: SplitFolder
) -> Iterator[Cell]:
    if entry.method not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f'method "{entry.label}": expected one of {known}, got "{entry.method}"')
    fields = METHODS[entry.method].model_fields
    dims = (entry.dims or experiment.dims) if "dim" in fields else (None,)
    seeds = (entry.seeds or experiment.seeds) if "seed" in fields else (None,)
    if not dims:
        raise ValueError(f'expected dims for the method "{entry.label}", which has a dim')
    presets = PRESETS if entry.method == "edge-projection" else {"default": ()}
    if entry.preset not in presets:
        raise ValueError(
            f'method "{entry.label}": expected a preset among {", ".join(presets)}, '
            f'got "{entry.preset}"'
        )
    quick = experiment.quick.settings.get(entry.method, {})
    refusal = ""
    if entry.max_nodes is not None and split.num_nodes > entry.max_nodes:
        refusal = f"more than {entry.max_nodes:,} nodes"
    for dim, seed in product(dims, seeds):
        chosen = {"dim": dim} if dim is not None else {}
        chosen |= {"seed": seed} if seed is not None else {}
        layers = (*presets[entry.preset], entry.settings, quick, chosen)
        try:
            method = merge_settings(METHODS[entry.method], *layers)
        except ValueError as error:
            raise ValueError(f'method "{entry.label}": {error}') from None
        yield Cell(
            dataset=dataset,
            label=entry.label,
            dim=dim,
            seed=seed,
            first_seed=seed == seeds[0],
            method_name=entry.method,
            method=method,
            split=split,
            ranking=experiment.ranking if entry.ranking is None else entry.ranking,
            refusal=refusal,
        )


def data_folders(
    experiment: ExperimentSettings, named: Path | None = None, project: Path | None = None
) -> list[Path]:
    """Return where split folders may be: the one named, else the experiment's, else the usual."""
    chosen = named or experiment.data
    return [chosen] if chosen else usual_folders("splits", project)


def find_split(name: str, folders: list[Path]) -> SplitFolder:
    """Return the split folder of that name in the first folder that has it."""
    for folder in folders:
        if is_split(folder / name):
            return SplitFolder(folder / name)
    places = " or ".join(map(str, folders))
    raise ValueError(
        f'expected a split folder "{name}" in {places}, found none; name its folder with --data'
    )
