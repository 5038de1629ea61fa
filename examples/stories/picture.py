"""Where partners are, and which of them each join finds, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from examples.stories.joins import SHARE, WINDOW

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from examples.stories.joins import Joined

__all__ = ["save_stories"]

# Okabe and Ito's colours, which all kinds of colour vision tell apart; styles differ too.
_BLUE, _VERMILION, _BARS, _PROBED = "#0072B2", "#D55E00", "#CCCCCC", "#BFE3D6"
_FEWEST = 20  # results of a minute, to draw which part of them was found


def save_stories(path: Path, joined: Joined) -> None:
    """Draw how old partners are, which are found, which lags were learned, and what was probed.

    Parameters
    ----------
    path
        Where to; its suffix says the kind of picture.
    joined
        What the joins found.
    """
    figure = Figure(figsize=(10.5, 7.0), dpi=110, layout="constrained")
    panels, lower = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=(3, 2))
    edges = np.arange(WINDOW + 1.0)
    for axes, feed in zip(panels, ("website", "agency"), strict=True):
        true, _ = np.histogram(joined.exact.ages(feed), edges)
        axes.bar(
            edges[:-1], true / true.sum(), 1.0, align="edge", color=_BARS, label="of all results"
        )
        for found, colour, style in (
            (joined.dropped, _VERMILION, "dashed"),
            (joined.grub, _BLUE, "solid"),
        ):
            counts, _ = np.histogram(found.ages(feed), edges)
            share = np.where(true >= _FEWEST, counts / np.maximum(true, 1), np.nan)
            axes.stairs(
                share, edges, baseline=None, color=colour, linestyle=style, linewidth=2.2,
                label=f"found by {found.label}",
            )  # fmt: skip
        axes.set_title(f"A blog looks for its story among those of the {feed}", loc="left")
        _trim(axes)
    for axes, feed in zip(lower, ("website", "agency"), strict=True):
        lags, probed = joined.monitored.mean(feed)
        parts = np.linspace(0.0, WINDOW, lags.size + 1)
        axes.bar(
            parts[:-1], probed, np.diff(parts), align="edge", color=_PROBED,
            label="part that is probed, on average",
        )  # fmt: skip
        axes.stairs(
            lags, parts, baseline=None, color=_BLUE, linewidth=2.2, label="lags that were learned"
        )
        axes.set_xlabel("age of the headline, minutes")
        _trim(axes)
    panels[0].set_ylabel("share of the results")
    lower[0].set_ylabel("share")
    for row in (panels, lower):
        row[1].legend(frameon=False, loc="upper left", fontsize="small")
    figure.suptitle(
        f"Three feeds, {SHARE:.0%} of the comparisons: only the minutes with partners are probed",
        x=0.01, ha="left", fontweight="bold",
    )  # fmt: skip
    figure.savefig(path)


def _trim(axes: Axes) -> None:
    """Set what all panels have alike."""
    axes.set_xlim(0, WINDOW)
    axes.set_xticks(np.arange(0.0, WINDOW + 1.0, 5.0))
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color="#DDDDDD")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
