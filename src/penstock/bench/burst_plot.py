"""The picture of the burst: micro-batches, backlog and recall over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLUE, GREEN, GREY, ORANGE, VERMILION, Pen

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.bench.burst_figures import BurstFigures, Course

__all__ = ["save_burst_plot"]

_COLOURS = {"spark": GREY, "exact": ORANGE, "best": GREEN, "sampled": BLUE, "cpu": VERMILION}
_STYLES = {"spark": (0, (4, 2)), "exact": (0, (4, 2)), "best": (0, (1, 1))}
_MARKS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
# How often, in seconds, the backlog is drawn.
_STEP = 0.25


def save_burst_plot(path: Path, found: BurstFigures) -> None:
    """Draw what each query did over time, and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    found
        What was measured.
    """
    phases = found.load.phases
    # In the order of the colours: the last is on top. Time is 0 when the burst begins.
    courses = {name: found.courses[name] for name in _COLOURS if name in found.courses}
    pens = {
        name: Pen(_in_two_lines(course.name), _COLOURS[name], _STYLES.get(name, "solid"), width=1.8)
        for name, course in courses.items()
    }
    zero = phases.burst_begins
    shade = (0.0, float(phases.burst))
    slowest = max(float(course.took.max()) for course in courses.values())
    marks = [mark for mark in _MARKS if mark < 2.5 * slowest]
    clock = np.arange(phases.warm_up, phases.seconds + _STEP, _STEP)

    def batches(course: Course) -> tuple[np.ndarray, np.ndarray]:
        counts = course.ended > phases.warm_up
        return course.ended[counts] - zero, np.clip(course.took[counts], marks[0], marks[-1])

    panels = [
        Panel(
            f"How long micro-batches take, when they end (triggers of {found.plan.trigger} s)",
            [Line(pens[name], *batches(course)) for name, course in courses.items()],
            shade=shade,
            y_title="seconds",
            y_marks=marks,
        ),
        Panel(
            "Backlog: seconds of the streams that have come and are not joined",
            [
                Line(pens[name], clock - zero, course.backlog(clock))
                for name, course in courses.items()
            ],
            shade=shade,
            y_title="seconds",
            y_percent=False,
        ),
        Panel(
            "Recall of each second of the streams, of all that is out when the run ends",
            [
                Line(
                    pens[name],
                    np.arange(phases.warm_up, phases.seconds, dtype=np.float64) - zero + 0.5,
                    np.minimum(course.recall[phases.warm_up :], 1.0),
                )
                for name, course in courses.items()
            ],
            shade=shade,
            y_title="share of the true results",
        ),
    ]
    save_panels_plot(
        path,
        panels=panels,
        title=f"A burst of {found.load.factor} times the rows",
        subtitle=(
            f"{found.load.rate:,} rows/s of each of two streams, {found.load.results_per_row:.0f} "
            f"results for each; shaded: {found.load.factor * found.load.rate:,} rows/s"
        ),
        x_title="seconds since the burst began: by the clock, and below by the streams' time",
        y_title="",
        columns=1,
        x_limits=(phases.warm_up - zero, phases.seconds - zero),
    )


def _in_two_lines(name: str) -> str:
    r"""Break a name for the key.

    >>> _in_two_lines("Penstock, exact")
    'Penstock,\nexact'
    """
    return name.replace(", ", ",\n", 1)
