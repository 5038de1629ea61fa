"""A picture of lines in one or more panels, with one key for all of them beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.plot_style import BLACK, clear_axes, mark_place, titled_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from penstock.report.plot_style import Pen

__all__ = ["Line", "Panel", "save_panels_plot"]

Floats = npt.NDArray[np.float64]

# Kept free, in inches: for the title above, the axis below and at the left, the key at the right.
_TOP, _BOTTOM, _LEFT, _KEY = 1.3, 0.7, 0.95, 2.9
_INCHES_WIDE = 12.0
_INCHES_PER_ROW = 4.3
_INCHES_OF_ONE = 5.7  # a single row of panels has the whole height to itself
_BETWEEN_COLUMNS, _BETWEEN_ROWS = 0.42, 0.62
_SHADE = "#F2F2F2"


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a panel: where its points are, and how it is drawn."""

    pen: Pen
    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel.

    Attributes
    ----------
    title
        What it shows, above it; may be empty.
    lines
        The first is drawn at the bottom.
    mark
        A place on the x-axis to point out, and what to write there.
    mark_height
        How high to write it: 0 is at the bottom of the panel, 1 at its top.
    shade
        A stretch of the x-axis that is shaded, from where to where.
    y_top, y_title, y_percent
        If its row has others than the picture; the panels of a row must have the same.
    y_marks
        Marks of a y-axis in powers, from the first of them to the last; None for a plain axis.
    """

    title: str
    lines: Sequence[Line]
    mark: tuple[float, str] | None = None
    mark_height: float = 0.965
    shade: tuple[float, float] | None = None
    y_top: float | None = None
    y_title: str | None = None
    y_percent: bool | None = None
    y_marks: Sequence[float] | None = None


def save_panels_plot(
    path: Path,
    *,
    panels: Sequence[Panel],
    title: str,
    subtitle: str,
    x_title: str,
    y_title: str,
    columns: int = 3,
    x_percent: bool = False,
    y_percent: bool = True,
    y_top: float = 1.0,
    x_limits: tuple[float, float] | None = None,
) -> None:
    """Draw panels that share their axes, with one key for all of them, and save them.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    panels
        Row by row.
    title, subtitle
        What is asked, and of what.
    x_title, y_title
        Of the axes, in words.
    columns
        Panels beside each other.
    x_percent, y_percent
        Whether the axis goes from 0 to 1 and is shown as percent.
    y_top
        Where the y-axis ends if it is in percent. Otherwise the `y_top` of the panel counts, or
        its lines do.
    x_limits
        Of the x-axis; None for those of the lines.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    inner = _INCHES_OF_ONE - _TOP if rows == 1 else _INCHES_PER_ROW - _BETWEEN_ROWS
    tall = _TOP + _BOTTOM + rows * inner + (rows - 1) * _BETWEEN_ROWS
    wide = (_INCHES_WIDE - _LEFT - _KEY - (columns - 1) * _BETWEEN_COLUMNS) / columns
    figure = titled_figure(
        (_INCHES_WIDE, tall),
        title,
        subtitle,
        left=_LEFT / _INCHES_WIDE,
        heights=(1 - 0.48 / tall, 1 - 0.79 / tall),
        sizes=(18, 12),
    )
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        x = _LEFT + column * (wide + _BETWEEN_COLUMNS)
        y = _BOTTOM + (rows - 1 - row) * (inner + _BETWEEN_ROWS)
        axes = figure.add_axes(
            (x / _INCHES_WIDE, y / tall, wide / _INCHES_WIDE, inner / tall), facecolor="none"
        )
        for line in panel.lines:
            _draw(axes, line, clip=x_limits is not None)
        _mark_x_axis(axes, percent=x_percent, marks=10 // columns)
        clear_axes(axes, 11)
        if panel.shade is not None:
            axes.axvspan(*panel.shade, color=_SHADE, linewidth=0, zorder=0)
        if panel.y_marks is not None:
            axes.set_yscale("log")
            axes.set_ylim(panel.y_marks[0], panel.y_marks[-1])
            axes.set_yticks(panel.y_marks, [f"{mark:g}" for mark in panel.y_marks], minor=False)
            axes.minorticks_off()
        elif y_percent if panel.y_percent is None else panel.y_percent:
            top = y_top if panel.y_top is None else panel.y_top
            marks = np.arange(0.0, top + 1e-9, 0.1 if top < 0.8 else 0.2)
            axes.set_ylim(0, 1.02 * top)
            axes.set_yticks(marks, [f"{mark:.0%}" for mark in marks])
        else:
            axes.set_ylim(0, panel.y_top)
        if x_limits is not None:
            axes.set_xlim(*x_limits)
        axes.set_title(panel.title, loc="left", fontsize=12.5, fontweight="bold", color=BLACK)
        if column:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel(panel.y_title or y_title, fontsize=12, color=BLACK, labelpad=8)
        if number + columns >= len(panels):
            axes.set_xlabel(x_title, fontsize=12, color=BLACK, labelpad=6)
        if panel.mark is not None:
            place, words = panel.mark
            mark_place(axes, place, words, panel.mark_height, unit="axes fraction", gap=6, size=11)
    _add_key(figure, panels, tall)
    figure.savefig(path)


def _draw(axes: Axes, line: Line, *, clip: bool) -> None:
    """Draw a line; not beyond the panel if the x-axis has limits of its own."""
    there = np.isfinite(line.y)
    pen = line.pen
    axes.plot(
        line.x[there],
        line.y[there],
        label=pen.label,
        color=pen.colour,
        linestyle=pen.style,
        linewidth=pen.width,
        marker=pen.dot,
        markersize=6,
        markerfacecolor="none",
        markeredgewidth=1.4,
        clip_on=clip,
    )


def _mark_x_axis(axes: Axes, *, percent: bool, marks: int) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- slow to load

    if percent:
        places = np.linspace(0, 1, 6 if marks > 2 else 3)
        axes.set_xlim(0, 1)
        axes.set_xticks(places, [f"{place:.0%}" for place in places])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(marks, integer=True, steps=[1, 2, 5, 10]))


def _add_key(figure: Figure, panels: Sequence[Panel], tall: float) -> None:
    """Name the lines, each once, to the right of all panels."""
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(str(label), handle)
    # The line on top of the others is at the top of the key.
    order = list(dict.fromkeys(line.pen.label for panel in panels for line in panel.lines))[::-1]
    figure.legend(
        [handles[label] for label in order],
        order,
        loc="upper left",
        bbox_to_anchor=(1 - (_KEY - 0.2) / _INCHES_WIDE, 1 - (_TOP - 0.1) / tall),
        frameon=False,
        fontsize=11.5,
        labelcolor="linecolor",
        handlelength=2.4,
        labelspacing=0.9,
    )
