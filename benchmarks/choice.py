"""Which strategy finds most within a share of the processor, and what `strategy=None` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps
from benchmarks.report import Target
from examples.flights.data import departures
from penstock.report.tables import Table
from penstock.strategies import strategies_of
from penstock.testing import lagged_streams, zipf_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.timing import Say
    from penstock.predicates import Predicate

Floats = npt.NDArray[np.float64]

# By Theorems 2 and 3 of `ayad05` no other way to shed by lot is above `probe-no-insert`, unless
# comparisons that find nothing cost.
_OF_TWO = ("probe-no-insert", "max-subset", "by-partner")
_OF_MORE = ("coin-flip", "probe-no-insert")
_OF_COMPARISONS = ("coin-flip", "grub", "random-drop", "by-cost")
_NAMES = ("a", "b", "c")
_WANTED = 0.97
# Results count after so many of the longest windows: before, windows fill and strategies learn.
_WARM_UP = 2.0


@dataclass(frozen=True)
class Case:
    """Streams, how they are joined, and what costs.

    Attributes
    ----------
    name
        In the table.
    weights
        For each stream the shares of its keys: 0, 1, 2, ...
    rates
        Rows of each stream per second.
    windows
        Of each stream, in seconds.
    on
        The predicate.
    costs
        What arrivals, insertions, comparisons and results cost of the exact join's work.
    shares
        Of the work that can be shed: arrivals cannot.
    duration
        In seconds.
    lags
        If given, keys are values that rise with time, and rows of streams that match are so far
        apart, in seconds (`penstock.testing.lagged_streams`); weights are not used.
    deviations
        With lags: the noise of the values.
    burst
        In the middle third so many times as many rows come.
    days
        If given, streams are the departures from New York in so many days of 2013: a plane that has
        left is seen again. Keys are planes; weights and rates are not used. Times are in hours.
    """

    name: str
    weights: tuple[Floats, ...]
    rates: tuple[float, ...]
    windows: tuple[float, ...] = (3.0, 5.0)
    on: Predicate = ps.Equal("key")  # noqa: RUF009  # frozen
    costs: tuple[float, float, float, float] = (0.0, 0.9, 0.0, 0.1)
    shares: tuple[float, ...] = (0.2, 0.5)
    duration: float = 80.0
    lags: tuple[float, ...] = ()
    deviations: tuple[float, ...] = (2.0, 2.0, 50.0)
    burst: float = 1.0
    days: int = 0


@dataclass(frozen=True)
class Point:
    """What was found in one case with one share.

    Attributes
    ----------
    found
        By strategy: results after the warm-up, as a share of the exact join's.
    default
        The strategy that `strategy=None` is.
    """

    case: str
    share: float
    found: dict[str, float]
    default: str

    @property
    def best(self) -> str:
        """The strategy that found most."""
        return max(self.found, key=lambda name: self.found[name])

    @property
    def of_best(self) -> float:
        """What `strategy=None` found, as a share of the best."""
        return self.found[self.default] / self.found[self.best]


@dataclass(frozen=True)
class Choice:
    """Figures of all cases."""

    points: tuple[Point, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as a table."""
        names = list(dict.fromkeys(name for point in self.points for name in point.found))
        rows = [
            (
                point.case,
                f"{point.share:.0%}",
                *(f"{point.found[name]:.3f}" if name in point.found else "" for name in names),
                point.default,
                f"{point.of_best:.3f}",
            )
            for point in self.points
        ]
        return (
            Table.titled(
                "Share of the exact join's results within a share of its work",
                ("streams", "work", *names, "None", "of the best"),
                tuple(rows),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare what `strategy=None` finds with the best."""
        least = min(self.points, key=lambda point: point.of_best)
        return (
            Target(
                "strategy=None, at least 0.97 of the best strategy",
                f"{least.of_best:.3f} ({least.case}, {least.share:.0%})",
                least.of_best >= _WANTED,
            ),
        )


def cases(*, quick: bool) -> tuple[Case, ...]:
    """Return the cases: the grid of `ayad05`, and others."""
    zipf = zipf_weights(100, 1.0)
    slow_fast = (40.0, 60.0)
    if quick:
        return (
            Case("direct", (zipf, zipf), slow_fast, shares=(0.4,), duration=20.0),
            Case("three streams", (np.full(20, 0.05),) * 3, (10.0,) * 3, (3.0,) * 3, duration=15.0),
        )
    orders = {
        "direct": np.arange(100),
        "no correlation": np.random.default_rng(1).permutation(100),
        "inverse": np.arange(100)[::-1],
    }
    grid = tuple(
        Case(
            name,
            (zipf, zipf[order]),
            slow_fast,
            shares=(0.2, 0.4, 0.6, 0.8),
            duration=100.0,
            costs=_costs_of_the_paper(zipf, zipf[order]),
        )
        for name, order in orders.items()
    )
    return (*grid, *_others(zipf), *_skews_and_windows(), *_rising(), *_compared(), *_flights())


def _costs_of_the_paper(left: Floats, right: Floats) -> tuple[float, float, float, float]:
    """Return what insertions of 1 ms and results of 0.2 ms cost at 40 and 60 rows/s."""
    inserted = 100.0 * 0.001
    results = 40.0 * 60.0 * float(left @ right) * (3.0 + 5.0) * 0.0002
    return 0.0, inserted / (inserted + results), 0.0, results / (inserted + results)


def _others(zipf: Floats) -> tuple[Case, ...]:
    """Return streams that no strategy was made for."""
    few = np.full(30, 0.75 / 29)
    few[0] = 0.25
    other_few = few[np.random.default_rng(2).permutation(30)]
    mixed = zipf[np.random.default_rng(3).permutation(100)]
    pair, fast = (40.0, 60.0), (200.0, 300.0)
    numbers = np.full(1000, 0.001)
    peaked = np.exp(-0.5 * ((np.arange(1000) - 500.0) / 100.0) ** 2)
    peaked /= peaked.sum()
    uniform = {keys: np.full(keys, 1.0 / keys) for keys in (500, 20_000)}
    steep = zipf_weights(60, 1.3)
    return (
        Case("uniform, 500 keys", (uniform[500],) * 2, fast, duration=30.0),
        Case("uniform, 20,000 keys", (uniform[20_000],) * 2, fast, duration=30.0),
        Case("30 keys, the same one a quarter", (few, few), pair),
        Case("30 keys, another one a quarter", (few, other_few), pair),
        Case("windows of 0.5 s and 20 s", (zipf, mixed), pair, (0.5, 20.0)),
        Case("10 and 100 rows/s", (zipf, mixed), (10.0, 100.0)),
        Case("insertions cost", (zipf, mixed), pair, costs=(0.0, 1.0, 0.0, 0.0)),
        Case("results cost", (zipf, mixed), pair, costs=(0.0, 0.02, 0.0, 0.98)),
        Case("comparisons cost", (zipf, mixed), pair, costs=(0.0, 0.1, 0.8, 0.1)),
        Case("arrivals cost", (zipf, mixed), pair, costs=(0.6, 0.3, 0.0, 0.1)),
        Case("Within", (numbers, peaked), fast, on=ps.Within(2, a="key", b="key"), duration=30.0),
        Case(
            "Within, comparisons cost",
            (numbers, peaked),
            fast,
            on=ps.Within(2, a="key", b="key"),
            costs=(0.0, 0.1, 0.8, 0.1),
            duration=30.0,
        ),
        Case(
            "Band",
            (peaked, numbers),
            fast,
            on=ps.Band(low=0, high=5, a="key", b="key"),
            duration=60.0,
        ),
        Case(
            "three streams",
            (steep, steep, steep),
            (20.0, 30.0, 40.0),
            (2.0, 3.0, 4.0),
            duration=40.0,
        ),
        Case(
            "three streams, results cost",
            (steep, steep, steep),
            (20.0, 30.0, 40.0),
            (2.0, 3.0, 4.0),
            costs=(0.0, 0.1, 0.1, 0.8),
            duration=40.0,
        ),
        Case(
            "three streams, Within",
            (peaked, numbers, peaked),
            (40.0, 40.0, 40.0),
            (4.0, 4.0, 4.0),
            on=ps.Within(10, a="key", b="key", c="key"),
            duration=40.0,
        ),
        Case(
            "three streams, Within, comparisons cost",
            (peaked, numbers, peaked),
            (40.0, 40.0, 40.0),
            (4.0, 4.0, 4.0),
            on=ps.Within(10, a="key", b="key", c="key"),
            costs=(0.0, 0.1, 0.8, 0.1),
            duration=40.0,
        ),
        *(
            Case(
                f"three streams, Within, lags{', comparisons cost' if compare == 0.8 else ''}",
                (),
                (60.0, 60.0, 60.0),
                (20.0, 20.0, 20.0),
                on=ps.Within(1, a="key", b="key", c="key"),
                costs=(0.0, insert, compare, 1.0 - insert - compare),
                duration=70.0,
                lags=(0.0, 5.0, 15.0),
            )
            for insert, compare in ((0.3, 0.3), (0.1, 0.8))
        ),
        Case(
            "three streams, one 10 times as fast",
            (uniform[500][:100] * 5.0,) * 3,
            (10.0, 10.0, 100.0),
            (4.0, 4.0, 4.0),
        ),
    )


def _skews_and_windows() -> tuple[Case, ...]:
    """Return other skews, few keys, bursts, and windows on one stream alone."""
    pair = (40.0, 60.0)
    five = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    cases = []
    for skew in (0.5, 1.5, 2.0):
        weights = zipf_weights(100, skew)
        mixed = weights[np.random.default_rng(1).permutation(100)]
        for name, other in (("direct", weights), ("none", mixed), ("inverse", weights[::-1])):
            cases.append(Case(f"Zipf {skew:g}, {name}", (weights, other), pair, duration=50.0))
    zipf = zipf_weights(100, 1.0)
    mixed = zipf[np.random.default_rng(3).permutation(100)]
    return (
        *cases,
        Case("5 keys", (five, five), pair),
        Case("5 keys, inverse", (five, five[::-1]), pair),
        Case("a window on the first stream alone", (zipf, mixed), pair, (5.0, 0.0)),
        Case("a window on the second stream alone", (zipf, mixed), pair, (0.0, 5.0)),
        Case("five times as many for a while", (zipf, mixed), pair, burst=5.0, duration=60.0),
    )


def _rising() -> tuple[Case, ...]:
    """Return streams of values that rise: what came before says nothing, or the contrary."""
    return tuple(
        Case(
            f"Within, rising values, lags {lags[0]:g} and {lags[1]:g}, noise {noise:g}",
            (),
            (60.0, 60.0),
            (20.0, 20.0),
            on=ps.Within(2, a="key", b="key"),
            costs=costs,
            shares=(0.3,),
            duration=100.0,
            lags=lags,
            deviations=(noise, noise),
        )
        for noise in (2.0, 50.0)
        for lags in ((0.0, 5.0), (5.0, 0.0), (0.0, 0.0))
        for costs in ((0.0, 0.9, 0.0, 0.1), (0.0, 0.3, 0.3, 0.4))
    )


def _compared() -> tuple[Case, ...]:
    """Return streams joined by `Compare`, or by `Band` with lags, where comparisons cost."""
    numbers = np.full(1000, 0.001)
    pair, columns = (20.0, 20.0), {"a": "key", "b": "key"}
    most, alone = (0.0, 0.1, 0.8, 0.1), (0.0, 0.02, 0.96, 0.02)
    names = {most: "comparisons cost", alone: "comparisons alone"}
    cases: list[Case] = []
    for costs, name in names.items():
        cases += (
            Case(
                f"Compare {operator}, {name}",
                (numbers, numbers),
                pair,
                on=ps.Compare(operator, **columns),
                costs=costs,
                duration=40.0,
            )
            for operator in ("<", "!=")
        )
        lagged = {"costs": costs, "lags": (0.0, 5.0), "deviations": (2.0, 2.0), "duration": 100.0}
        on: dict[str, Predicate] = {
            "Compare <": ps.Compare("<", **columns),
            "Within": ps.Within(2, **columns),
            "Band": ps.Band(low=-1, high=3, **columns),
        }
        cases += (
            Case(
                f"{predicate}, a lag of 5 of 20 s, {name}",
                (),
                pair if predicate == "Compare <" else (60.0, 60.0),
                (20.0, 20.0),
                on=each,
                **lagged,  # type: ignore[arg-type]
            )
            for predicate, each in on.items()
        )
        cases.append(
            Case(
                f"three streams, Band, lags, {name}",
                (),
                (60.0,) * 3,
                (20.0,) * 3,
                on=ps.Band(low=-1, high=1, a="key", b="key", c="key"),
                costs=costs,
                duration=100.0,
                lags=(0.0, 5.0, 15.0),
                deviations=(2.0, 2.0, 20.0),
            )
        )
        cases.append(
            Case(
                f"three streams, Compare <, lags, {name}",
                (),
                (4.0,) * 3,
                (10.0,) * 3,
                on=ps.Compare("<", a="key", b="key", c="key"),
                costs=costs,
                duration=60.0,
                lags=(0.0, 5.0, 8.0),
                deviations=(2.0, 2.0, 20.0),
            )
        )
    return tuple(cases)


def _flights() -> tuple[Case, ...]:
    """Return real streams: planes that leave New York, and leave it again within two days."""
    return tuple(
        Case(f"planes, {name}", (), (1.0, 1.0), windows, duration=30 * 24.0, days=30)
        for name, windows in (("two days", (48.0, 0.0)), ("two days, both ways", (48.0, 48.0)))
    )


def run(*, quick: bool, say: Say) -> Choice:
    """Measure."""
    points: list[Point] = []
    for case in cases(quick=quick):
        points += _points(case)
        say(f"{case.name}: {points[-1].of_best:.3f} of the best")
    return Choice(tuple(points))


def _points(case: Case) -> list[Point]:
    tables = _tables(case)
    exact = _join(case).replay(tables)
    metrics = exact.metrics
    counts = np.array([metrics.arrived, metrics.arrived, metrics.compared, metrics.emitted])
    # One unit of work in each second is the exact join's.
    each = np.array(case.costs) * case.duration / np.maximum(counts, 1)
    arrival, insert, compare, result = each.tolist()
    costs = ps.Costs(arrival=arrival, insert=insert, compare=compare, result=result)
    all_found = _found(case, exact.result)
    points = []
    contenders = dict.fromkeys(_OF_TWO if len(case.rates) == 2 else _OF_MORE)
    if case.costs[2] > 0:
        contenders |= dict.fromkeys(_OF_COMPARISONS)
    for share in case.shares:
        budget = ps.Budget(cpu=case.costs[0] + share * (1.0 - case.costs[0]), costs=costs)
        found = {
            name: _found(case, _join(case, name, budget).replay(tables).result) / all_found
            for name in contenders
        }
        default = strategies_of(_join(case, None, budget))[-1].name
        if default not in found:
            own = _join(case, None, budget).replay(tables).result
            found[default] = _found(case, own) / all_found
        points.append(Point(case.name, share, found, default))
    return points


def _found(case: Case, result: pa.Table) -> int:
    return int(np.count_nonzero(result["time"].to_numpy() >= _WARM_UP * max(case.windows)))


def _tables(case: Case) -> Mapping[str, pa.Table]:
    """Make streams with Poisson arrivals; keys are drawn one by one."""
    if case.lags:
        made = lagged_streams(
            rate=case.rates,
            duration=case.duration,
            lags=case.lags,
            deviations=case.deviations[: len(case.lags)],
            seed=1,
        )
        return {
            name: table.rename_columns({"value": "key"})
            for name, table in zip(_NAMES, made.tables.values(), strict=False)
        }
    if case.days:
        return _planes(case.days)
    tables = {}
    for number, (weights, rate) in enumerate(zip(case.weights, case.rates, strict=True)):
        draw = np.random.default_rng([number, 5])
        rows = draw.poisson(rate * case.duration * (2.0 + case.burst) / 3.0)
        times = _in_bursts(np.sort(draw.random(rows)), case.burst) * case.duration
        tables[_NAMES[number]] = pa.table(
            {"time": times, "key": draw.choice(weights.size, rows, p=weights)}
        )
    return tables


def _in_bursts(drawn: Floats, burst: float) -> Floats:
    """Return times of [0, 1), of which so many times as many are in the middle third."""
    edges = np.cumsum([0.0, 1.0, burst, 1.0]) / (2.0 + burst)
    times: Floats = np.interp(drawn, edges, np.arange(4) / 3.0)
    return times


def _planes(days: int) -> dict[str, pa.Table]:
    """Return planes by when they have left, in hours, and by when they leave."""
    flights = departures(days)
    tables = {}
    for name, column in (("a", "gone_at"), ("b", "departed_at")):
        seconds = flights[column].cast(pa.timestamp("s", tz="UTC")).cast(pa.int64()).to_numpy()
        hours = (seconds - seconds.min()) / 3600.0
        table = pa.table({"time": hours, "key": flights["tailnum"]})
        tables[name] = table.filter(pc.field("key").is_valid()).sort_by("time")
    return tables


def _join(case: Case, strategy: str | None = None, budget: ps.Budget | None = None) -> ps.Join:
    return ps.Join(
        streams={
            name: ps.Stream(time="time", window=window)
            for name, window in zip(_NAMES, case.windows, strict=False)
        },
        on=case.on,
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
    )
