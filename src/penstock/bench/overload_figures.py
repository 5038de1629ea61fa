"""What the overloaded query showed: output and backlog, as tables, targets, JSON and a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.figures import Target
from penstock.bench.live.figures import Picture
from penstock.bench.live.panels import course_panels
from penstock.bench.overload_load import KEPT, WINDOW
from penstock.report.panels_plot import Line, save_panels_plot
from penstock.report.plot_style import ORANGE, VERMILION
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.bench.live.course import Course
    from penstock.bench.overload_load import OverloadLoad

__all__ = ["OverloadFigures", "save_overload_plot"]

_COLOURS = {"whole": ORANGE, "boxes": VERMILION}
_STYLES = {"whole": (0, (4, 2))}
_HEADINGS = (
    "query",
    "of the results,\n%",
    "by the\nmodel, %",
    "seconds for a second\nof the streams",
    "micro-batch,\nmedian, s",
    "99th per-\ncentile, s",
    "backlog at\nthe end, s",
)


@dataclass(frozen=True, kw_only=True)
class OverloadFigures:
    """All figures of the overloaded query.

    Attributes
    ----------
    load
        What was joined.
    floor, row
        What a micro-batch takes without drop boxes: seconds, and seconds for a row of each stream.
    trigger
        Seconds from one micro-batch to the next.
    recall
        Share of the results that is left with drop boxes, by the model.
    courses
        By their short names: ``boxes`` and ``whole``.
    """

    load: OverloadLoad
    floor: float
    row: float
    trigger: int
    recall: float
    courses: Mapping[str, Course]

    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""
        need = (self.floor + self.trigger * self.load.rate * self.row) / self.trigger
        return (
            f"Calibration: a micro-batch of the query takes {self.floor:.2f} s, and "
            f"{1e6 * self.row:.0f} µs for a row of each of the three streams. Chosen: "
            f"{self.load.rate:,} rows/s of each, for which it needs {need:.2f} s for every second, "
            f"with triggers of {self.trigger} s. Drop boxes keep {KEPT:.0%} of each stream. "
            f"Windows are of {WINDOW} s."
        )

    def tables(self) -> dict[str, Table]:
        """Return the figures of both queries, and those with bounds."""
        models = {"boxes": self.recall, "whole": 1.0}
        return {
            "queries": Table(
                _HEADINGS,
                [self._cells(course, models[name]) for name, course in self.courses.items()],
                [self.sentences()],
                names=1,
            ),
            "targets": Table(
                ["figure", "is", "wanted", ""],
                [target.cells() for target in self.targets()],
                names=1,
            ),
        }

    def _cells(self, course: Course, recall: float) -> tuple[str, ...]:
        counted = self.load.warm_up, self.load.seconds
        need = course.need_between(*counted)
        return (
            course.name,
            f"{100 * course.recall_between(*counted):.3g}",
            f"{100 * recall:.3g}",
            "" if np.isnan(need) else f"{need:.2f}",
            f"{course.percentile(50):.2f}",
            f"{course.percentile(99):.2f}",
            f"{course.backlog_at_end():.1f}",
        )

    def targets(self) -> list[Target]:
        """Return the figures with bounds."""
        boxes, whole = self.courses["boxes"], self.courses["whole"]
        # What is not joined is the backlog's; here it is the same for model and query.
        joined = int(min(self.load.seconds, boxes.joined.max(initial=0.0)))
        found = boxes.recall_between(self.load.warm_up, joined)
        return [
            Target(
                "nothing dropped: backlog at the end / length of the streams",
                whole.backlog_at_end() / self.load.seconds,
                least=0.25,
            ),
            # A second's rows come when it is over, wait for a trigger, and are joined within two.
            Target(
                "drop boxes: backlog at the end, s",
                boxes.backlog_at_end(),
                most=1.0 + 2.0 * self.trigger,
            ),
            Target(
                "drop boxes: 99th percentile of micro-batches, s",
                boxes.percentile(99),
                most=2.0 * self.trigger,
            ),
            Target(
                "drop boxes: results / by the model, of what is joined",
                found / self.recall,
                least=0.95,
                most=1.05,
            ),
        ]

    def as_json(self) -> dict[str, object]:
        """Return all figures as JSON types."""
        return {
            "load": asdict(self.load),
            "floor": self.floor,
            "row": self.row,
            "trigger": self.trigger,
            "recall": self.recall,
            "queries": {name: course.as_json() for name, course in self.courses.items()},
            "targets": [
                asdict(target)
                | {"ratio": target.ratio if np.isfinite(target.ratio) else None}
                | {"reached": target.reached}
                for target in self.targets()
            ],
        }


def save_overload_plot(path: Path, found: OverloadFigures) -> None:
    """Draw what both queries did over time, and save it.

    Parameters
    ----------
    path
        A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
    found
        What was measured.
    """
    load = found.load
    picture = Picture(
        title="A query at twice the rate that it can take, with drop boxes and without",
        subtitle=f"{load.rate:,} rows/s of each of three streams; drop boxes keep {KEPT:.0%}",
        x_title="seconds: by the clock, and below by the streams' time",
        colours=_COLOURS,
        styles=_STYLES,
        zero=load.warm_up,
    )
    courses = {name: found.courses[name] for name in _COLOURS}
    batches, backlog, recall = course_panels(courses, load, picture, trigger=found.trigger)
    models = {"boxes": found.recall, "whole": 1.0}
    second = np.arange(load.warm_up, load.seconds)
    by_model = [
        Line(line.pen, line.x, course.recall[second] / models[name])
        for line, (name, course) in zip(recall.lines, courses.items(), strict=True)
    ]
    title = "Results of each second of the streams / as many as the model says"
    save_panels_plot(
        path,
        panels=[
            batches,
            backlog,
            replace(recall, title=title, lines=by_model, y_title="share", y_top=1.2),
        ],
        title=picture.title,
        subtitle=picture.subtitle,
        x_title=picture.x_title,
        y_title="",
        columns=1,
        x_limits=(0, load.measured),
    )
