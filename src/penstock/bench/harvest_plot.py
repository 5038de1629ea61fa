"""The picture of live harvesting: micro-batches, backlog and recall over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.bench.course_plot import course_panels
from penstock.report.panels_plot import save_panels_plot
from penstock.report.plot_style import BLUE, ORANGE, VERMILION

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.bench.harvest_figures import HarvestFigures

__all__ = ["save_harvest_plot"]

_COLOURS = {"exact": ORANGE, "random": BLUE, "cpu": VERMILION}
_STYLES = {"exact": (0, (4, 2))}


def save_harvest_plot(path: Path, found: HarvestFigures) -> None:
    """Draw what each query did over time, and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    found
        What was measured.
    """
    load = found.load
    # In the order of the colours: the last is on top.
    courses = {name: found.courses[name] for name in _COLOURS}
    save_panels_plot(
        path,
        panels=course_panels(
            courses, load, _COLOURS, _STYLES, trigger=found.plan.trigger, zero=load.warm_up
        ),
        title="Three streams of vectors, twice as fast as the exact join",
        subtitle=f"{load.rate:,} rows/s of each stream, with lags between them",
        x_title="seconds: by the clock, and below by the streams' time",
        y_title="",
        columns=1,
        x_limits=(0, load.measured),
    )
