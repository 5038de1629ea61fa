"""The picture of a query's plans: output against the processor, and the tree of one of them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.plot_style import (
    BLACK,
    LINE_STYLES,
    QUIET,
    clear_axes,
    mark_place,
    titled_figure,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["OutputCurve", "TreeBox", "save_plan_plot"]

Floats = npt.NDArray[np.float64]

# In inches: the picture's width, the curves, a level of the tree, and what is kept free.
_WIDE, _CURVES, _LEVEL = 12.0, 3.6, 1.25
_TOP, _BETWEEN, _BOTTOM, _LEFT, _RIGHT = 1.3, 1.35, 0.35, 1.15, 3.4
_WRAP = 32


@dataclass(frozen=True, eq=False)
class OutputCurve:
    """What a plan gives with so much of a processor."""

    label: str
    processors: Floats
    output: Floats


@dataclass(frozen=True)
class TreeBox:
    """An operator in the tree, and what it takes its rows from.

    Attributes
    ----------
    words, figures
        What it does, and how much of it.
    below
        Its inputs.
    """

    words: str
    figures: str
    below: tuple[TreeBox, ...] = ()

    @property
    def depth(self) -> int:
        """Levels from here to the lowest input."""
        return 1 + max((each.depth for each in self.below), default=0)

    @property
    def width(self) -> int:
        """Inputs at the bottom."""
        return sum(each.width for each in self.below) or 1


def save_plan_plot(
    path: Path,
    *,
    curves: Sequence[OutputCurve],
    bound: float,
    tree: TreeBox,
    caption: str,
    title: str,
    subtitle: str,
) -> None:
    """Draw output against the processor for some plans, and the tree of the first below it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    curves
        The plans, the chosen one first.
    bound
        How much of a processor there is, marked on the axis.
    tree, caption
        The chosen plan, and the words above it.
    title, subtitle
        What is asked, and of what.
    """
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 -- slow to load

    tree_inches = tree.depth * _LEVEL
    tall = _TOP + _CURVES + _BETWEEN + tree_inches + _BOTTOM
    figure = titled_figure(
        (_WIDE, tall),
        title,
        subtitle,
        left=_LEFT / _WIDE,
        heights=(1 - 0.48 / tall, 1 - 0.79 / tall),
        sizes=(18, 12),
    )
    axes = figure.add_axes(
        (
            _LEFT / _WIDE,
            (_BOTTOM + tree_inches + _BETWEEN) / tall,
            (_WIDE - _LEFT - _RIGHT) / _WIDE,
            _CURVES / tall,
        )
    )
    # The chosen one is drawn last, on top of others that are the same.
    for number in reversed(range(len(curves))):
        colour, style = LINE_STYLES[number % len(LINE_STYLES)]
        curve = curves[number]
        axes.plot(
            curve.processors,
            curve.output,
            label=curve.label,
            color=colour,
            linestyle=style,
            linewidth=2.6 if number == 0 else 2.0,
        )
    clear_axes(axes, 11)
    axes.set_xlim(0, max(float(each.processors[-1]) for each in curves))
    most = max(float(each.output.max()) for each in curves)
    axes.set_ylim(0, 1.06 * most or 1.0)  # a query may have no results at all
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.set_xlabel("time of a processor that there is", fontsize=12, color=BLACK, labelpad=6)
    axes.set_ylabel("results per second", fontsize=12, color=BLACK, labelpad=8)
    if bound <= axes.get_xlim()[1]:
        mark_place(axes, bound, "allowed", 0.06, unit="axes fraction", gap=6, size=11)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        [textwrap.fill(label, 34) for label in labels[::-1]],
        loc="upper left",
        bbox_to_anchor=(1.02, 1.02),
        frameon=False,
        fontsize=11,
        labelcolor="linecolor",
        labelspacing=0.9,
    )
    below = figure.add_axes((0.02, _BOTTOM / tall, 0.96, tree_inches / tall))
    figure.text(
        _LEFT / _WIDE,
        (_BOTTOM + tree_inches + 0.22) / tall,
        caption,
        fontsize=12.5,
        fontweight="bold",
        color=BLACK,
    )
    below.set_xlim(0, tree.width)
    below.set_ylim(-tree.depth, 0)
    below.axis("off")
    _draw_tree(below, tree, 0.0, 0)
    figure.savefig(path)


def _draw_tree(axes: Axes, tree: TreeBox, left: float, level: int) -> tuple[float, float]:
    """Draw a tree whose inputs begin at the place `left`; return where its box is."""
    places = []
    at = left
    for each in tree.below:
        places.append(_draw_tree(axes, each, at, level + 1))
        at += each.width
    x = float(np.mean([place[0] for place in places])) if places else left + 0.5
    y = -level - 0.5
    for place in places:
        axes.plot([x, place[0]], [y, place[1]], color="#999999", linewidth=1.2, zorder=1)
    words = textwrap.fill(tree.words, _WRAP)
    figures = tree.figures.replace(", ", "\n")
    box = {"boxstyle": "round,pad=0.6", "facecolor": "white", "edgecolor": "#999999"}
    axes.text(
        x,
        y,
        f"{words}\n{figures}",
        ha="center",
        va="center",
        fontsize=9.5,
        color=BLACK if tree.below else QUIET,
        bbox=box,
        zorder=2,
    )
    return x, y
