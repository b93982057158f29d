"""Presets: named sets of settings, and the order in which settings override each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arcvec.methods.edge_projection import EdgeProjection
from arcvec.settings import merge_settings, read_settings_file

PRESETS: dict[str, dict[str, Any]] = {
    # The best known, one set for every graph: the defaults of the settings themselves.
    "default": {},
    # The text of the paper, where it differs.
    "paper": {
        "walks": {
            "kind": "forward",
            "starts": "nodes",
            "walks_per_node": 80,
            "walk_length": 100,
            "window": 2,
        },
        "negatives": {"kind": "fixed", "per_pair": 5},
        "training": {
            "batch_pairs": 1000,
            "optimiser": "percent-delta",
            "learning_rates": [0.001],
            "decay": "none",
            "l2": 1e-4,
            "output_l2": 0.0,
            "anchor_only": True,
            "selection": "train",
            "steps": 20_000,
            "evaluate_every": 500,
        },
    },
}


def load_method(
    preset: str = "default", config: Path | None = None, overrides: EdgeProjection | None = None
) -> EdgeProjection:
    """Return the method of a preset, changed by a settings file, changed by single settings.

    Args:
        config: TOML or JSON; the `settings.json` of a result is understood too.
        overrides: of which only the explicitly set fields count.
    """
    from_file = {} if config is None else _settings_in(config)
    return merge_settings(EdgeProjection, PRESETS[preset], from_file, overrides or {})


def _settings_in(config: Path) -> dict[str, Any]:
    values = read_settings_file(config)
    if values.get("format") == "arcvec-result":
        return {**values["settings"], "seed": values["seed"]}
    return values
