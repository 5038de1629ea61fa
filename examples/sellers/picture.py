"""The sellers' bids per auction, true and estimated, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from examples.sellers.__main__ import Seller

__all__ = ["save_sellers"]


def save_sellers(path: Path, sellers: Sequence[Seller]) -> None:
    """Draw each seller's true value, the sample's estimate with its interval, and the subset's.

    Parameters
    ----------
    path
        Where to; its suffix says the kind of picture.
    sellers
        From left to right.
    """
    figure = Figure(figsize=(11, 5.6), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(sellers))
    low = [0.0 if each.low is None else each.estimate - each.low for each in sellers]
    high = [0.0 if each.high is None else each.high - each.estimate for each in sellers]
    true = [each.true for each in sellers]
    axes.hlines(true, places - 0.4, places + 0.4, color="#222222", linewidth=2, label="true")
    axes.errorbar(
        places - 0.12,
        [each.estimate for each in sellers],
        yerr=[low, high],
        fmt="o",
        color="#0072B2",
        capsize=4,
        label="sample, with its 95 % interval",
    )
    subset = [each.scaled for each in sellers]
    axes.plot(places + 0.16, subset, "X", color="#D55E00", markersize=8, label="maximum subset")
    axes.set_xticks(places, [each.name for each in sellers], rotation=30, ha="right")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bids per auction")
    axes.set_title("Bids per auction of each seller, from a tenth of the memory", loc="left")
    axes.grid(axis="y", color="#DDDDDD")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="upper right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)
