"""What the burst showed: recall and backlog over time, as tables, targets and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.bench.figures import Target
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.burst_calibration import Sample, Speed
    from penstock.bench.burst_load import Load, Phases
    from penstock.bench.burst_plan import Plan
    from penstock.bench.burst_real_time import Watched
    from penstock.bench.burst_truth import TrueResults

__all__ = ["BurstFigures", "Course", "course_of"]

Floats = npt.NDArray[np.float64]

# A result is in time if it is there so many seconds after the second of its later row.
IN_TIME = 5
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
class Course:
    """What one query did, over time. Times are in seconds since the streams began.

    Attributes
    ----------
    name
        Its name in the table.
    phases
        When the burst is.
    true
        Results of each second of the streams: those whose later row is in it.
    found
        How many of them the query gave until it was stopped. Of micro-batches of several seconds
        each gets its share.
    in_time
        How many of them it gave in time.
    ended, took
        When each micro-batch was over, by the clock, and the seconds that it took. The last one
        may be one that was stopped.
    joined
        Up to which second the streams were joined then.
    stopped
        When the query was stopped.
    """

    name: str
    phases: Phases
    true: Floats
    found: Floats
    in_time: Floats
    ended: Floats
    took: Floats
    joined: Floats
    stopped: float

    @property
    def recall(self) -> Floats:
        """Recall of each second of the streams."""
        share = np.full(len(self.true), np.nan)
        np.divide(self.found, self.true, out=share, where=self.true > 0)
        return share

    def recall_between(self, first: int, end: int, *, in_time: bool = False) -> float:
        """Return the recall of some seconds of the streams, of all that is out or is in time."""
        found = self.in_time if in_time else self.found
        return float(found[first:end].sum() / max(1.0, self.true[first:end].sum()))

    @property
    def recall_in_burst(self) -> float:
        """Recall of the seconds of the burst."""
        return self.recall_between(self.phases.burst_begins, self.phases.burst_ends)

    @property
    def back_after(self) -> float:
        """Seconds after the burst from which on nothing is missing; infinite if it never is so."""
        after = self.recall[self.phases.burst_ends :]
        missing = np.flatnonzero(after < _ALL)
        last = missing[-1] + 1 if missing.size else 0
        return float(last) if last < len(after) else np.inf

    def percentile(self, percent: float) -> float:
        """Return a percentile of the times of micro-batches, of those that count."""
        counts = self.ended > self.phases.warm_up
        return float(np.percentile(self.took[counts], percent)) if counts.any() else np.inf

    def backlog(self, at: Floats) -> Floats:
        """Return how many seconds of the streams have come and are not joined, by the clock.

        A query without delay has 1 to 2: a second's rows come when it is over.
        """
        so_far = np.concatenate([[0.0], self.joined])
        joined = so_far[np.searchsorted(self.ended, at, side="right")]
        behind: Floats = np.minimum(at, self.phases.seconds) - joined
        return behind

    def need_in_burst(self) -> float:
        """Return the time that micro-batches of the burst took, for each second of the streams."""
        before = np.concatenate([[0.0], self.joined[:-1]])
        inside = (before >= self.phases.burst_begins) & (self.joined <= self.phases.burst_ends)
        inside &= self.joined > before
        if not inside.any():
            return np.nan
        return float(self.took[inside].sum() / (self.joined - before)[inside].sum())

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

    def as_json(self) -> dict[str, object]:
        """Return its figures as JSON types."""
        lists = ("true", "found", "in_time", "ended", "took", "joined")
        return {
            "name": self.name,
            "stopped": self.stopped,
            **{name: [round(float(each), 3) for each in getattr(self, name)] for name in lists},
        }


def course_of(
    name: str, watched: Watched, truth: TrueResults, phases: Phases, *, waits: bool
) -> Course:
    """Compare what a query gave with what there is.

    Parameters
    ----------
    name
        Of the query.
    watched
        Its micro-batches.
    truth
        The results that there are.
    phases
        When the burst is.
    waits
        Whether rows wait until the other stream has got to their time, as they do with a budget.
        Exact joins do not wait: they are ahead if one of the streams is.
    """
    true = truth.in_each_second().astype(np.float64)
    found, in_time = np.zeros_like(true), np.zeros_like(true)
    joined_before, true_before = 0, 0
    joined: list[float] = []
    for batch in watched.batches:
        until = min(batch.left, batch.right)
        true_now = truth.until(until, until) if waits else truth.until(batch.left, batch.right)
        seconds = np.arange(joined_before, until)
        share = batch.results / max(1, true_now - true_before)
        found[seconds] += share * true[seconds]
        early = seconds[batch.ended <= seconds + 1 + IN_TIME]
        in_time[early] += share * true[early]
        joined.append(float(until))
        joined_before, true_before = until, true_now
    ended = [batch.ended for batch in watched.batches]
    took = [batch.seconds for batch in watched.batches]
    if joined_before < phases.seconds:  # the last one was stopped
        began = ended[-1] if ended else 0.0
        ended.append(watched.stopped)
        took.append(watched.stopped - began)
        joined.append(float(joined_before))
    return Course(
        name=name,
        phases=phases,
        true=true,
        found=found,
        in_time=in_time,
        ended=np.array(ended),
        took=np.array(took),
        joined=np.array(joined),
        stopped=watched.stopped,
    )


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
    courses: Mapping[str, Course]

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
