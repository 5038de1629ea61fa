"""A picture of recall against memory: what each strategy would give for how many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["Wish", "save_memory_plot"]

Floats = npt.NDArray[np.float64]

# The colours and the size of the picture of recall over time; the first line is the choice.
_STYLES: tuple[tuple[str, str | tuple[int, tuple[int, ...]]], ...] = (
    ("#D55E00", "solid"),
    ("#0072B2", "solid"),
    ("#009E73", (0, (6, 2))),
    ("#CC79A7", (0, (6, 2))),
    ("#E69F00", (0, (2, 1))),
)
_INK = "#222222"
_QUIET = "#666666"
_LINE = "#999999"
_INCHES = (12.0, 7.0)
_DOTS = 100


@dataclass(frozen=True)
class Wish:
    """What was asked for.

    Attributes
    ----------
    rows
        The budget.
    recall
        The wished recall, from 0 to 1.
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
    wish: Wish,
) -> None:
    """Draw recall against memory and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    rows
        Amounts of memory, up to what the exact join holds.
    recall
        For each line, by its words in the key, its recall with each of them, from 0 to 1. The
        first one is the choice.
    title, subtitle
        What is asked, and of what.
    wish
        The budget, and the wished recall.
    """
    # Matplotlib takes half a second to load: only for those who draw.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=_INCHES, dpi=_DOTS, facecolor="white")
    axes = figure.add_axes((0.085, 0.14, 0.665, 0.70))
    figure.text(0.085, 0.935, title, fontsize=19, fontweight="bold", color=_INK)
    figure.text(0.085, 0.885, subtitle, fontsize=12.5, color=_QUIET)
    _frame(axes, float(rows[-1]))
    _ask(axes, wish)
    drawn = {}
    # The choice lies on top of the others.
    for number, (label, values) in reversed(list(enumerate(recall.items()))):
        colour, style = _STYLES[number % len(_STYLES)]
        width = 2.2 if number else 3.2
        drawn[label] = axes.plot(
            rows, 100 * values, color=colour, linestyle=style, linewidth=width, clip_on=False
        )[0]
        if wish.rows <= rows[-1]:
            _dot(axes, wish.rows, 100 * float(np.interp(wish.rows, rows, values)), colour)
    key = axes.legend(
        [drawn[label] for label in recall],
        list(recall),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        frameon=False,
        fontsize=12.5,
        labelcolor=_INK,
        handlelength=2.6,
        labelspacing=0.9,
        title=f"recall with {wish.rows:,.0f} rows",
        title_fontsize=12.5,
        alignment="left",
    )
    key.get_texts()[0].set_fontweight("bold")
    key.get_title().set_color(_QUIET)
    figure.savefig(path)


def _frame(axes: Axes, most: float) -> None:
    """Set up the axes: percent over rows, as shares of what the exact join holds; no box."""
    axes.set_xlim(0, most)
    axes.set_ylim(0, 101)
    axes.set_yticks(range(0, 101, 20), [f"{percent}%" for percent in range(0, 101, 20)])
    shares = range(0, 101, 20)
    axes.set_xticks(
        [most * share / 100 for share in shares],
        [f"{share}%\n{most * share / 100:,.0f} rows" for share in shares],
    )
    axes.set_xlabel(
        "memory (% of the rows that the exact join holds)", fontsize=12.5, color=_INK, labelpad=8
    )
    axes.set_ylabel("expected recall (% of the exact results)", fontsize=12.5, color=_INK)
    axes.yaxis.labelpad = 8
    axes.tick_params(colors=_INK, labelsize=11.5, length=0, pad=6)
    axes.grid(color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_LINE)


def _ask(axes: Axes, wish: Wish) -> None:
    """Point out the budget, and what the wished recall takes."""
    dotted: dict[str, Any] = {"color": _LINE, "linewidth": 1.2, "linestyle": (0, (1, 2))}
    right = axes.get_xlim()[1]
    if wish.rows <= right:
        axes.axvline(wish.rows, **dotted)
    height = 100 * wish.recall
    axes.plot([0, wish.rows_for_recall, wish.rows_for_recall], [height, height, 0], **dotted)
    for rows, words, low in (
        (wish.rows, f"budget: {wish.rows:,.0f} rows", 3),
        (wish.rows_for_recall, f"{wish.recall:.0%} takes {wish.rows_for_recall:,.0f} rows", 9),
    ):
        if rows > right:
            continue
        left_of_line = rows > 0.6 * right
        axes.annotate(
            words,
            xy=(rows, low),
            xytext=(-8 if left_of_line else 8, 0),
            textcoords="offset points",
            ha="right" if left_of_line else "left",
            va="center",
            fontsize=11.5,
            color=_QUIET,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
            zorder=5,
        )


def _dot(axes: Axes, rows: float, percent: float, colour: str) -> None:
    axes.plot(
        [rows], [percent], marker="o", markersize=7, color=colour, markeredgecolor="white", zorder=6
    )
