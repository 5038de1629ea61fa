"""Pictures of recall: over time, and against memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.plot_style import (
    BLACK,
    DOTTED,
    LINE_STYLES,
    QUIET,
    clear_axes,
    mark_place,
    note,
    titled_figure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from penstock.report.plot_style import LineStyle

__all__ = ["BudgetQuestion", "save_memory_plot", "save_recall_plot"]

Floats = npt.NDArray[np.float64]

# 1200 x 700 points on a screen.
_INCHES = (12.0, 7.0)
# The exact join is grey, as the yardstick.
_EXACT: tuple[str, LineStyle] = ("#555555", (0, (4, 3)))
# Least distance between two labels, in percent of recall: the height of a line of text.
_APART = 4.6


def _one_panel(
    title: str,
    subtitle: str,
    place: tuple[float, float, float, float],
    x_title: str,
    y_title: str,
) -> tuple[Figure, Axes]:
    """Make a picture of one panel, whose y-axis is in percent."""
    figure = titled_figure(
        _INCHES, title, subtitle, left=0.085, heights=(0.935, 0.885), sizes=(19, 12.5)
    )
    axes = figure.add_axes(place)
    axes.set_xlabel(x_title, fontsize=12.5, color=BLACK, labelpad=8)
    axes.set_ylabel(y_title, fontsize=12.5, color=BLACK, labelpad=8)
    axes.set_yticks(range(0, 101, 20), [f"{percent}%" for percent in range(0, 101, 20)])
    return figure, axes


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
    """Draw recall over time: how much of the exact answer each join gave, and when.

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
    figure, axes = _one_panel(
        title,
        subtitle,
        (0.085, 0.11, 0.705, 0.73),
        "time since the streams began (days)",
        "recall (% of the exact results)",
    )
    axes.set_xlim(float(edges[0]), float(edges[-1]))
    axes.set_ylim(0, 104)
    clear_axes(axes, 12)
    if mark is not None:
        mark_place(axes, *mark, 90)

    middles = (edges[:-1] + edges[1:]) / 2
    ends: dict[str, float] = {}
    colours: dict[str, str] = {}
    for number, (name, values) in enumerate(recall.items()):
        colour, style = LINE_STYLES[(number - 1) % len(LINE_STYLES)] if number else _EXACT
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


@dataclass(frozen=True)
class BudgetQuestion:
    """What a user asked about memory, and the answer.

    Attributes
    ----------
    rows
        The budget.
    recall
        The wanted recall, from 0 to 1.
    rows_for_recall
        What the first line needs for it.
    """

    rows: float
    recall: float
    rows_for_recall: float


def save_memory_plot(
    path: Path,
    *,
    rows: Floats,
    recall: Mapping[str, Floats],
    title: str,
    subtitle: str,
    question: BudgetQuestion,
) -> None:
    """Draw recall against memory: what each strategy would give for how many rows.

    Parameters
    ----------
    path, title, subtitle
        As in `save_recall_plot`.
    rows
        Amounts of memory, up to what the exact join holds.
    recall
        For each line, by its words in the key, its recall with each of them, from 0 to 1. The
        first one is the choice.
    question
        The budget, and the wanted recall.
    """
    figure, axes = _one_panel(
        title,
        subtitle,
        (0.085, 0.14, 0.665, 0.70),
        "memory (% of the rows that the exact join holds)",
        "expected recall (% of the exact results)",
    )
    most, shares = float(rows[-1]), range(0, 101, 20)
    axes.set_xlim(0, most)
    axes.set_ylim(0, 101)
    axes.set_xticks(
        [most * share / 100 for share in shares],
        [f"{share}%\n{most * share / 100:,.0f} rows" for share in shares],
    )
    clear_axes(axes, 11.5)
    _mark_question(axes, question)
    drawn = {}
    # The choice lies on top of the others.
    for number, (label, values) in reversed(list(enumerate(recall.items()))):
        colour, style = LINE_STYLES[number % len(LINE_STYLES)]
        width = 2.2 if number else 3.2
        drawn[label] = axes.plot(
            rows, 100 * values, color=colour, linestyle=style, linewidth=width, clip_on=False
        )[0]
        if question.rows <= rows[-1]:
            percent = 100 * float(np.interp(question.rows, rows, values))
            axes.plot(
                [question.rows],
                [percent],
                marker="o",
                markersize=7,
                color=colour,
                markeredgecolor="white",
                zorder=6,
            )
    key = axes.legend(
        [drawn[label] for label in recall],
        list(recall),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        frameon=False,
        fontsize=12.5,
        labelcolor=BLACK,
        handlelength=2.6,
        labelspacing=0.9,
        title=f"recall with {question.rows:,.0f} rows",
        title_fontsize=12.5,
        alignment="left",
    )
    key.get_texts()[0].set_fontweight("bold")
    key.get_title().set_color(QUIET)
    figure.savefig(path)


def _mark_question(axes: Axes, question: BudgetQuestion) -> None:
    """Mark the budget, and the rows that the wanted recall needs."""
    right = axes.get_xlim()[1]
    if question.rows <= right:
        axes.axvline(question.rows, linewidth=1.2, **DOTTED)
    height, needed = 100 * question.recall, question.rows_for_recall
    axes.plot([0, needed, needed], [height, height, 0], linewidth=1.2, **DOTTED)
    for rows, words, low in (
        (question.rows, f"budget: {question.rows:,.0f} rows", 3),
        (needed, f"{question.recall:.0%} takes {needed:,.0f} rows", 9),
    ):
        if rows > right:
            continue
        is_left = rows > 0.6 * right
        side = "right" if is_left else "left"
        gap = -8 if is_left else 8
        note(axes, words, (rows, low), xytext=(gap, 0), ha=side, fontsize=11.5, zorder=5)
