"""What all pictures share: colours and pens, a heading, a light grid, and notes beside a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "DOTTED",
    "GREEN",
    "GREY",
    "LINE_STYLES",
    "ORANGE",
    "PURPLE",
    "QUIET",
    "SKY",
    "VERMILION",
    "LineStyle",
    "Pen",
    "clear_axes",
    "mark_place",
    "note",
    "titled_figure",
]

LineStyle: TypeAlias = str | tuple[int, tuple[float, ...]]
"""As Matplotlib knows it."""

# Okabe and Ito's colours, which all kinds of colour vision tell apart. Line styles differ, too, for
# print without colour and for lines that lie on each other.
VERMILION, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
ORANGE, SKY, GREY, BLACK = "#E69F00", "#56B4E9", "#777777", "#222222"
QUIET = "#666666"
"""Colour of subtitles and notes."""

LINE_STYLES: tuple[tuple[str, LineStyle], ...] = (
    (VERMILION, "solid"),
    (BLUE, "solid"),
    (GREEN, (0, (6, 2))),
    (PURPLE, (0, (6, 2))),
    (ORANGE, (0, (2, 1))),
    (SKY, (0, (2, 1))),
)
"""Colours and styles for lines that have none of their own, in the order of use."""

_FAINT = "#999999"
DOTTED: dict[str, Any] = {"color": _FAINT, "linestyle": (0, (1, 2))}
"""A thin line that marks a place."""

_DOTS_PER_INCH = 100


@dataclass(frozen=True)
class Pen:
    """How a line is drawn, and what the key calls it.

    Attributes
    ----------
    label
        Its words in the key.
    colour
        As Matplotlib knows it.
    style
        Of the line, as Matplotlib knows it; ``"none"`` for dots alone.
    dot
        The mark at each point, as Matplotlib knows it; ``""`` for none.
    width
        Of the line, in points.
    """

    label: str
    colour: str
    style: LineStyle = "solid"
    dot: str = ""
    width: float = 2.2


def titled_figure(
    inches: tuple[float, float],
    title: str,
    subtitle: str,
    *,
    left: float,
    heights: tuple[float, float],
    sizes: tuple[float, float],
) -> Figure:
    """Make a white figure with a title and a subtitle.

    Parameters
    ----------
    inches
        Its width and height.
    title, subtitle
        What is asked, and of what.
    left
        Where both begin, as a fraction of the width.
    heights, sizes
        Of the title and of the subtitle: fractions of the height, and points.
    """
    # Matplotlib takes half a second to load, so it is loaded only to draw. Without pyplot there is
    # no display to look for and no global state.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=inches, dpi=_DOTS_PER_INCH, facecolor="white")
    figure.text(left, heights[0], title, fontsize=sizes[0], fontweight="bold", color=BLACK)
    figure.text(left, heights[1], subtitle, fontsize=sizes[1], color=QUIET)
    return figure


def clear_axes(axes: Axes, label_size: float) -> None:
    """Set up axes with a light grid and without a box."""
    axes.tick_params(colors=BLACK, labelsize=label_size, length=0, pad=6)
    axes.grid(color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)


def mark_place(
    axes: Axes,
    x: float,
    words: str,
    height: float,
    *,
    unit: str = "data",
    gap: float = 8,
    size: float = 11.5,
) -> None:
    """Draw a thin vertical line at a place, and write words beside it.

    Parameters
    ----------
    axes
        On which.
    x, words
        The place, and what to write.
    height, unit
        How high to write it, in units of the ``"data"`` or as an ``"axes fraction"``.
    gap, size
        Distance from the line, and size of the words, in points.
    """
    axes.axvline(x, linewidth=1.0, **DOTTED)
    note(axes, words, (x, height), xycoords=("data", unit), xytext=(gap, 0), fontsize=size)


def note(axes: Axes, words: str, place: tuple[float, float], **options: Any) -> None:  # noqa: ANN401 -- Matplotlib's
    """Write quiet words on white beside a place."""
    axes.annotate(
        words,
        xy=place,
        textcoords="offset points",
        va="center",
        color=QUIET,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        **options,
    )
