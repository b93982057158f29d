"""What an experiment is: a TOML file of datasets, methods, dims and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from arcvec.settings import Settings, merge_settings, read_settings_file


class MethodEntry(Settings):
    """One column of the tables: a method with settings of its own."""

    label: str = Field(min_length=1, description="heading of the column")
    method: str = Field(description="edge-projection, or the name of a baseline")
    group: str = Field("", description="heading above neighbouring columns of one kind")
    counterpart: str = Field(
        "", description="the paper's column that it is held against, if not that of its label"
    )
    preset: str = Field("default", description="named set of settings (edge-projection)")
    settings: dict[str, Any] = Field({}, description="settings that override the preset")
    dims: tuple[int, ...] | None = Field(None, description="instead of the experiment's")
    seeds: tuple[int, ...] | None = Field(None, description="instead of the experiment's")
    max_nodes: int | None = Field(None, ge=1, description="larger graphs are refused")
    ranking: bool | None = Field(None, description="instead of the experiment's")
    skip: dict[str, str] = Field({}, description="the reason to refuse a dataset, by its name")


class ComparisonSettings(Settings):
    """Which columns are held against each other: named here, never chosen by test numbers."""

    ours: str = Field(description="label of the method in question")
    against: tuple[str, ...] = Field(min_length=1, description="labels; the best one counts")


class QuickSettings(Settings):
    """What `--quick` changes, so that the experiment ends in minutes."""

    datasets: tuple[str, ...] | None = None
    dims: tuple[int, ...] | None = None
    seeds: tuple[int, ...] | None = None
    settings: dict[str, dict[str, Any]] = Field(
        {}, description="settings that override all others, by the name of the method"
    )


class ExperimentSettings(Settings):
    """An experiment: datasets x methods x dims x seeds, and the tables made of them."""

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    kind: Literal["auc", "ablation", "generalisation", "norms"] = Field(
        "auc",
        description="the table: AUC by dim, AUC of each method against the first, test over train "
        "AUC, or the spread of norms",
    )
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
        compared = self.comparison
        for label in () if compared is None else (compared.ours, *compared.against):
            if label not in labels:
                raise ValueError(f'comparison: expected the label of a method, got "{label}"')
        if compared is None and self.kind == "generalisation":
            raise ValueError('expected a [comparison] of two methods for the kind "generalisation"')
        return self


def read_experiment(path: Path, *, quick: bool = False) -> ExperimentSettings:
    """Return the experiment in a TOML file; file names in it are relative to its folder.

    Args:
        quick: make it small; the `quick` of the result says what is in force: nothing if false.
    """
    try:
        experiment = merge_settings(ExperimentSettings, read_settings_file(path))
    except ValueError as error:
        text = " ".join(str(error).split())  # labels may have several lines
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    changes: dict[str, Any] = {
        "data": experiment.data and path.parent / experiment.data,
        "paper": experiment.paper and path.parent / experiment.paper,
    }
    changes |= _quick_changes(experiment) if quick else {"quick": QuickSettings()}
    return experiment.model_copy(update=changes)


def _quick_changes(experiment: ExperimentSettings) -> dict[str, Any]:
    quick = experiment.quick
    changes: dict[str, Any] = {
        name: value
        for name in ("datasets", "dims", "seeds")
        if (value := getattr(quick, name)) is not None
    }
    # Dims and seeds of single methods give way too.
    own: dict[str, Any] = {name: None for name in ("dims", "seeds") if name in changes}
    methods = tuple(entry.model_copy(update=own) for entry in experiment.methods)
    return {**changes, "methods": methods, "title": f"{experiment.title} (quick size)"}
