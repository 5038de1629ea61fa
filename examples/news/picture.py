"""What is found of the news, hour by hour and in all, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from examples.news.agencies import CHANGES_AT, EVENING, MORNING, SHARE, TOPICS
from examples.news.figures import SHOWN, share_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from examples.news.agencies import Day

__all__ = ["save_news"]

# Okabe and Ito's colours, which all kinds of colour vision tell apart; styles and marks differ too.
_BLUE, _VERMILION, _ORANGE = "#0072B2", "#D55E00", "#E69F00"
_GREY, _INK, _QUIET = "#BBBBBB", "#222222", "#666666"
_OWN = "Penstock's choice"
_FIRST = 3  # until then the windows, which are empty at midnight, fill


def save_news(path: Path, day: Day) -> None:
    """Draw the share of two topics that is found in each hour, and the totals beside it.

    Parameters
    ----------
    path
        Where to; its suffix says the kind of picture.
    day
        What was found, also with importance unchanged.
    """
    figure = Figure(figsize=(12.5, 6.8), dpi=110, layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1.7, 1])
    left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    left.suptitle(
        f"At {CHANGES_AT}:00 sports become more important, and memory goes over to them",
        x=0.01, ha="left", fontsize="large", fontweight="bold",
    )  # fmt: skip
    right.suptitle(
        f"In all, {share_of(day.own, day):.0%} of the importance is found",
        x=0.01, ha="left", fontsize="large", fontweight="bold",
    )  # fmt: skip
    upper, lower = left.subplots(2, 1, sharex=True)
    for axes, topic in zip((upper, lower), SHOWN, strict=True):
        _draw_hours(axes, topic, day)
    lower.set_xlabel("time of day")
    left.legend(
        *upper.get_legend_handles_labels(), frameon=False, loc="outside lower left", ncols=2
    )
    _draw_totals(right.subplots(), day)
    figure.savefig(path)


def _draw_hours(axes: Axes, topic: str, day: Day) -> None:
    lines = [(day.size, 0, _VERMILION, "dotted", "s", "size")]
    if day.unchanged is not None:
        words = f"{_OWN}, had nothing changed"
        lines.append((day.unchanged, CHANGES_AT - 1, _ORANGE, "dashed", "^", words))
    lines.append((day.own, 0, _BLUE, "solid", "o", _OWN))
    at = TOPICS.index(topic)
    shares_of_exact = np.maximum(day.exact.results[:, at], 1)
    for found, first, colour, style, mark, label in lines:
        hours = np.arange(max(first, _FIRST), 24)
        axes.plot(
            hours + 0.5, (found.results[:, at] / shares_of_exact)[hours],
            color=colour, linestyle=style, marker=mark, markersize=5, linewidth=2.2, label=label,
        )  # fmt: skip
    one = np.flatnonzero(day.leading[_FIRST:, at] > 0.5) + _FIRST
    axes.hlines(
        np.full(one.size, 0.015), one, one + 1, color=_INK, linewidth=5,
        label="one story brings most of the pairs",
    )  # fmt: skip
    axes.axvspan(CHANGES_AT, 24, color="#F2F2F2", zorder=0)
    axes.axvline(CHANGES_AT, color=_QUIET, linewidth=1)
    for where, side, importance in ((-0.2, "right", MORNING), (0.2, "left", EVENING)):
        words = f"importance {importance[topic]}"
        axes.text(CHANGES_AT + where, 0.98, words, ha=side, va="top", color=_QUIET)
    axes.set_xlim(_FIRST, 24)
    axes.set_xticks(range(_FIRST, 25, 3), [f"{hour}:00" for hour in range(_FIRST, 25, 3)])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel(f"found of {topic}")
    _clear(axes, "y")


def _draw_totals(axes: Axes, day: Day) -> None:
    colours = {day.own: _BLUE, day.size: _VERMILION}
    places = np.arange(len(day.limited))[::-1]
    for place, found in zip(places, day.limited, strict=True):
        share = share_of(found, day)
        axes.barh(place, share, color=colours.get(found, _GREY), height=0.6)
        axes.text(share + 0.01, place, f"{share:.0%}", va="center", color=_INK)
    names = [_OWN.replace(" ", "\n") if each is day.own else each.label for each in day.limited]
    axes.set_yticks(places, names)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel(f"of the exact importance, with {SHARE:.0%} of the memory")
    _clear(axes, "x")


def _clear(axes: Axes, grid: str) -> None:
    axes.grid(axis="y" if grid == "y" else "x", color="#DDDDDD")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
