"""What live harvesting showed: recall and backlog at twice the rate that exact can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.bench.figures import Target
from penstock.bench.live.course import IN_TIME
from penstock.bench.live.figures import LiveFigures, Picture
from penstock.bench.live.harvest import DIMENSIONS, Harvest
from penstock.bench.live.plan import Plan
from penstock.report.plot_style import BLUE, ORANGE, VERMILION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.bench.live.course import Course

__all__ = ["HarvestFigures"]


@dataclass(frozen=True, kw_only=True)
class HarvestFigures(LiveFigures[Harvest, Plan]):
    """All figures of live harvesting: of ``cpu``, ``random`` and ``exact``."""

    headings: ClassVar[Sequence[str]] = (
        "query",
        "recall,\n%",
        f"in time: within\n{IN_TIME} s, %",
        "seconds for a second\nof the streams",
        "micro-batch,\nmedian, s",
        "99th per-\ncentile, s",
        "backlog at\nthe end, s",
    )

    @property
    def _counted(self) -> tuple[int, int]:
        return self.load.warm_up, self.load.seconds

    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""
        load, speed, plan = self.load, self.speed, self.plan
        size = load.size_at(plan.rate, speed)
        need = speed.seconds(plan.rate * plan.trigger, size.work) / plan.trigger
        return (
            f"Calibration: a micro-batch of the exact join takes {speed.floor:.2f} s, and on all "
            f"cores together {1e6 * speed.row / 3:.0f} µs for a row and {1e9 * speed.work:.1f} ns "
            f"for a comparison. So within a trigger of {plan.trigger} s it can join "
            f"{load.rate_within(speed):,} rows/s of each stream. Chosen: {plan.rate:,} rows/s of "
            f"each, for which it needs {need:.2f} s for every second. Vectors have {DIMENSIONS} "
            f"dimensions, windows are of {load.window} s."
        )

    def cells(self, course: Course) -> tuple[str, ...]:
        """Return a query's row of the table."""
        need = course.need_between(*self._counted)
        return (
            course.name,
            f"{100 * course.recall_between(*self._counted):.1f}",
            f"{100 * course.recall_between(*self._counted, in_time=True):.1f}",
            "" if np.isnan(need) else f"{need:.2f}",
            f"{course.percentile(50):.2f}",
            f"{course.percentile(99):.2f}",
            f"{course.backlog_at_end():.1f}",
        )

    def targets(self) -> list[Target]:
        """Return the figures with bounds."""
        cpu, random, exact = (self.courses[name] for name in ("cpu", "random", "exact"))
        trigger = self.plan.trigger
        return [
            Target(
                "exact: backlog at the end / length of the streams",
                exact.backlog_at_end() / self.load.seconds,
                least=0.25,
            ),
            # A second's rows come when it is over, wait for a trigger, and are joined within two.
            Target("cpu: backlog at the end, s", cpu.backlog_at_end(), most=1.0 + 2.0 * trigger),
            Target(
                "cpu: 99th percentile of micro-batches, s", cpu.percentile(99), most=2.0 * trigger
            ),
            Target(
                "recall in time, cpu / random-drop",
                cpu.recall_between(*self._counted, in_time=True)
                / max(1e-9, random.recall_between(*self._counted, in_time=True)),
                least=1.0,
            ),
        ]

    def picture(self) -> Picture:
        """Return how they are drawn."""
        return Picture(
            title="Three streams of vectors, twice as fast as the exact join",
            subtitle=f"{self.load.rate:,} rows/s of each stream, with lags between them",
            x_title="seconds: by the clock, and below by the streams' time",
            colours={"exact": ORANGE, "random": BLUE, "cpu": VERMILION},
            styles={"exact": (0, (4, 2))},
            zero=self.load.warm_up,
        )
