"""The age curve of the flights, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

__all__ = ["save_age_curve"]


def save_age_curve(path: Path, matches: npt.NDArray[np.float64]) -> None:
    """Draw how many results a departure has at each age.

    Parameters
    ----------
    path
        Where to; its suffix says the kind of picture.
    matches
        p(k): results of one departure in each hour since then.
    """
    figure = Figure(figsize=(10, 5), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    axes.stairs(matches, np.arange(matches.size + 1), fill=True, color="#0072B2", alpha=0.85)
    axes.set_xlim(0, matches.size)
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(0, matches.size + 1, 12))
    axes.set_xlabel("hours since the plane left New York")
    axes.set_ylabel("departures from New York, per plane and hour")
    axes.set_title("When a plane comes back: the age curve of the flights", loc="left")
    axes.grid(axis="x", color="#DDDDDD")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)
