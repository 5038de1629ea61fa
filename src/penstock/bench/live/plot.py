"""The picture of a live benchmark: micro-batches, backlog and recall over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.live.panels import course_panels
from penstock.report.panels_plot import save_panels_plot

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.bench.live.figures import LiveFigures

__all__ = ["save_live_plot"]


def save_live_plot(path: Path, found: LiveFigures[Any, Any]) -> None:
    """Draw what each query did over time, and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    found
        What was measured.
    """
    load, picture = found.load, found.picture()
    courses = {name: found.courses[name] for name in picture.colours if name in found.courses}
    save_panels_plot(
        path,
        panels=course_panels(courses, load, picture, trigger=found.plan.trigger),
        title=picture.title,
        subtitle=picture.subtitle,
        x_title=picture.x_title,
        y_title="",
        columns=1,
        x_limits=(load.warm_up - picture.zero, load.seconds - picture.zero),
    )
