"""Output against CPU: points, rows, tables and panels of its studies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel
from penstock.studies.work_contenders import BY_VALUE, ONLINE
from penstock.studies.work_scenario import exact_times, panel_title, result_times, streams_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.studies.work_scenario import WorkScenario

__all__ = ["Means", "WorkPoint", "WorkRow", "farthest", "grid", "means", "measure", "panels"]

Floats = npt.NDArray[np.float64]
# By streams and line, and then by share of the work.
Means: TypeAlias = "dict[tuple[str, str], dict[float, WorkRow]]"


@dataclass(frozen=True)
class WorkPoint:
    """One strategy, with an amount of work, on one pair of streams.

    Attributes
    ----------
    scenario
        What is joined.
    contender
        A name of `ONLINE`.
    share
        Work that is allowed, as a share of the exact join's.
    arrival
        What each arrival costs, as a share of what an insertion costs.
    """

    scenario: WorkScenario
    contender: str
    share: float
    arrival: float = 0.0


@dataclass(frozen=True)
class WorkRow:
    """What was found at a point.

    Attributes
    ----------
    streams, contender, share, arrival
        The point, the scenario by its name.
    recall
        Results since the warm-up, as a share of the exact join's in the same time.
    formula
        The same by formula.
    work
        Work that was done, as a share of what was allowed, over the whole run.
    """

    streams: str
    contender: str
    share: float
    arrival: float
    recall: float
    formula: float
    work: float

    @property
    def line(self) -> str:
        """Its contender, and what an arrival costs if it costs something."""
        return self.contender if not self.arrival else f"{self.contender}, {self.arrival:g}"


def grid(
    scenarios: Iterable[WorkScenario],
    contenders: Iterable[str],
    shares: Iterable[float],
    arrival: float = 0.0,
) -> tuple[WorkPoint, ...]:
    """Return a point for each combination; those of a scenario are together, as they share it."""
    contenders, shares = tuple(contenders), tuple(shares)
    return tuple(
        WorkPoint(scenario, contender, share, arrival)
        for scenario in scenarios
        for share in shares
        for contender in contenders
    )


def measure(point: WorkPoint) -> WorkRow:
    """Run a join with learned statistics and given costs, and compare it with its formula."""
    scenario, contender = point.scenario, point.contender
    streams = streams_of(scenario)
    join = streams.join(contender, point.share, arrival=point.arrival, seed=scenario.seed)
    replay = join.replay(streams.tables)
    since = scenario.measured_from
    found = np.count_nonzero(result_times(replay.result) >= since)
    exact = np.count_nonzero(exact_times(scenario) >= since)
    costs, capacity = scenario.costs, point.share * streams.model.full_work
    arrived = replay.metrics.arrived
    done = costs.of(
        arrivals=arrived,
        inserted=replay.metrics.inserted,
        compared=replay.metrics.compared,
        results=replay.metrics.emitted,
    )
    done += point.arrival * costs.insert * arrived
    return WorkRow(
        scenario.name,
        contender,
        point.share,
        point.arrival,
        float(found / exact),
        by_formula(point),
        done / (capacity * scenario.duration),
    )


def by_formula(point: WorkPoint) -> float:
    """Return the share of the exact join's output, by formula.

    Of strategies by lot from as many rows as have come: chance decides a few percent of these. Of
    those by value from the true frequencies: nothing tells in advance by which values it decides.
    """
    by_value = point.contender in BY_VALUE
    model = point.scenario.model if by_value else streams_of(point.scenario).model
    left = point.share * model.full_work - point.arrival * model.insert * float(model.rates.sum())
    if left <= 0.0:
        return 0.0
    return model.output(ONLINE[point.contender].steps(model, left)) / model.full_output


def means(rows: Iterable[WorkRow]) -> Means:
    """Return the mean over the seeds, by streams and line and then by share.

    Examples
    --------
    >>> rows = [WorkRow("none", "coin-flip", 0.2, 0.0, recall, 0.5, 1.0) for recall in (0.2, 0.4)]
    >>> round(means(rows)["none", "coin-flip"][0.2].recall, 3)
    0.3
    """
    found: dict[tuple[str, str], dict[float, list[WorkRow]]] = {}
    for row in rows:
        by_share = found.setdefault((row.streams, row.line), {})
        by_share.setdefault(row.share, []).append(row)
    return {
        key: {
            share: replace(
                each[0],
                recall=float(np.mean([row.recall for row in each])),
                formula=float(np.mean([row.formula for row in each])),
                work=float(np.mean([row.work for row in each])),
            )
            for share, each in sorted(by_share.items())
        }
        for key, by_share in found.items()
    }


def farthest(rows: Iterable[WorkRow], contender: str, shares: Sequence[float]) -> float:
    """Return the greatest relative difference between a contender and its formula.

    Where the formula has no output there is nothing to compare with.
    """
    return max(
        (
            abs(row.recall / row.formula - 1)
            for (_, name), by_share in means(rows).items()
            if name == contender
            for share, row in by_share.items()
            if share in shares and row.formula > 0
        ),
        default=float("nan"),
    )


def panels(found: Means) -> list[Panel]:
    """Return a panel for each pair of streams: lines as measured, and dots by formula."""
    return [
        Panel(
            panel_title(streams),
            [
                line
                for name in ONLINE
                if (streams, name) in found
                for line in _lines(name, found[streams, name])
            ],
        )
        for streams in dict.fromkeys(streams for streams, _ in found)
    ]


def _lines(contender: str, by_share: dict[float, WorkRow]) -> tuple[Line, Line]:
    pen = ONLINE[contender].pen
    dots = replace(pen, label=f"{pen.label} by formula", style="none", dot="o")
    shares = np.array(list(by_share), np.float64)
    rows = list(by_share.values())
    return (
        Line(pen, shares, np.array([row.recall for row in rows])),
        Line(dots, shares, np.array([row.formula for row in rows])),
    )
