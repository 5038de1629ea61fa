"""What the burst showed: recall and backlog before, in and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.bench.figures import Target
from penstock.bench.live.burst import Burst
from penstock.bench.live.burst_plan import BurstPlan
from penstock.bench.live.course import IN_TIME
from penstock.bench.live.figures import LiveFigures, Picture
from penstock.report.plot_style import BLUE, GREEN, GREY, ORANGE, VERMILION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.bench.live.course import Course

__all__ = ["BurstFigures"]

# Recall from which on nothing is missing, but for what a row at the edge of a second makes.
_ALL = 0.99


@dataclass(frozen=True, kw_only=True)
class BurstFigures(LiveFigures[Burst, BurstPlan]):
    """All figures of the burst: of ``cpu``, ``sampled``, ``best``, ``exact`` and ``spark``."""

    headings: ClassVar[Sequence[str]] = (
        "query",
        "recall before\nthe burst, %",
        "recall in\nthe burst, %",
        f"in time: within\n{IN_TIME} s, %",
        "recall after\nthe burst, %",
        "back to 1\nafter, s",
        "micro-batch,\nmedian, s",
        "99th per-\ncentile, s",
        "backlog at the end\nof the burst, s",
        "backlog at the\nend of the run, s",
    )

    @property
    def _burst(self) -> tuple[int, int]:
        return self.load.phases.burst_begins, self.load.phases.burst_ends

    def recall_in_burst(self, course: Course) -> float:
        """Return the recall of the seconds of the burst."""
        return course.recall_between(*self._burst)

    def back_after(self, course: Course) -> float:
        """Return the seconds after the burst from which on nothing is missing.

        Infinite if it never is so.
        """
        after = course.recall[self.load.phases.burst_ends :]
        missing = np.flatnonzero(after < _ALL)
        last = missing[-1] + 1 if missing.size else 0
        return float(last) if last < len(after) else np.inf

    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""
        load, speed, plan = self.load, self.speed, self.plan
        burst = load.rate * load.factor

        def need(rate: int) -> float:
            return speed.seconds(rate * plan.trigger, 2 * load.results_per_row) / plan.trigger

        return (
            f"Calibration: a micro-batch of the exact join takes {speed.floor:.2f} s, and on all "
            f"cores together {1e6 * speed.row / 2:.1f} µs for a row and {1e6 * speed.work:.2f} µs "
            f"for a result, until Spark has it. So within a trigger of {plan.trigger} s it can "
            f"join {load.rate_within(speed):,} rows of each stream. Chosen: {load.rate:,} "
            f"rows/s of each stream, for which it needs {need(load.rate):.2f} s for every second, "
            f"and in the burst {burst:,}, for which it needs {need(burst):.2f} s. "
            f"Every row has about {load.results_per_row:.0f} results. By these costs "
            f"{plan.recall:.0%} of the burst's results can be had in time, whichever they are; "
            f"{plan.fraction:.0%} of the rows have {plan.fraction**2:.0%} of them, and "
            f"{plan.best_fraction:.0%} have {plan.best_fraction**2:.0%}."
        )

    def cells(self, course: Course) -> tuple[str, ...]:
        """Return a query's row of the table."""
        phases = self.load.phases
        back = self.back_after(course)
        ends = np.array([phases.burst_ends, phases.seconds], np.float64)
        return (
            course.name,
            f"{100 * course.recall_between(phases.warm_up, phases.burst_begins):.1f}",
            f"{100 * self.recall_in_burst(course):.1f}",
            f"{100 * course.recall_between(*self._burst, in_time=True):.1f}",
            f"{100 * course.recall_between(phases.burst_ends, phases.seconds):.1f}",
            f"{back:.0f}" if np.isfinite(back) else "never",
            f"{course.percentile(50):.2f}",
            f"{course.percentile(99):.2f}",
            *(f"{behind:.1f}" for behind in course.backlog(ends)),
        )

    def targets(self) -> list[Target]:
        """Return the figures with bounds."""
        cpu, exact, sampled = (self.courses[name] for name in ("cpu", "exact", "sampled"))
        end = np.array([float(self.load.phases.burst_ends)])
        length, trigger = self.load.phases.burst, self.plan.trigger
        found = [
            Target(
                "exact: seconds for a second of the burst",
                exact.need_between(*self._burst),
                least=2.0,
            ),
            Target(
                "exact: backlog at the end of the burst / its length",
                float(exact.backlog(end)[0] / length),
                least=0.25,
            ),
            # A second's rows come when it is over, wait for a trigger, and are joined within two.
            Target(
                "cpu: backlog at the end of the burst, s",
                float(cpu.backlog(end)[0]),
                most=1.0 + 2.0 * trigger,
            ),
            Target(
                "cpu: 99th percentile of micro-batches, s", cpu.percentile(99), most=2.0 * trigger
            ),
            Target(
                "recall in the burst, cpu / sampled",
                self.recall_in_burst(cpu) / max(1e-9, self.recall_in_burst(sampled)),
                least=3.0,
            ),
            Target(
                "cpu: seconds after the burst until recall is 1",
                self.back_after(cpu),
                most=3.0 * trigger,
            ),
        ]
        if "spark" in self.courses:
            behind = float(self.courses["spark"].backlog(end)[0] / length)
            words = "Spark's own: backlog at the end of the burst / its length"
            found.insert(2, Target(words, behind, least=0.25))
        return found

    def picture(self) -> Picture:
        """Return how they are drawn: time is 0 when the burst begins."""
        load = self.load
        dashed, dotted = (0, (4, 2)), (0, (1, 1))
        return Picture(
            title=f"A burst of {load.factor} times the rows",
            subtitle=(
                f"{load.rate:,} rows/s of each of two streams, {load.results_per_row:.0f} results "
                f"for each; shaded: {load.factor * load.rate:,} rows/s"
            ),
            x_title="seconds since the burst began: by the clock, and below by the streams' time",
            colours={
                "spark": GREY,
                "exact": ORANGE,
                "best": GREEN,
                "sampled": BLUE,
                "cpu": VERMILION,
            },
            styles={"spark": dashed, "exact": dashed, "best": dotted},
            zero=load.phases.burst_begins,
            shade=(0.0, float(load.phases.burst)),
        )
