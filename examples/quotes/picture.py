"""Work, recall and throttle over stream time, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from examples.quotes.exchange import BUDGET, BURST, FACTOR, SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from examples.quotes.courses import Course, Courses

__all__ = ["save_burst"]

# Okabe and Ito's colours, which all kinds of colour vision tell apart; styles differ too.
_BLUE, _VERMILION, _INK, _QUIET = "#0072B2", "#D55E00", "#222222", "#666666"


def save_burst(path: Path, found: Courses) -> None:
    """Draw what each join did, second by second.

    Parameters
    ----------
    path
        Where to; its suffix says the kind of picture.
    found
        What the joins did.
    """
    figure = Figure(figsize=(10.5, 8.2), dpi=110, layout="constrained")
    work, recall, throttle = figure.subplots(3, 1, sharex=True, height_ratios=[1.3, 1.3, 0.8])
    lines: list[tuple[Course, str, str]] = [
        (found.exact, _INK, "dotted"),
        (found.sample, _VERMILION, "dashed"),
        (found.limited, _BLUE, "solid"),
    ]
    for course, colour, style in lines:
        _draw(work, course.work, colour, style, course.label)
        _draw(recall, found.recall(course), colour, style, course.label)
    _draw(throttle, found.throttle, _BLUE, "solid", found.limited.label)

    assert BUDGET.cpu is not None  # noqa: S101  # see its definition
    work.axhline(float(BUDGET.cpu), color=_QUIET, linewidth=1)
    work.text(SECONDS, float(BUDGET.cpu), "allowed ", ha="right", va="bottom", color=_QUIET)
    work.set_ylabel("seconds of a core\nfor each second")
    work.set_title("Work: the exact join needs more than it may have", loc="left")
    recall.set_ylabel("share of all results")
    recall.set_title("Recall: whole outside the burst, and as much as fits in it", loc="left")
    throttle.set_ylabel("share of the\nexact join's work")
    throttle.set_title("Throttle", loc="left")
    throttle.set_xlabel("seconds of stream time")
    throttle.set_xlim(0, SECONDS)
    for axes in (recall, throttle):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_ylim(0, 1.06)
    work.set_ylim(bottom=0)
    words = f"{FACTOR} times as many rows"
    middle = (BURST.start + BURST.stop) / 2
    throttle.text(middle, 0.06, words, ha="center", va="bottom", color=_QUIET)
    for axes in (work, recall, throttle):
        axes.axvspan(BURST.start, BURST.stop, color="#F2F2F2", zorder=0)
        axes.grid(axis="y", color="#DDDDDD")
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    work.legend(frameon=False, loc="upper left")
    figure.savefig(path)


def _draw(axes: Axes, values: np.ndarray, colour: str, style: str, label: str) -> None:
    axes.stairs(
        values, np.arange(SECONDS + 1), baseline=None, color=colour, linestyle=style,
        linewidth=2.0, label=label,
    )  # fmt: skip
