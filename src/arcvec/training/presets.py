"""Presets: named sets of settings, and the order in which settings override each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arcvec.settings import merge_settings, read_settings_file
from arcvec.training.edge_projection import EdgeProjection

# What the released code lets the mean relative change of PercentDelta fall through. The text has
# 0.001 alone; held to that, training has hardly begun after all its steps.
_FALLING_RATES = (0.3, 0.2, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)

# The text of the paper, where it differs from the defaults. It names neither the size of a batch
# nor the number of steps. docs/reproduction.md says what each choice does.
_PAPER: dict[str, Any] = {
    "goal": "pairs",
    "members": 1,
    "walks": {
        "kind": "forward",
        "starts": "nodes",
        "walks_per_node": 80,
        "walk_length": 100,
        "window": 2,
    },
    "negatives": {"kind": "fixed", "per_pair": 5},
    "model": {
        "kind": "asymmetric",
        "start": "random",
        "node_dim": 100,
        "hidden": (100,),
        "manifold_dim": 100,
    },
    "training": {
        "batch_pairs": 16384,
        "steps": 1000,
        "optimiser": "percent-delta",
        "learning_rates": _FALLING_RATES,
        "decay": "none",
        "l2": 1e-4,
        "output_l2": 0.0,
        "degree_discount": 0.0,
        "anchor_only": True,
        "selection": "train",
        "settle": 0.0,
        "evaluate_every": 100,
        "patience": 10,
    },
}

# The paper's released code, where it differs from the text.
_RELEASED_CODE: dict[str, Any] = {
    "walks": {"walks_per_node": 5, "walk_length": 40, "window": 3, "self_pairs": True},
    "negatives": {"set_size": 400, "replacement": True},
    "model": {"output_relu": True, "statistics": "pairs"},
    "training": {"l2": 1e-6},
}

# Settings by name; later ones override earlier ones. The defaults are for recommending.
PRESETS: dict[str, Sequence[dict[str, Any]]] = {
    "default": (),
    "auc": ({"goal": "pairs"},),
    "paper": (_PAPER,),
    "released-code": (_PAPER, _RELEASED_CODE),
}


def load_method(
    preset: str = "default", config: Path | None = None, overrides: EdgeProjection | None = None
) -> EdgeProjection:
    """Return the method of a preset, overridden by a settings file, then by fields set explicitly.

    Args:
        config: TOML or JSON; the `settings.json` of a result is understood too.
    """
    from_file = {} if config is None else _settings_in(config)
    try:
        return merge_settings(EdgeProjection, *PRESETS[preset], from_file, overrides or {})
    except ValueError as error:
        # Overrides are settings, and checked already.
        raise ValueError(str(error) if config is None else f"{config}: {error}") from None


def _settings_in(config: Path) -> dict[str, Any]:
    values = read_settings_file(config)
    if values.get("format") != "arcvec-result":
        return values
    if not isinstance(values.get("settings"), dict) or "seed" not in values:
        raise ValueError(f"{config}: expected settings and a seed, as a fit writes them, got none")
    settings = {"goal": "pairs", **values["settings"], "seed": values["seed"]}
    if "stronger_l2" in settings.get("training", {}):
        # Version 0.1.0 had one goal, and tried windows and penalties: take what it chose.
        chosen = {"walks": {"window": values["window"]}}
        chosen["training"] = {"output_l2": values["output_l2"]}
        for room, changes in chosen.items():
            settings[room] = {**settings[room], **changes}
        del settings["training"]["stronger_l2"]
        settings.pop("member_dim", None)
    return settings
