"""The course of a training: loss and validation AUC against the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.plot.figures import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def training_figure(embeddings: EdgeEmbeddings) -> Figure:
    """Return two panels, one above the other: loss, and validation AUC with its best step.

    Raises:
        ValueError: the result does not remember the course of its training.
    """
    history = embeddings.settings.get("history")
    if not history or not history["step"]:
        raise ValueError(
            "expected a result that remembers the course of its training, got one without; "
            "it was made by an older version or another method: fit again with arcvec fit"
        )
    steps = np.array(history["step"])
    losses = np.array(history["loss"], dtype=np.float64)
    aucs = np.array(history["validation_auc"], dtype=np.float64)  # None becomes NaN
    members = np.array(history.get("member") or [0] * len(steps))
    measured = np.isfinite(aucs)
    figure = new_figure(8, 6.5)
    above, below = figure.subplots(2, 1, sharex=True)
    count = int(members[-1]) + 1
    for member in range(count):
        mine, opacity = members == member, 1.0 if member == 0 else 0.45
        style = {"linewidth": 1.6, "alpha": opacity}
        above.plot(steps[mine], losses[mine], color=COLOURS[0], **style)
        watched = mine & measured
        below.plot(steps[watched], aucs[watched], color=COLOURS[1], **style)
    above.set(title=f"Training, {count} members" if count > 1 else "Training", ylabel="loss")
    below.set(xlabel="step", ylabel="validation AUC")
    for axes in (above, below):
        axes.grid(color="0.92", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    if measured.any():
        best = int(np.nanargmax(aucs))
        _mark_best(above, below, int(steps[best]), float(aucs[best]))
    else:
        below.text(0.5, 0.5, "no edges were held out", ha="center", transform=below.transAxes)
    return figure


def _mark_best(above: Axes, below: Axes, step: int, auc: float) -> None:
    for axes in (above, below):
        axes.axvline(step, color="0.4", linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    label = f"best: {auc:.4f} at step {step:,}"
    below.plot([step], [auc], "o", color=COLOURS[1], markersize=7, label=label)
    below.legend(loc="lower right", frameon=False)
