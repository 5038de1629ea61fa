"""What a CPU budget costs in speed: one that is never reached, and one for half of the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import penstock as ps
from benchmarks.data import equality, keyed
from benchmarks.report import Target
from benchmarks.steps import steps_of
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    from penstock.engine.replay import Replay

_MILLION = 1e6
_STRATEGIES = ("by-partner", "probe-no-insert", "coin-flip", "insert-no-probe", "max-subset")
_EXACT, _IDLE, _HALF = "none", "ten times the work", "half of the work"
# What is allowed, as a multiple of the work of the exact join.
_BUDGETS = {_IDLE: 10.0, _HALF: 0.5}
_COSTS = ps.Costs(arrival=0.02, insert=0.08, result=0.04)


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, in its window, keys, and micro-batches."""

    rows: int
    window_rows: int
    keys: int
    batches: int
    rounds: int


FULL = Sizes(rows=500_000, window_rows=50_000, keys=20_000, batches=10, rounds=5)
QUICK = Sizes(rows=4_000, window_rows=1_000, keys=200, batches=2, rounds=1)


@dataclass(frozen=True)
class Contestant:
    """One budget and strategy.

    Attributes
    ----------
    of_exact
        Processor time for an arrival, as a multiple of the exact join's.
    loop
        Nanoseconds of the compiled loop for an arrival.
    """

    budget: str
    strategy: str
    million_per_second: Spread
    of_exact: Spread
    loop: float
    recall: float


@dataclass(frozen=True)
class Work:
    """Figures of CPU budgets; the first contestant is the exact join."""

    sizes: Sizes
    contestants: tuple[Contestant, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as a table."""
        return (
            Table.titled(
                f"Two streams of {self.sizes.rows:,} rows, windows of {self.sizes.window_rows:,}",
                (
                    "budget",
                    "strategy",
                    "million arrivals/s and core",
                    "time of exact",
                    "loop, ns per arrival",
                    "recall",
                ),
                tuple(
                    (
                        each.budget,
                        each.strategy,
                        each.million_per_second.text(),
                        each.of_exact.text(),
                        f"{each.loop:,.0f}",
                        f"{each.recall:.2f}",
                    )
                    for each in self.contestants
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare with exact: 3 % more time where nothing is shed, no slower loop where half is."""
        exact, *others = self.contestants
        idle = tuple(
            Target(
                f"{each.strategy}, {each.budget}: at most 1.03 times the time of exact",
                f"{each.of_exact.median:.3f} times",
                each.of_exact.median <= 1.03,
            )
            for each in others
            if each.budget == _IDLE
        )
        return idle + tuple(
            Target(
                f"{each.strategy}, {each.budget}: the loop as fast for an arrival as exact",
                f"{each.loop / exact.loop:.2f} times its time",
                each.loop <= exact.loop,
            )
            for each in others
            if each.budget == _HALF
        )


def run(*, quick: bool, say: Say) -> Work:
    """Measure."""
    sizes = QUICK if quick else FULL
    step = sizes.rows // sizes.batches
    batches = {
        name: [table.slice(at, step) for at in range(0, sizes.rows, step)]
        for name, table in keyed(sizes.rows, sizes.keys, seed=1).items()
    }
    join = equality(sizes.window_rows)
    exact = join.replay(batches).metrics
    work = _COSTS.of(
        arrivals=exact.arrived, inserted=exact.inserted, compared=0, results=exact.emitted
    )
    joins = {(_EXACT, "exact"): join}
    for budget, times in _BUDGETS.items():
        limits = ps.Budget(cpu=1.0, costs=_COSTS.times(sizes.rows / work / times))
        for name in _STRATEGIES:
            goal = ps.MaxSubset(strategy=name)
            joins[budget, name] = replace(join, goal=goal, budget=limits)
    runs = {key: partial(each.replay, batches) for key, each in joins.items()}
    # The first of a round gets its memory from the system, and the others find it ready.
    first = {"first of a round": next(iter(runs.values()))}
    turns = take_turns(
        first | {f"{name}, {budget}": each for (budget, name), each in runs.items()},
        _results,
        sizes.rounds,
        say,
    )
    for name in first:
        del turns[name]
    base = next(iter(turns.values()))
    say("loop")
    loops = [steps_of(each, exact.arrived)[1].nanoseconds for each in runs.values()]
    return Work(
        sizes,
        tuple(
            Contestant(
                budget,
                name,
                Spread.of([exact.arrived / _MILLION / time for time in seconds(own)]),
                ratios(seconds(own), seconds(base)),
                loop,
                own[0].kept / exact.emitted,
            )
            for (budget, name), own, loop in zip(runs, turns.values(), loops, strict=True)
        ),
    )


def _results(replay: Replay) -> int:
    return replay.metrics.emitted
