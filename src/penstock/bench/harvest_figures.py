"""What live harvesting showed: recall and backlog over time, as tables, targets and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.course import IN_TIME
from penstock.bench.figures import Target
from penstock.bench.harvest_load import DIMENSIONS, WINDOW
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.course import Course
    from penstock.bench.harvest_calibration import HarvestPlan, HarvestSpeed, RateSample
    from penstock.bench.harvest_load import HarvestLoad

__all__ = ["HarvestFigures"]

_HEADINGS = (
    "query",
    "recall,\n%",
    f"in time: within\n{IN_TIME} s, %",
    "seconds for a second\nof the streams",
    "micro-batch,\nmedian, s",
    "99th per-\ncentile, s",
    "backlog at\nthe end, s",
)


@dataclass(frozen=True, kw_only=True)
class HarvestFigures:
    """All figures of live harvesting.

    Attributes
    ----------
    load
        What was joined.
    speed, samples
        What the calibration found, and what it measured.
    plan
        What was chosen by it.
    courses
        By their short names: ``cpu``, ``random`` and ``exact``.
    """

    load: HarvestLoad
    speed: HarvestSpeed
    samples: tuple[RateSample, ...]
    plan: HarvestPlan
    courses: Mapping[str, Course]

    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""
        speed, plan = self.speed, self.plan
        most = speed.rate_within(plan.trigger, plan.trigger)
        need = speed.seconds(plan.rate, plan.trigger) / plan.trigger
        return (
            f"Calibration: a micro-batch of the exact join takes {speed.floor:.2f} s, "
            f"{1e6 * speed.row:.0f} µs for a row of each stream, and with so many rows a second "
            f"{1e9 * speed.pair:.0f} ns for the square of them. So within a trigger of "
            f"{plan.trigger} s it can join {most:,.0f} rows/s of each stream. Chosen: "
            f"{plan.rate:,} rows/s of each, for which it needs {need:.2f} s for every second. "
            f"Vectors have {DIMENSIONS} dimensions, windows are of {WINDOW} s."
        )

    def tables(self) -> dict[str, Table]:
        """Return the figures of all queries, and those with bounds."""
        return {
            "queries": Table(
                _HEADINGS,
                [self._cells(course) for course in self.courses.values()],
                [self.sentences()],
                names=1,
            ),
            "targets": Table(
                ["figure", "is", "wanted", ""],
                [target.cells() for target in self.targets()],
                names=1,
            ),
        }

    def _cells(self, course: Course) -> tuple[str, ...]:
        counted = self.load.warm_up, self.load.seconds
        need = course.need_between(*counted)
        return (
            course.name,
            f"{100 * course.recall_between(*counted):.1f}",
            f"{100 * course.recall_between(*counted, in_time=True):.1f}",
            "" if np.isnan(need) else f"{need:.2f}",
            f"{course.percentile(50):.2f}",
            f"{course.percentile(99):.2f}",
            f"{self._backlog(course):.1f}",
        )

    def _backlog(self, course: Course) -> float:
        return float(course.backlog(np.array([float(self.load.seconds)]))[0])

    def targets(self) -> list[Target]:
        """Return the figures with bounds."""
        cpu, random, exact = (self.courses[name] for name in ("cpu", "random", "exact"))
        counted = self.load.warm_up, self.load.seconds
        trigger = self.plan.trigger
        return [
            Target(
                "exact: backlog at the end / length of the streams",
                self._backlog(exact) / self.load.seconds,
                least=0.25,
            ),
            # A second's rows come when it is over, wait for a trigger, and are joined within two.
            Target("cpu: backlog at the end, s", self._backlog(cpu), most=1.0 + 2.0 * trigger),
            Target(
                "cpu: 99th percentile of micro-batches, s", cpu.percentile(99), most=2.0 * trigger
            ),
            Target(
                "recall in time, cpu / random-drop",
                cpu.recall_between(*counted, in_time=True)
                / max(1e-9, random.recall_between(*counted, in_time=True)),
                least=1.0,
            ),
        ]

    def as_json(self) -> dict[str, object]:
        """Return all figures as JSON types."""
        return {
            "load": asdict(self.load),
            "speed": asdict(self.speed),
            "samples": [asdict(sample) for sample in self.samples],
            "plan": asdict(self.plan),
            "queries": {name: course.as_json() for name, course in self.courses.items()},
            "targets": [
                asdict(target)
                | {"ratio": target.ratio if np.isfinite(target.ratio) else None}
                | {"reached": target.reached}
                for target in self.targets()
            ],
        }
