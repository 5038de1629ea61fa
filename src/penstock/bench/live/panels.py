"""Panels of queries in real time: micro-batches, backlog and recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel
from penstock.report.plot_style import Pen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.live.course import Course, Timed
    from penstock.bench.live.figures import Picture

__all__ = ["course_panels"]

_MARKS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
# How often, in seconds, the backlog is drawn.
_STEP = 0.25


def course_panels(
    courses: Mapping[str, Course],
    load: Timed,
    picture: Picture,
    *,
    trigger: int,
) -> list[Panel]:
    """Return the three panels.

    Parameters
    ----------
    courses
        What each query did; the last is on top.
    load
        How long the streams are.
    picture
        Colours and styles of the lines, and where time is 0.
    trigger
        Seconds from one micro-batch to the next.
    """
    zero, shade = picture.zero, picture.shade
    pens = {
        name: Pen(
            _in_two_lines(course.name),
            picture.colours[name],
            picture.styles.get(name, "solid"),
            width=1.8,
        )
        for name, course in courses.items()
    }
    slowest = max(float(course.took.max()) for course in courses.values())
    marks = [mark for mark in _MARKS if mark < 2.5 * slowest]
    clock = np.arange(load.warm_up, load.seconds + _STEP, _STEP)

    def batches(course: Course) -> tuple[np.ndarray, np.ndarray]:
        counts = course.ended > load.warm_up
        return course.ended[counts] - zero, np.clip(course.took[counts], marks[0], marks[-1])

    return [
        Panel(
            f"How long micro-batches take, when they end (triggers of {trigger} s)",
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
                    np.arange(load.warm_up, load.seconds, dtype=np.float64) - zero + 0.5,
                    np.minimum(course.recall[load.warm_up :], 1.0),
                )
                for name, course in courses.items()
            ],
            shade=shade,
            y_title="share of the true results",
        ),
    ]


def _in_two_lines(name: str) -> str:
    r"""Break a name for the key.

    >>> _in_two_lines("Penstock, exact")
    'Penstock,\nexact'
    """
    return name.replace(", ", ",\n", 1)
