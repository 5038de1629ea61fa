"""Pictures of recall: over time, and against a budget."""

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
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from penstock.report.plot_style import LineStyle

__all__ = ["CPU", "MEMORY", "BudgetAxis", "BudgetQuestion", "save_budget_plot", "save_recall_plot"]

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
class BudgetAxis:
    """What is limited.

    Attributes
    ----------
    title
        The title of the axis.
    words
        Writes an amount with its unit.
    """

    title: str
    words: Callable[[float], str]


MEMORY = BudgetAxis(
    "memory (% of the rows that the exact join holds)", lambda amount: f"{amount:,.0f} rows"
)
CPU = BudgetAxis(
    "processor (% of the work that the exact join takes)",
    lambda amount: f"{100 * amount:.3g}% of a core",
)


@dataclass(frozen=True)
class BudgetQuestion:
    """What a user asked about a budget, and the answer.

    Attributes
    ----------
    amount
        The budget.
    recall
        The wanted recall, from 0 to 1.
    needed
        What the first line needs for it.
    """

    amount: float
    recall: float
    needed: float


def save_budget_plot(
    path: Path,
    *,
    axis: BudgetAxis,
    amounts: Floats,
    recall: Mapping[str, Floats],
    title: str,
    subtitle: str,
    question: BudgetQuestion,
) -> None:
    """Draw recall against a budget: what each strategy would give for how much of it.

    Parameters
    ----------
    path, title, subtitle
        As in `save_recall_plot`.
    axis
        What is limited: `MEMORY` or `CPU`.
    amounts
        Amounts of it, up to what the exact join takes.
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
        axis.title,
        "expected recall (% of the exact results)",
    )
    most, shares = float(amounts[-1]), range(0, 101, 20)
    axes.set_xlim(0, most)
    axes.set_ylim(0, 101)
    axes.set_xticks(
        [most * share / 100 for share in shares],
        [f"{share}%\n{axis.words(most * share / 100)}" for share in shares],
    )
    clear_axes(axes, 11.5)
    _mark_question(axes, axis, question)
    drawn = {}
    # The choice lies on top of the others.
    for number, (label, values) in reversed(list(enumerate(recall.items()))):
        colour, style = LINE_STYLES[number % len(LINE_STYLES)]
        width = 2.2 if number else 3.2
        drawn[label] = axes.plot(
            amounts, 100 * values, color=colour, linestyle=style, linewidth=width, clip_on=False
        )[0]
        if question.amount <= most:
            percent = 100 * float(np.interp(question.amount, amounts, values))
            axes.plot(
                [question.amount],
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
        title=f"recall with {axis.words(question.amount)}",
        title_fontsize=12.5,
        alignment="left",
    )
    key.get_texts()[0].set_fontweight("bold")
    key.get_title().set_color(QUIET)
    figure.savefig(path)


def _mark_question(axes: Axes, axis: BudgetAxis, question: BudgetQuestion) -> None:
    """Mark the budget, and what the wanted recall needs."""
    right = axes.get_xlim()[1]
    if question.amount <= right:
        axes.axvline(question.amount, linewidth=1.2, **DOTTED)
    height, needed = 100 * question.recall, question.needed
    axes.plot([0, needed, needed], [height, height, 0], linewidth=1.2, **DOTTED)
    for amount, words, low in (
        (question.amount, f"budget: {axis.words(question.amount)}", 3),
        (needed, f"{question.recall:.0%} takes {axis.words(needed)}", 9),
    ):
        if amount > right:
            continue
        is_left = amount > 0.6 * right
        side = "right" if is_left else "left"
        gap = -8 if is_left else 8
        note(axes, words, (amount, low), xytext=(gap, 0), ha=side, fontsize=11.5, zorder=5)
