"""Parts of several wholes, group by group, as bars side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from arcvec.plot.figures import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shares_figure(
    shares: Mapping[str, Sequence[float]], groups: Sequence[str], label: str
) -> Figure:
    """Return bars, one a group, of every whole.

    Args:
        shares: by the name of the whole: (g,) the part of it in each group.
        groups: (g,) names.
        label: what tells groups apart, for the axis.
    """
    figure = new_figure(9, 4)
    axes = figure.subplots()
    places, width = np.arange(len(groups)), 0.8 / len(shares)
    for i, (name, parts) in enumerate(shares.items()):
        middles = places + (i - (len(shares) - 1) / 2) * width
        axes.bar(middles, 100 * np.asarray(parts), width, color=COLOURS[i], label=name)
    axes.set_xticks(places, groups)
    axes.set(xlabel=label, ylabel="%")
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False)
    return figure
