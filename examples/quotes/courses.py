"""What joins did second by second: their results, their work, and how they compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from examples.quotes.exchange import BUDGET, BURST, SECONDS, in_seconds, join, sampled
from penstock.report.tables import Table

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    import penstock as ps

    Floats = npt.NDArray[np.float64]

__all__ = ["Course", "Courses", "courses"]

PHASES = {
    "before": slice(0, BURST.start),
    "in the burst": slice(BURST.start, BURST.stop),
    "after": slice(BURST.stop, SECONDS),
}
# Of the seconds of the burst, the first that do not count for its needs: windows are filling up.
_FILLING = 2


@dataclass(frozen=True, eq=False)
class Course:
    """What a join did in each second of stream time.

    Attributes
    ----------
    label
        What it is called in the table and in the picture.
    metrics
        What it says at the end.
    results
        That it gave in each second.
    work
        Seconds of a core that each second took, by the costs.
    """

    label: str
    metrics: ps.Metrics
    results: Floats
    work: Floats


@dataclass(frozen=True, eq=False)
class Courses:
    """The exact join, the join within the budget, and the exact join of a sample of the rows.

    Attributes
    ----------
    exact, limited, sample
        What each did.
    """

    exact: Course
    limited: Course
    sample: Course

    def recall(self, course: Course) -> Floats:
        """Return the share of the exact join's results, in each second."""
        return course.results / np.maximum(self.exact.results, 1.0)

    @property
    def throttle(self) -> Floats:
        """The share of the exact join's work that the limited one did, in each second."""
        return self.limited.work / self.exact.work

    @property
    def behind(self) -> Floats:
        """Seconds of work by which the exact join is behind, if it gets no more than the budget."""
        behind, left = np.zeros(SECONDS), 0.0
        for second, work in enumerate(self.exact.work):
            left = max(0.0, left + float(work) - _cpu())
            behind[second] = left
        return behind

    def table(self) -> Table:
        """Return the recall and the work of each before, in and after the burst."""
        rows = []
        for course in (self.exact, self.limited, self.sample):
            cells = [course.label]
            for phase in PHASES.values():
                found = course.results[phase].sum() / self.exact.results[phase].sum()
                cells += [f"{found:.1%}", f"{course.work[phase].mean():.2f}"]
            rows.append(cells)
        headings = [f"{what} {phase}" for phase in PHASES for what in ("recall", "work")]
        return Table.titled(
            "Recall, and seconds of a core for each second", ["join", *headings], rows
        )

    def sentences(self) -> str:
        """Return how far the exact join is behind, and what the metrics of the limited one are."""
        behind = float(self.behind[BURST.stop - 1])
        longer = behind / (_cpu() - float(self.exact.work[PHASES["after"]].mean()))
        recall = self.limited.metrics.recall
        assert recall is not None  # noqa: S101  # the burst has lost results
        true = self.limited.results.sum() / self.exact.results.sum()
        return (
            f"With {_cpu()} s for each second the exact join has {behind:.1f} s of work waiting at "
            f"the end of the burst,\nand needs {longer:.0f} s more to catch up. "
            f"The join within the budget finds {true:.1%} of all results.\n"
            f"It says {recall.value:.1%}, with a 95 % interval from {recall.low:.1%} to "
            f"{recall.high:.1%}."
        )


def courses(streams: dict[str, pa.Table]) -> Courses:
    """Replay the streams three times: exact, within the budget, and a sample of their rows."""
    exact = _course("exact", join(), streams)
    fraction = fitting_fraction(exact)
    return Courses(
        exact=exact,
        limited=_course(f"cpu={_cpu()}", join(BUDGET), streams),
        sample=_course(f"{fraction:.0%} of the rows", join(), sampled(streams, fraction)),
    )


def fitting_fraction(exact: Course) -> float:
    """Return the largest fraction of both streams' rows whose join fits into the budget.

    A sample has f times the rows and f ** 2 times the results. If the burst is known, this is
    the best choice. It then holds for quiet times as well.
    """
    steady = slice(BURST.start + _FILLING, BURST.stop)
    of_results = _costs().result * float(exact.results[steady].mean())
    of_rows = float(exact.work[steady].mean()) - of_results
    # of_results f^2 + of_rows f = cpu
    root = math.sqrt(of_rows**2 + 4.0 * of_results * _cpu())
    return math.floor(100 * (root - of_rows) / (2.0 * of_results)) / 100


def _course(label: str, of: ps.Join, streams: dict[str, pa.Table]) -> Course:
    after: list[ps.Metrics] = []
    replay = of.replay(in_seconds(streams), callback=after.append)
    results = [each.emitted for each in after]
    return Course(label, replay.metrics, _each(results), _each([_work(each) for each in after]))


def _work(metrics: ps.Metrics) -> float:
    arrivals = sum(each.arrived for each in metrics.streams.values())
    return _costs().of(
        arrivals=arrivals,
        inserted=metrics.inserted,
        compared=metrics.compared,
        results=metrics.emitted,
    )


def _each(totals: list[float] | list[int]) -> Floats:
    """Return what each second added."""
    return np.diff(np.array([0.0, *totals]))


def _cpu() -> float:
    assert BUDGET.cpu is not None  # noqa: S101  # see its definition
    return float(BUDGET.cpu)


def _costs() -> ps.Costs:
    assert BUDGET.costs is not None  # noqa: S101  # see its definition
    return BUDGET.costs
