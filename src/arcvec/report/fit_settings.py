"""The settings of a result, and which of them its user has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arcvec.evaluation.grid import METHODS
from arcvec.evaluation.table_text import Entry, Table
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.presets import PRESETS, load_method
from arcvec.settings import setting_meanings


@dataclass(frozen=True)
class FitSettings:
    """The settings of a fit beside those of a preset.

    Attributes:
        preset: the one that fewest settings differ from; a result does not remember its own.
        changed: the settings that do differ, in bold; without rows if none does.
        all: every setting, those that differ in bold.
    """

    preset: str
    changed: Table
    all: Table


def fit_settings(settings: Mapping[str, Any]) -> FitSettings | None:
    """Return the settings of a fit, from what a result remembers; None where it has none."""
    method, values = settings.get("method"), settings.get("settings")
    if method not in METHODS or not isinstance(values, Mapping):
        return None
    mine = dict(_flat(values))
    preset, usual = min(_presets(method).items(), key=lambda named: len(_differing(mine, named[1])))
    differing = _differing(mine, usual)
    meanings = dict(setting_meanings(METHODS[method]))
    rows = [
        (
            Entry(name, bold=name in differing),
            Entry(_text(value), bold=name in differing),
            Entry(_text(usual[name]) if name in usual else "-"),
            Entry(meanings.get(name, "")),
        )
        for name, value in mine.items()
    ]
    header = ("setting", "value", f"preset {preset}", "meaning")
    changed = tuple(row for row in rows if row[0].bold)
    return FitSettings(
        preset,
        Table(f"Settings that differ from the preset {preset}", header, changed),
        Table("All settings; those that differ are bold", header, tuple(rows)),
    )


def _presets(method: str) -> dict[str, dict[str, Any]]:
    """Return the settings of every preset by dotted names; of a baseline, its defaults alone."""
    if METHODS[method] is EdgeProjection:
        chosen = {name: load_method(name).model_dump(mode="json") for name in PRESETS}
    else:
        chosen = {"default": METHODS[method]().model_dump(mode="json")}
    return {name: dict(_flat(values)) for name, values in chosen.items()}


def _differing(mine: Mapping[str, Any], usual: Mapping[str, Any]) -> set[str]:
    """Return the names of settings that a preset has otherwise, or not at all."""
    return {name for name, value in mine.items() if name not in usual or usual[name] != value}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
