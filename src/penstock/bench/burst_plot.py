"""The picture of the burst: micro-batches, backlog and recall over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.bench.course_plot import course_panels
from penstock.report.panels_plot import save_panels_plot
from penstock.report.plot_style import BLUE, GREEN, GREY, ORANGE, VERMILION

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.bench.burst_figures import BurstFigures

__all__ = ["save_burst_plot"]

_COLOURS = {"spark": GREY, "exact": ORANGE, "best": GREEN, "sampled": BLUE, "cpu": VERMILION}
_STYLES = {"spark": (0, (4, 2)), "exact": (0, (4, 2)), "best": (0, (1, 1))}


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
    zero = phases.burst_begins
    panels = course_panels(
        courses,
        phases,
        _COLOURS,
        _STYLES,
        trigger=found.plan.trigger,
        zero=zero,
        shade=(0.0, float(phases.burst)),
    )
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
