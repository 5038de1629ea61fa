"""What the burst showed: recall and backlog over time, as tables, targets and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.course import IN_TIME, Course
from penstock.bench.figures import Target
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.burst_calibration import Sample, Speed
    from penstock.bench.burst_load import Load, Phases
    from penstock.bench.burst_plan import Plan

__all__ = ["BurstCourse", "BurstFigures"]

# Recall from which on nothing is missing, but for what a row at the edge of a second makes.
_ALL = 0.99

_HEADINGS = (
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


@dataclass(frozen=True, kw_only=True, eq=False)
class BurstCourse(Course):
    """What one query did, over time, before, in and after the burst."""

    phases: Phases

    @property
    def recall_in_burst(self) -> float:
        """Recall of the seconds of the burst."""
        return self.recall_between(*self._burst)

    @property
    def back_after(self) -> float:
        """Seconds after the burst from which on nothing is missing; infinite if it never is so."""
        after = self.recall[self.phases.burst_ends :]
        missing = np.flatnonzero(after < _ALL)
        last = missing[-1] + 1 if missing.size else 0
        return float(last) if last < len(after) else np.inf

    def need_in_burst(self) -> float:
        """Return the time that micro-batches of the burst took, for each second of the streams."""
        return self.need_between(*self._burst)

    def cells(self) -> tuple[str, ...]:
        """Return its row of the table."""
        phases = self.phases
        back = self.back_after
        ends = np.array([phases.burst_ends, phases.seconds], np.float64)
        return (
            self.name,
            f"{100 * self.recall_between(phases.warm_up, phases.burst_begins):.1f}",
            f"{100 * self.recall_in_burst:.1f}",
            f"{100 * self.recall_between(*self._burst, in_time=True):.1f}",
            f"{100 * self.recall_between(phases.burst_ends, phases.seconds):.1f}",
            f"{back:.0f}" if np.isfinite(back) else "never",
            f"{self.percentile(50):.2f}",
            f"{self.percentile(99):.2f}",
            *(f"{behind:.1f}" for behind in self.backlog(ends)),
        )

    @property
    def _burst(self) -> tuple[int, int]:
        return self.phases.burst_begins, self.phases.burst_ends


@dataclass(frozen=True, kw_only=True)
class BurstFigures:
    """All figures of the burst.

    Attributes
    ----------
    load
        What was joined.
    speed, samples
        What the calibration found, and what it measured.
    plan
        What was chosen by it.
    courses
        By their short names: ``cpu``, ``sampled``, ``best``, ``exact`` and ``spark``.
    """

    load: Load
    speed: Speed
    samples: tuple[Sample, ...]
    plan: Plan
    courses: Mapping[str, BurstCourse]

    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""
        load, speed, plan = self.load, self.speed, self.plan
        burst = load.rate * load.factor

        def need(rate: int) -> float:
            return speed.seconds(rate * plan.trigger) / plan.trigger

        return (
            f"Calibration: a micro-batch of the exact join takes {speed.floor:.2f} s, and of each "
            f"core {1e6 * speed.arrival:.1f} µs for a row and {1e6 * speed.result:.2f} µs for a "
            f"result, until Spark has it. So within a trigger of {plan.trigger} s it can join "
            f"{speed.rate_within(plan.trigger):,.0f} rows of each stream. Chosen: {load.rate:,} "
            f"rows/s of each stream, for which it needs {need(load.rate):.2f} s for every second, "
            f"and in the burst {burst:,}, for which it needs {need(burst):.2f} s. "
            f"Every row has about {load.results_per_row:.0f} results. By these costs "
            f"{plan.recall:.0%} of the burst's results can be had in time, whichever they are; "
            f"{plan.fraction:.0%} of the rows have {plan.fraction**2:.0%} of them, and "
            f"{plan.best_fraction:.0%} have {plan.best_fraction**2:.0%}."
        )

    def tables(self) -> dict[str, Table]:
        """Return the figures of all queries, and those with bounds."""
        return {
            "queries": Table(
                _HEADINGS,
                [course.cells() for course in self.courses.values()],
                [self.sentences()],
                names=1,
            ),
            "targets": Table(
                ["figure", "is", "wanted", ""],
                [target.cells() for target in self.targets()],
                names=1,
            ),
        }

    def targets(self) -> list[Target]:
        """Return the figures with bounds."""
        cpu, exact, sampled = (self.courses[name] for name in ("cpu", "exact", "sampled"))
        end = np.array([float(self.load.phases.burst_ends)])
        burst, trigger = self.load.phases.burst, self.plan.trigger
        found = [
            Target("exact: seconds for a second of the burst", exact.need_in_burst(), least=2.0),
            Target(
                "exact: backlog at the end of the burst / its length",
                float(exact.backlog(end)[0] / burst),
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
                cpu.recall_in_burst / max(1e-9, sampled.recall_in_burst),
                least=3.0,
            ),
            Target(
                "cpu: seconds after the burst until recall is 1",
                cpu.back_after,
                most=3.0 * trigger,
            ),
        ]
        if "spark" in self.courses:
            behind = float(self.courses["spark"].backlog(end)[0] / burst)
            words = "Spark's own: backlog at the end of the burst / its length"
            found.insert(2, Target(words, behind, least=0.25))
        return found

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
