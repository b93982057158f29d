"""Hyper-parameters: declared once as pydantic models, loaded from files, overridden one by one."""

from __future__ import annotations

import difflib
import json
import reprlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError


class Settings(BaseModel):
    """Base of all settings: frozen, numbers finite, and a key nobody declared is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


SettingsT = TypeVar("SettingsT", bound=Settings)


def merge_settings(
    settings_class: type[SettingsT], *layers: Mapping[str, Any] | Settings
) -> SettingsT:
    """Return settings in which every later layer overrides the ones before it.

    Args:
        layers: nested mappings, or settings of which only the explicitly set fields count.

    Raises:
        ValueError: one line, naming the setting by its dotted path.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        values = layer.model_dump(exclude_unset=True) if isinstance(layer, Settings) else layer
        merged = _merge(merged, values)
    try:
        return settings_class.model_validate(merged)
    except ValidationError as error:
        raise ValueError(describe_validation_error(error, settings_class)) from None


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the nested settings in a TOML or JSON file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        expected = "JSON" if path.suffix == ".json" else "TOML"
        raise ValueError(f"{path}: expected {expected}, got text that is not: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: expected settings, got brackets nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a table of settings, got {type(values).__name__}")
    return values


def describe_validation_error(error: ValidationError, settings_class: type[BaseModel]) -> str:
    """Return the first problem in one line: which setting, what came, what was expected."""
    problem = error.errors()[0]
    name = " ".join(".".join(str(part) for part in problem["loc"])[:200].split())
    if problem["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, list(dict(setting_meanings(settings_class))), n=1)
        return f'unknown setting "{name}"' + (f'; did you mean "{close[0]}"?' if close else "")
    if problem["type"] == "missing":
        return f'expected the setting "{name}", got none'
    expected = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if problem["type"] == "value_error" and not name:
        return expected
    return f'setting "{name}": expected {expected}, got {reprlib.repr(problem["input"])}'


def setting_meanings(
    settings_class: type[BaseModel], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the dotted name of every setting, nested ones included, and what it means."""
    for name, field in settings_class.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            yield from setting_meanings(nested, f"{prefix}{name}.")
        else:
            yield prefix + name, field.description or ""


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in override.items():
        both_nested = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merge(merged[name], value) if both_nested else value
    return merged
