"""A picture of recall over time: how much of the exact answer each join gave, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["save_recall_plot"]

Floats = npt.NDArray[np.float64]

# Okabe and Ito's colours, which all kinds of colour vision tell apart; the exact join is grey, as
# the yardstick. Styles differ, too, for print without colour.
_EXACT = ("#555555", (0, (4, 3)))
_STYLES: tuple[tuple[str, str | tuple[int, tuple[int, ...]]], ...] = (
    ("#D55E00", "solid"),
    ("#0072B2", "solid"),
    ("#009E73", (0, (6, 2))),
    ("#CC79A7", (0, (6, 2))),
    ("#E69F00", (0, (2, 1))),
    ("#56B4E9", (0, (2, 1))),
)
_INK = "#222222"
_QUIET = "#666666"
# 1200 x 700 points on a screen.
_INCHES = (12.0, 7.0)
_DOTS = 100
# Least distance between two labels, in percent of recall: the height of a line of text.
_APART = 4.6


def save_recall_plot(
    path: Path,
    *,
    edges: Floats,
    recall: Mapping[str, Floats],
    labels: Mapping[str, str],
    title: str,
    subtitle: str,
    mark: tuple[float, str] | None = None,
) -> None:
    """Draw recall over time and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    edges
        Where the bins of time begin and end, in days; one more than there are bins.
    recall
        For each line its recall in each bin, from 0 to 1; NaN where there was nothing to find.
        The first one is the yardstick.
    labels
        What to write beside each line, to its right.
    title, subtitle
        What is asked, and of what.
    mark
        A moment to point out, in days, and what to write there.
    """
    # Matplotlib takes half a second to load: only for those who draw. Without pyplot there is no
    # display to look for and no global state.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=_INCHES, dpi=_DOTS, facecolor="white")
    axes = figure.add_axes((0.085, 0.11, 0.705, 0.73))
    figure.text(0.085, 0.935, title, fontsize=19, fontweight="bold", color=_INK)
    figure.text(0.085, 0.885, subtitle, fontsize=12.5, color=_QUIET)
    _frame(axes, edges)
    if mark is not None:
        _point_out(axes, *mark)

    middles = (edges[:-1] + edges[1:]) / 2
    ends: dict[str, float] = {}
    colours: dict[str, str] = {}
    for number, (name, values) in enumerate(recall.items()):
        colour, style = _STYLES[(number - 1) % len(_STYLES)] if number else _EXACT
        there = np.isfinite(values)
        axes.plot(
            middles[there],
            100 * values[there],
            color=colour,
            linestyle=style,
            linewidth=2.4 if number else 1.6,
            solid_capstyle="round",
        )
        colours[name] = colour
        ends[name] = 100 * float(values[there][-1]) if there.any() else 0.0
    for name, height in _spread(ends).items():
        axes.annotate(
            labels[name],
            xy=(1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(10, 0),
            textcoords="offset points",
            va="center",
            fontsize=12.5,
            fontweight="bold",
            color=colours[name],
            annotation_clip=False,
        )
    figure.savefig(path)


def _frame(axes: Axes, edges: Floats) -> None:
    """Set up the axes: percent over days, a light grid, no box."""
    axes.set_xlim(float(edges[0]), float(edges[-1]))
    axes.set_ylim(0, 104)
    axes.set_yticks(range(0, 101, 20), [f"{percent}%" for percent in range(0, 101, 20)])
    axes.set_xlabel("time since the streams began (days)", fontsize=12.5, color=_INK, labelpad=8)
    axes.set_ylabel("recall (% of the exact results)", fontsize=12.5, color=_INK, labelpad=8)
    axes.tick_params(colors=_INK, labelsize=12, length=0, pad=6)
    axes.grid(color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#999999")


def _point_out(axes: Axes, day: float, words: str) -> None:
    """Draw a thin line at a moment, with words beside it near the top."""
    axes.axvline(day, color="#999999", linewidth=1.0, linestyle=(0, (1, 2)))
    axes.annotate(
        words,
        xy=(day, 90),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=11.5,
        color=_QUIET,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
    )


def _spread(heights: Mapping[str, float], least: float = 1.5) -> dict[str, float]:
    """Move labels up just so far that none covers another.

    >>> _spread({"a": 10.0, "b": 9.0, "c": 100.0})
    {'b': 9.0, 'a': 13.6, 'c': 100.0}
    """
    spread: dict[str, float] = {}
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        least = spread[name] = max(height, least)
        least += _APART
    return spread
