"""How often what is called likely happens: frequency against probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arcvec.plot.figures import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability_figure(
    probabilities: Sequence[float], frequencies: Sequence[float], counts: Sequence[int]
) -> Figure:
    """Return two panels: the frequency of edges at each probability, and how many pairs have it.

    Args:
        probabilities: (b,) mean probability of the pairs in each bin.
        frequencies: (b,) part of them that are edges; on the diagonal if probabilities are right.
        counts: (b,) pairs in each bin.
    """
    figure = new_figure(6, 6.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="0.5", linewidth=1, linestyle=(0, (4, 3)), label="exact")
    above.plot(probabilities, frequencies, "o-", color=COLOURS[0], linewidth=1.6, label="measured")
    above.set(ylabel="part that are edges", ylim=(-0.03, 1.03), xlim=(-0.03, 1.03))
    above.legend(loc="upper left", frameon=False)
    below.bar(probabilities, counts, width=0.05, color=COLOURS[0], alpha=0.6)
    below.set(xlabel="probability", ylabel="pairs")
    for axes in (above, below):
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
